"""kernels and reductions: the views that they work on, in blocks that stay in the cache."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="kernel_blocks",
    applies=lambda c: bool(c.kernels or c.reductions) and c.backend == "numpy",
    order=79,
)
