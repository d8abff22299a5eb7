"""Ids of rows that came from other shards."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="visiting_ids",
    applies=lambda c: c.ids and c.sharded,
    order=31,
    row_state=("_aliases",),
)
