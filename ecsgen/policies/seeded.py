"""kernels that draw random numbers: a seed, and how often each was called."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="seeded",
    applies=lambda c: any(kernel.program.who for kernel in c.kernels),
    order=81,
    base="Seeded",
    state=("_chance",),
    template=True,
)
