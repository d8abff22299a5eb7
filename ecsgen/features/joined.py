"""Kernels of the world with `backend: numpy`: their blocks go when the buffer moves."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="joined",
    applies=lambda c: bool(c.joined) and c.backend == "numpy",
    order=79,
)
