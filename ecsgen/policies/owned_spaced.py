"""space of rows with owners: the dead are found by nobody."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="owned_spaced",
    applies=lambda c: c.space is not None and c.owner == "entity",
    order=82,
    base="OwnedSpaced",
    sharded_base="ShardedSpaced",
)
