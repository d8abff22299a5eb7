"""The shard of ids that are rows and their generations."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="visiting_direct_ids",
    applies=lambda c: c.ids and c.sharded and c.lookup == "direct",
    order=31,
    row_state=("_shard",),
)
