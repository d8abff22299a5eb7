"""What is compared: an operation that each of two packages carries out on subjects of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from _timing import Prepare, Run

Stage: TypeAlias = Callable[[Any], Prepare]
"""Sets up an operation for a package; what it returns makes each run, untimed."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that both packages can do: `name` of an `owner`, a manager or one of its fields."""

    name: str
    owner: str
    stage: Stage

    @property
    def title(self) -> str:
        return f"{self.owner}: {self.name}"


Operations: TypeAlias = Iterator[Operation]


def each(call: Callable[..., object], *arguments: Iterable[Any]) -> Run:
    """Make a run that calls for one argument after the other, with as little else as possible."""
    return lambda: deque(map(call, *arguments), maxlen=0)
