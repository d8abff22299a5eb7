"""A row as its kernel's steps see it, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import chance, spaces
from .kernel_cells import Value, flat, put
from .kernel_others import Others
from .spaces import Crowd, Neighbour


class Row:
    """One row of the columns that a kernel runs over."""

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        row: int,
        parent: int = -1,
        stem: int = 0,
        crowd: Crowd | None = None,
        others: Others | None = None,
        is_heard: bool = True,
    ) -> None:
        self._crowd = crowd
        self._stem = stem
        self._columns = columns
        self._row = row
        self._parent = parent
        self._others = others
        self._is_heard = is_heard

    def place(self, name: str) -> int:
        """Return which row of a field's column it is."""
        return self._row

    def __getitem__(self, name: str) -> Value:
        return flat(self._columns[name][self.place(name)])

    def parent(self, name: str, root: tuple[Any, ...]) -> Value:
        """Return a field of the parent; of a root what is above the roots."""
        column = self._columns[name]
        if self._parent < 0:
            return flat(np.array(root, column.dtype))
        return flat(column[self._parent])

    def draw(self, how: str, first: int, count: int, *bounds: Value) -> Value:
        """Return random numbers of this row, from the first one on."""
        found: Value = chance.numbers(how, self._stem, first, count, bounds)
        return found

    def put(self, name: str, value: Value, *index: int) -> None:
        """Write a field, or an element of it."""
        column, row = self._columns[name], self.place(name)
        put(column, (row, *index), value)
        if self._crowd is not None:
            self._crowd.moved(column, row)

    def refer(
        self, text: str, by: str, handle: Value, default: tuple[Any, ...]
    ) -> Value:
        """Return a field of the row that a handle leads to; by default, what nothing has."""
        assert self._others is not None
        return self._others.refer(text, by, handle, default)

    def exists(self, component: str, by: str, handle: Value) -> Value:
        """Return whether a handle leads to a row, or an entity is alive."""
        assert self._others is not None
        return self._others.exists(component, by, handle)

    def send(
        self, text: str, by: str, handle: Value, how: str, value: Value, *index: int
    ) -> None:
        """Send a message, if anybody hears of it."""
        assert self._others is not None
        if self._is_heard:
            self._others.send(text, by, handle, how, value, *index)

    @property
    def neighbours(self) -> list[Neighbour]:
        """Who is near now."""
        assert self._crowd is not None
        with np.errstate(all="ignore"):
            return self._crowd.around(self.place(self._crowd.place))

    def answer(
        self, how: str, scalar: str, shape: tuple[int, ...], values: list[Value]
    ) -> Value:
        """Return what comes of what each neighbour answers."""
        squares = [one.square for one in self.neighbours]
        found: Value = spaces.answer(how, scalar, math.prod(shape), values, squares)
        return found


class Asked(Row):
    """A row that is only asked whether it matches: nothing is written."""

    def put(self, name: str, value: Value, *index: int) -> None:
        """Write nothing."""
