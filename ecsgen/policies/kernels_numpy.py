"""kernels with `backend: numpy`: a method each, ufuncs over blocks of rows."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="kernels_numpy",
    applies=lambda c: bool(c.kernels) and c.backend == "numpy",
    order=80,
    template=True,
)
