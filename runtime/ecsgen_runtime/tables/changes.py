"""Readers of changes in the rows of a manager: differences of two states, not logs.

A reader keeps what tells rows apart and copies of the columns it was asked for. Managers don't
know their readers, so these cost a create, a removal or a move nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.fast_typing import NamedTuple
from ..base.handles import RowArray
from ..base.text import did_you_mean, format_count
from ..entities.entity_changes import KeyChanges, Uncopied, compare_keys
from ..values.field_tables import FieldInfo
from .buffers import item_view, split_columns
from .columns import Rows
from .placement import NO_ROWS

_FEW: Final = 8
"""Differing words are looked at one by one if they are fewer than one of so many."""

_Columns: TypeAlias = tuple[tuple[str, ...], tuple[int, ...]]
"""The columns of a field, several if it is split, and the shape of its cells."""
_Undo: TypeAlias = list[tuple[NDArray[Any], RowArray, NDArray[Any]]]
"""Arrays that were written to, where, and what was there."""


class ChangeSource(Protocol):
    """A manager, as a reader sees it."""

    @property
    def data(self) -> Rows: ...

    @property
    def row_keys_version(self) -> tuple[int, ...]: ...

    def row_keys(self) -> NDArray[np.uint64]: ...


class FieldChanges(NamedTuple):
    """Changes of one field."""

    rows: RowArray
    """Rows that were there then and now, whose values differ; ascending."""
    before: NDArray[Any]
    """Their values then."""
    last: NDArray[Any]
    """Values that the removed rows had."""


class Changes:
    """How rows differ between two reads; its arrays are the caller's own.

    Its rows are good until the next structural change.
    """

    __slots__ = ("_fields", "added", "removed")

    def __init__(
        self, added: RowArray, removed: NDArray[np.uint64], fields: dict[str, FieldChanges]
    ) -> None:
        self.added = added
        """Rows that were not there, ascending."""
        self.removed = removed
        """Ids, without ids the entities, of the rows that are not there any more, in the order of
        their rows then."""
        self._fields = fields

    def changed(self, field: str, /) -> RowArray:
        """Return the rows that were there then and now whose bits differ in a field, ascending.

        ValueError: the reader was not asked for the field.
        """
        return self._field(field).rows

    def before(self, field: str, /) -> NDArray[Any]:
        """Return what the rows of `changed(field)` had, shape (k, *shape)."""
        return self._field(field).before

    def last(self, field: str, /) -> NDArray[Any]:
        """Return what the removed rows had in a field, shape (k, *shape)."""
        return self._field(field).last

    def __bool__(self) -> bool:
        differing = len(self.added) + len(self.removed)
        return differing > 0 or any(len(field.rows) for field in self._fields.values())

    def __repr__(self) -> str:
        rows = f"{len(self.added)} added, {len(self.removed)} removed"
        fields = ", ".join(f"{name} {len(f.rows)} changed" for name, f in self._fields.items())
        return f"<Changes: {rows}{f'; {fields}' if fields else ''}>"

    def _field(self, name: str) -> FieldChanges:
        if name not in self._fields:
            asked = f"asked for {', '.join(self._fields)}" if self._fields else "asked for no field"
            raise ValueError(f"the reader was not asked for {name!r}: it was {asked}")
        return self._fields[name]


class _State(NamedTuple):
    """Rows as a reader remembers them."""

    version: tuple[int, ...]
    keys: NDArray[np.uint64]
    """Ids of the rows, or else their owners; 0 where no alive entity has a row."""
    has_gaps: bool
    """True if some of them are 0."""
    cells: dict[str, NDArray[Any]]
    """Items of each column, perhaps with more behind the last row."""


class ChangeReader(Uncopied):
    """A reader of changes in the rows of a manager, which the manager doesn't know of."""

    __slots__ = ("_fields", "_manager", "_state")

    _fields: dict[str, _Columns]
    _state: _State

    def __init__(self, manager: ChangeSource, fields: Sequence[str]) -> None:
        self._manager = manager
        rows = manager.data
        self._fields = {name: _columns_of(rows, name) for name in fields}
        columns = (column for names, _ in self._fields.values() for column in names)
        cells = {name: _items(getattr(rows, name))[:0].copy() for name in columns}
        self._state = _State((), np.empty(0, np.uint64), False, cells)
        self.read()

    def __repr__(self) -> str:
        rows, fields = format_count(len(self._state.keys), "row"), ", ".join(self._fields)
        shown = f"{fields}; {rows}" if fields else rows
        return f"<{type(self).__name__} of {type(self._manager).__name__}: {shown}>"

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        _, keys, _, cells = self._state
        return keys.nbytes + sum(column.nbytes for column in cells.values())

    def read(self) -> Changes:
        """Return how the rows differ from those of the last read, and remember these; O(n).

        Whatever raises leaves the reader as it was. Goes on while the manager is locked, and in
        callbacks.
        """
        state, undo = self._state, _Undo()
        try:
            changes, self._state = self._compare(state, undo)
            return changes
        except BaseException:
            self._state = state
            for cells, rows, former in reversed(undo):
                cells[rows] = former
            raise

    def _compare(self, state: _State, undo: _Undo) -> tuple[Changes, _State]:
        """Return the changes since `state`, and the state now, with whose cells they share
        nothing. The cells of `state` are written to; `undo` has what was there."""
        manager, rows = self._manager, self._manager.data
        version, keys, has_gaps, cells = state
        moves = _NO_MOVES
        if manager.row_keys_version != version:
            version, keys = manager.row_keys_version, manager.row_keys()
            moves, has_gaps = compare_keys(state.keys, keys), not keys.all()
        cells, fields = {**cells}, {}
        for name, (columns, shape) in self._fields.items():
            views = [getattr(rows, column) for column in columns]
            now = [_items(view) for view in views]
            last = [cells[column][moves.removed] for column in columns]
            for column, items in zip(columns, now, strict=True):
                cells[column] = _align(cells[column], items, moves, undo)
            then = [cells[column][: len(keys)] for column in columns]
            differing = reduce(np.union1d, map(_differing_rows, then, now))
            if has_gaps:
                differing = differing[keys[differing] != 0]
            if len(differing) == len(keys):  # all: new copies take no longer than writes
                before = then
                cells |= zip(columns, [items.copy() for items in now], strict=True)
            else:
                before = [_write(*pair, differing, undo) for pair in zip(then, now, strict=True)]
            dtype = views[0].dtype
            fields[name] = FieldChanges(
                differing, _joined(before, dtype, shape), _joined(last, dtype, shape)
            )
        changes = Changes(moves.added.copy(), state.keys[moves.removed], fields)
        return changes, _State(version, keys, has_gaps, cells)


_NO_MOVES: Final = KeyChanges(NO_ROWS, NO_ROWS, NO_ROWS, NO_ROWS)


def _columns_of(rows: Rows, name: str) -> _Columns:
    """Return the columns of a field, or raise ValueError if a reader can't have it."""
    kind, component = type(rows), rows.MANAGER.removesuffix("Manager")
    known: dict[object, FieldInfo | None] = {field.name: field for field in rows.FIELDS}
    if hasattr(kind, "entity"):
        known["entity"] = None
    if name not in known:
        hint = did_you_mean(str(name), [str(field) for field in known])
        raise ValueError(f"{component} has no field {name!r}{hint}")
    field = known[name]
    if field is not None and field.type == "object":
        raise ValueError(f"{component}.{name} is an object: no reader can tell that it changed")
    if field is None or hasattr(kind, name):
        return (name,), () if field is None else field.shape
    columns = tuple(split_columns(name, field.shape)) if field.shape else ()
    if not columns or not hasattr(kind, columns[0]):
        raise ValueError(f"{component}.{name} lies in a buffer of its own, which no reader reads")
    return columns, field.shape


def _items(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view of a column's cells as items, shape (n,); O(1)."""
    return item_view(np.asarray(column))


def _joined(
    columns: Sequence[NDArray[Any]], dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return items of a field's columns as its cells, shape (k, *shape)."""
    cells = [items.view(dtype) for items in columns]
    joined = cells[0] if len(cells) == 1 else np.stack(cells, axis=1)
    return joined.reshape(len(columns[0]), *shape)


def _write(cells: NDArray[Any], now: NDArray[Any], rows: RowArray, undo: _Undo) -> NDArray[Any]:
    """Write `now` to the same rows of `cells`, and return what was there."""
    before = cells[rows]
    undo.append((cells, rows, before))
    cells[rows] = now[rows]
    return before


def _align(cells: NDArray[Any], now: NDArray[Any], moves: KeyChanges, undo: _Undo) -> NDArray[Any]:
    """Return remembered cells in the order of the rows now; those of added rows are as now."""
    if moves is _NO_MOVES:
        return cells
    n, moved = len(now), cells[moves.src]
    if not n <= len(cells) <= 2 * n:
        resized = np.empty(n + n // 2, cells.dtype)
        count = min(n, len(cells))
        resized[:count] = cells[:count]
        cells = resized
    undo.append((cells, moves.dst, cells[moves.dst]))
    cells[moves.dst] = moved
    _write(cells[:n], now, moves.added, undo)
    return cells


def _differing_rows(then: NDArray[Any], now: NDArray[Any]) -> RowArray:
    """Return the positions of items that differ in any bit, ascending; O(n)."""
    nbytes = then.itemsize
    word = next(size for size in (8, 4, 2, 1) if nbytes % size == 0)
    differ = then.view(f"u{word}") != now.view(f"u{word}")
    width = nbytes // word
    if width == 1:
        return np.flatnonzero(differ)
    if np.count_nonzero(differ) * _FEW < len(differ):
        rows = np.flatnonzero(differ) // width
        is_first: NDArray[np.bool_] = np.diff(rows, prepend=-1) != 0
        return rows.compress(is_first)
    is_different: NDArray[np.bool_] = reduce(np.logical_or, differ.reshape(-1, width).T)
    return np.flatnonzero(is_different)
