"""A world that knows the time, and what its schedules are given and say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast
from warnings import warn

from ..package import outside_level
from ..values.field_types import IntField
from .world_base import WorldBase

MethodT = TypeVar("MethodT", bound=Callable[..., None])


def keyword_only(method: MethodT) -> MethodT:
    """Wrap a schedule with keyword-only parameters to take positional ones with a warning: their
    order depends on the order of the kernels."""
    names = [name for name in method.__annotations__ if name != "return"]

    @wraps(method)
    def called(self: Any, *positional: Any, **named: Any) -> None:
        if positional:
            label = f"{type(self).__name__}.{method.__name__}"
            if len(positional) > len(names):
                most = len(names)
                raise TypeError(f"{label}() takes {most} arguments, not {len(positional)}")
            instead = f"give arguments by name, as in {names[0]}=…"
            message = f"{label}: {instead}: their order may change"
            warn(message, DeprecationWarning, stacklevel=2)
        method(self, **dict(zip(names, positional, strict=False)), **named)

    return cast("MethodT", called)


def warn_still_true(schedule: str, reduction: str, passes: int) -> None:
    """Warn that an entry of a schedule has ended though the reduction it goes by is still true."""
    message = f"{schedule}: {reduction!r} is still true after {passes} passes"
    warn(message, RuntimeWarning, stacklevel=outside_level())


class TickingWorld(WorldBase):
    """A world whose kernels or schedules use the time."""

    __slots__ = ()

    @property
    def tick(self) -> int:
        """Time, 0 at first. Assigning another value than an i64 is a TypeError or OverflowError.
        Saved and copied with the rest."""
        return vars(self).get("_tick", 0)  # type: ignore[no-any-return]  # `vars` knows no types

    @tick.setter
    def tick(self, tick: int) -> None:
        if type(tick) is not int or not -(2**63) <= tick < 2**63:
            tick = IntField(f"{type(self).__name__}.tick", "i64").to_cell(tick)
        vars(self)["_tick"] = tick

    def _is_due(self, every: int, start: int) -> bool:
        """Return True if a step that runs every `every` ticks from `start` on runs now."""
        return self.tick >= start and (self.tick - start) % every == 0

    def json_state(self) -> dict[str, Any]:
        state = {"tick": self.tick} if self.tick else {}
        return {**super().json_state(), **state}

    def load_json_state(self, notes: Mapping[str, Any]) -> None:
        super().load_json_state(notes)
        vars(self)["_tick"] = notes.get("tick", 0)
