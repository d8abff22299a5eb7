"""A member of a world's group: its rows of the entities that have all members come first.

A placement of its own: the packed one with a bound, as `partition`. Rows cross it when their entity
gets or loses one of the components, in all members alike.
"""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="grouped",
    applies=lambda c: bool(c.group),
    order=0,
    roles=("placement",),
    base="packed",
)
