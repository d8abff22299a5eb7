"""growth: double: a full buffer is replaced by one of at least twice the size."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="doubling",
    applies=lambda c: not c.reserve,
    roles=("growth",),
)
