"""Components without fields: tags, which only say which entities have them."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="tag",
    applies=lambda c: c.owner == "entity" and not c.fields,
    order=6,
    base="Tag",
)
