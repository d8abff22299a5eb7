"""Managers with rows in them, and handles in a random order to work with."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray

CALLS = 200
"""One-row calls per run."""

LIVE = 1000
"""Rows of a manager for one-row calls."""


class Subject:
    """A manager of `live` rows, and `ready` entities without any.

    `handles` are what the rows are found by, in a random order: entities, or ids where there is no
    owner. `rows` are theirs. `given` is what `create` and `create_many` take for new rows.
    """

    def __init__(self, package: Any, name: str, live: int = LIVE, ready: int = 0) -> None:
        kind = getattr(package, name)
        self.package = package
        self.owned = is_owned(kind)
        self.entities = package.EntityManager()
        everyone = self.entities.create_many(live + ready)
        if self.owned:
            self.manager = kind(self.entities)
            handles, self.ready = everyone[:live], everyone[live:]
            self.manager.create_many(handles)
        else:
            self.manager = kind()
            handles, self.ready = self.manager.create_many(live), np.arange(ready)
        self.handles: NDArray[Any] = np.random.default_rng(0).permutation(handles)

    @property
    def some(self) -> list[int]:
        """As many handles as there are calls."""
        found: list[int] = self.handles[:CALLS].tolist()
        return found

    def rows(self, count: int = CALLS) -> NDArray[Any]:
        """Rows of the first handles."""
        manager = self.manager
        many = manager.lookup_many if self.owned else manager.resolve_many
        found: NDArray[Any] = many(self.handles[:count])
        return found

    def new(self, count: int) -> Any:
        """What `create_many` takes for so many new rows."""
        return self.ready[:count] if self.owned else count

    def values(self) -> dict[str, Any]:
        """A value for each field that `create` takes: those of a row as it is."""
        row = self.manager.row(int(self.rows(1)[0]))
        taken = inspect.signature(self.manager.create).parameters
        return {name: value for name, value in row._asdict().items() if name in taken}

    def columns(self, count: int) -> dict[str, Any]:
        """An array of `count` values for each field; a single one for any Python object."""
        found = {}
        for name, value in self.values().items():
            array = np.array(value)
            alone = array.dtype == object
            found[name] = value if alone else np.broadcast_to(array, (count, *array.shape)).copy()
        return found


def is_owned(manager: type) -> bool:
    """Return whether rows of a manager belong to entities."""
    return bool(inspect.signature(manager).parameters)
