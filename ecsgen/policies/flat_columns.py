"""Kernels and reductions with `backend: numba`: columns of shapes, seen element after element."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="flat_columns",
    applies=lambda c: bool(c.kernels or c.reductions or c.joined) and c.backend == "numba",
    order=79,
    template=True,
)
