"""kernels with `backend: numba`: a method each, and the compiled loop that it runs."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="kernels_numba",
    applies=lambda c: bool(c.kernels) and c.backend == "numba",
    order=80,
    template=True,
)
