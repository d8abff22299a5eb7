"""hierarchy: {orphans: die}: the descendants of rows that go, go with them, and their entities die.

Callbacks may run, but only when a change is done: those of the entities that die.
"""

from ecsgen.policies.orphans_destroy import WITH_ITS_DESCENDANTS
from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="orphans_die",
    applies=lambda c: c.hierarchy == "die",
    order=26,
    base="OrphansDie",
    calls={"expand_one": WITH_ITS_DESCENDANTS},
)
