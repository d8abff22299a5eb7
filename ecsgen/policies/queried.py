"""A query of the world tells where instances are: a class of their columns there."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="queried",
    applies=lambda c: c.queried,
    order=90,
    template=True,
)
