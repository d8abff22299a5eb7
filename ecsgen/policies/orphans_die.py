"""hierarchy: {orphans: die}: the descendants of rows that go, go with them, and their entities die.

Callbacks may run, but only when a change is done: those of the entities that die.
"""

from ecsgen.policies.orphans_destroy import WITH_ITS_DESCENDANTS
from ecsgen.policies.policy import Policy
from ecsgen.policies.release import GATHERED

POLICY = Policy(
    name="orphans_die",
    applies=lambda c: c.hierarchy == "die",
    order=26,
    base="OrphansDie",
    calls={
        "expand_one": WITH_ITS_DESCENDANTS,
        "expand_many": """
            gone = self._with_descendants(gone)
            orphans = self._orphaned(gone)
        """,
        "gathered": lambda c: "" if c.release else GATHERED,
        "vacated_many": "self._let_die(orphans)",
    },
)
