"""growth: {reserve: N}: address space for N rows is taken once; the system commits it page by page.

Growing never moves a row, so views stay good; more than N rows are a CapacityError.
"""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="reserved",
    applies=lambda c: bool(c.reserve),
    roles=("growth",),
)
