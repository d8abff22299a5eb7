"""reductions with `backend: numpy`: a method each, sums in f64 or 64-bit integers."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="reductions_numpy",
    applies=lambda c: bool(c.reductions) and c.backend == "numpy",
    order=81,
    template=True,
)
