"""The rows that kernels refer and send messages to, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .fields import Handle
from .kernel_cells import Columns, Value, flat, put
from .kernel_filling import used_rows
from .kernel_operations import apply
from .spaces import Crowd
from .subject import Subject

NIL = 2**32 - 1


class Others:
    """The rows of some managers, by component, and their columns as a kernel leaves them.

    References read what was there before, and messages wait for `deliver`; in turns all is as
    it is now, and messages arrive at once.
    """

    def __init__(
        self,
        managers: Mapping[str, Any],
        columns: Mapping[str, Columns],
        alive: Callable[[int], bool],
        *,
        in_turns: bool,
        crowd: Crowd | None = None,
    ) -> None:
        self._managers = managers
        self._columns = columns
        self._alive = alive
        self._crowd = crowd
        self._before = columns if in_turns else _copied(columns)
        self._in_turns = in_turns
        self._held: list[Callable[[], None]] = []

    def refer(
        self, text: str, by: str, handle: Value, default: tuple[Any, ...]
    ) -> Value:
        """Return a field of the row that a handle leads to."""
        component, name = text.split(".")
        row, column = self._found(component, by, handle), self._before[component][name]
        if row is None:
            return flat(np.array(default, column.dtype))
        return flat(column[row])

    def exists(self, component: str, by: str, handle: Value) -> Value:
        """Return whether a handle leads to a row; without a component, whether one is alive."""
        if component:
            return [np.bool_(self._found(component, by, handle) is not None)]
        return [np.bool_(self._alive(int(handle[0])))]

    def send(
        self, text: str, by: str, handle: Value, how: str, value: Value, *index: int
    ) -> None:
        """Do something with a field, or an element of it, of the row that a handle leads to."""
        component, name = text.split(".")
        row, column = self._found(component, by, handle), self._columns[component][name]
        if row is None:
            return

        def arrive() -> None:
            there = flat(column[(row, *index)])
            put(
                column, (row, *index), value if how == "=" else apply(how, there, value)
            )

        if self._in_turns:
            arrive()
            if self._crowd is not None:
                self._crowd.moved(column, row)
        else:
            self._held.append(arrive)

    def deliver(self) -> None:
        """Let the messages that were sent arrive, in order."""
        for arrive in self._held:
            arrive()
        self._held.clear()

    def hears_from(self, component: str, row: int) -> bool:
        """Whether a row's messages arrive: not those of dead entities."""
        data = self._managers[component].data
        return not hasattr(data, "entity") or self._alive(int(data.entity[row]))

    def _found(self, component: str, by: str, handle: Value) -> int | None:
        row = int(getattr(self._managers[component], by)(int(handle[0])))
        return row if row != NIL and self.hears_from(component, row) else None


def _copied(columns: Mapping[str, Columns]) -> dict[str, dict[str, NDArray[Any]]]:
    return {
        component: {name: column.copy() for name, column in of_one.items()}
        for component, of_one in columns.items()
    }


def handles(managers: Iterable[Any]) -> NDArray[np.uint64]:
    """Return the owners and ids of all rows, and what leads to nothing."""
    found = [np.array([0, 1, 2**64 - 1, 77 << 32], np.uint64)]
    for manager in managers:
        if hasattr(manager.data, "entity"):
            found.append(manager.data.entity)
        if hasattr(manager, "id_of_many"):
            found.append(manager.id_of_many(used_rows(manager)))
    return np.concatenate(found)


def link(
    subject: Subject, manager: Any, pool: NDArray[np.uint64], rng: np.random.Generator
) -> None:
    """Let the fields with handles lead to rows of a pool."""
    for f in subject.whole:
        if isinstance(f, Handle):
            column = getattr(manager.data, f.name)
            column[...] = rng.choice(pool, column.shape)
