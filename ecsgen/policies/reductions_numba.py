"""reductions with `backend: numba`: a method each, and the compiled function that it calls."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="reductions_numba",
    applies=lambda c: bool(c.reductions) and c.backend == "numba",
    order=81,
    template=True,
)
