"""owner: none: a packed array on its own; its rows are reached by id (Molecule's packed array)."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="unowned",
    applies=lambda c: c.owner == "none",
    order=5,
    roles=("owner",),
)
