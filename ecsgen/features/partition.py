"""partition: active rows in front, kept there by swaps; never a flag to test (data locality).

A placement of its own: the packed one with a bound. Everything else is packed's.
"""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="partition",
    applies=lambda c: bool(c.partition) and c.lookup != "direct",
    order=0,
    roles=("placement",),
    base="packed",
)
