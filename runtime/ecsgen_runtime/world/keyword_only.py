"""Schedules' arguments, which are given by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast
from warnings import warn

MethodT = TypeVar("MethodT", bound=Callable[..., None])


def keyword_only(method: MethodT) -> MethodT:
    """Let a method whose parameters are keyword-only take positional ones as well, with a warning.

    Which comes first depends on the order of a schedule's kernels.
    """
    names = [name for name in method.__annotations__ if name != "return"]

    @wraps(method)
    def called(self: Any, *given: Any, **named: Any) -> None:
        if not given:
            method(self, **named)
            return
        label = f"{type(self).__name__}.{method.__name__}"
        if len(given) > len(names):
            raise TypeError(f"{label}() takes {len(names)} arguments, not {len(given)}")
        message = f"{label}: give arguments by name, as in {names[0]}=…: their order may change"
        warn(message, DeprecationWarning, stacklevel=2)
        method(self, **dict(zip(names, given, strict=False)), **named)

    return cast("MethodT", called)
