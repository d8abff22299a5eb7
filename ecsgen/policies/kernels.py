"""kernels and reductions: a method each, with the loop or the blocks that it runs over."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="kernels",
    applies=lambda c: bool(c.kernels or c.reductions),
    order=80,
    template=True,
)
