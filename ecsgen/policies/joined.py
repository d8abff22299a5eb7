"""Kernels of the world with `backend: numpy`: their blocks go when the buffer moves."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="joined",
    applies=lambda c: bool(c.joined) and c.backend == "numpy",
    order=79,
    rows="JoinedRows",
    row_state=("_joined",),
)
