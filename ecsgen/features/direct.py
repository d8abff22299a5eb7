"""lookup: direct: the entity's index is the row. Nothing ever moves; the buffer may have holes."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="direct",
    applies=lambda c: c.lookup == "direct",
    order=0,
    roles=("placement", "instances"),
)
