"""A world that knows the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..field_types import IntField
from .base import WorldBase


class TickingWorld(WorldBase):
    """A world whose kernels or schedules ask for the time."""

    __slots__ = ()

    @property
    def tick(self) -> int:
        """The time: 0 at first. Assigning what is no i64 is a TypeError or OverflowError. Saved
        and copied with the rest."""
        return vars(self).get("_tick", 0)  # type: ignore[no-any-return]  # `vars` knows no types

    @tick.setter
    def tick(self, tick: int) -> None:
        if type(tick) is not int or not -(2**63) <= tick < 2**63:
            tick = IntField(f"{type(self).__name__}.tick", "i64").one(tick)
        vars(self)["_tick"] = tick

    def _is_due(self, every: int, start: int) -> bool:
        """Return whether what happens at every so many ticks happens now."""
        return self.tick >= start and (self.tick - start) % every == 0

    def _notes(self) -> dict[str, Any]:
        noted = {"tick": self.tick} if self.tick else {}
        return {**super()._notes(), **noted}  # type: ignore[misc]  # of saved worlds

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        super()._take_notes(notes)  # type: ignore[misc]  # of saved worlds
        vars(self)["_tick"] = notes.get("tick", 0)
