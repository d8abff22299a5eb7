"""kernels and reductions with `backend: numpy`: views in blocks that stay in the cache."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="kernel_blocks",
    applies=lambda c: bool(c.kernels or c.reductions) and c.backend == "numpy",
    order=79,
    rows="KernelRows",
    row_state=("_kernels",),
)
