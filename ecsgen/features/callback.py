"""destroy: callback: the entity manager says at once which entities died."""

from ecsgen.features._base import Feature

FEATURE = Feature(
    name="callback",
    applies=lambda c: c.owner == "entity" and c.destroy == "callback",
)
