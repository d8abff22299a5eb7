"""Tables that a world records: lines in memory, in columns that grow, and their writers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum, IntFlag
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ..base.handles import RowArray
from ..kernels.reductions import RecordedRows, leading_rows
from ..tables.buffers import read_only
from ..tables.columns import owner_column
from ..world.ticking import TickingWorld

if TYPE_CHECKING:
    from ..base.provenance import Provenance
    from ..managers.policies.owners import Owned
    from ..tables.placement import RowsOrSlice
    from ..world.queries.query import QueryMatch
    from .record_files import RecordFiles

_LEAST: Final = 64
"""Lines for which there is room at first."""


class RecordBuffer:
    """The lines of a table in memory: blocks of columns, each as long as all before it, so that no
    line is copied when there is no room, which costs three times as much; once a caller asks for
    columns, one block."""

    __slots__ = ("_dtypes", "_state")

    _state: tuple[tuple[list[NDArray[Any]], ...], list[NDArray[Any]], int, int]

    def __init__(self, dtypes: Sequence[str]) -> None:
        self._dtypes = dtypes
        self.clear()

    def clear(self) -> None:
        """Drop all lines; arrays of them that were handed out stay as they are."""
        self.clearing()()

    def clearing(self) -> Callable[[], None]:
        """Return a function in C that clears."""
        # Full blocks, the last one, its lines, all lines: in one, for an interrupt may come
        # between two assignments.
        return partial(setattr, self, "_state", ((), [], 0, 0))

    @property
    def count(self) -> int:
        """Number of lines."""
        return self._state[3]

    def _room(self, k: int) -> tuple[list[NDArray[Any]], int]:
        """Return columns with room for k lines, and the index of the first."""
        full, last, used, count = self._state
        if last and used + k <= len(last[0]):
            return last, used
        if used:
            full = (*full, [column[:used] for column in last])
        size = max(k, count, _LEAST)
        last = [np.empty(size, dtype) for dtype in self._dtypes]
        self._state = full, last, 0, count
        return last, 0

    def _add(self, k: int) -> None:
        """Count k lines that were written into the room for them."""
        full, last, used, count = self._state
        self._state = full, last, used + k, count + k

    def add_line(self, values: Sequence[Any]) -> None:
        """Add a line; O(columns), amortised."""
        columns, line = self._room(1)
        for column, value in zip(columns, values, strict=True):
            column[line] = value
        self._add(1)

    def add_lines(
        self, k: int, tick: int, cells: Sequence[tuple[NDArray[Any], RowsOrSlice]]
    ) -> None:
        """Add a line for each of k rows, from columns and rows in these; O(k)."""
        columns, start = self._room(k)
        columns[0][start : start + k] = tick
        for column, (source, rows) in zip(columns[1:], cells, strict=True):
            lines = column[start : start + k]
            if isinstance(rows, slice):
                lines[...] = source[rows]
            else:
                source.take(rows, out=lines, mode="clip")
        self._add(k)

    def columns(self) -> list[NDArray[Any]]:
        """Return all columns, read-only; O(columns), O(lines) after lines found no room."""
        full, last, used, count = self._state
        if full:
            columns = [np.empty(2 * count, dtype) for dtype in self._dtypes]
            start = 0
            for block in (*full, [column[:used] for column in last]):
                end = start + len(block[0])
                for column, cells in zip(columns, block, strict=True):
                    column[start:end] = cells
                start = end
            last = columns
            self._state = (), columns, count, count
        elif not last:
            last = [np.empty(0, dtype) for dtype in self._dtypes]
        return [read_only(column[:count]) for column in last]


class RecordState:
    """Tables that a world has recorded, and the files to which they go."""

    __slots__ = ("files", "tables")

    def __init__(self, tables: Mapping[str, type[RecordedTable]]) -> None:
        self.tables = {
            name: RecordBuffer([*kind._COLUMNS.values()]) for name, kind in tables.items()
        }
        self.files: RecordFiles | None = None


class RecordedTable:
    """A table of a world: lines, of which each column is an array and an attribute.

    An array has the lines that there were when it was asked for, shape (n,), read-only.
    """

    __slots__ = ("_world",)

    _NAME: ClassVar[str]
    _COLUMNS: ClassVar[Mapping[str, str]]
    """The dtype of each column."""
    _ENUMS: ClassVar[Mapping[str, type[IntEnum | IntFlag]]] = {}
    """Enums of columns that hold numbers of members."""

    def __init__(self, world: RecordingWorld) -> None:
        self._world = world

    def __len__(self) -> int:
        """Return the number of lines in memory; O(1)."""
        return self._lines.count

    def __repr__(self) -> str:
        """Show how many lines there are."""
        return f"<{self._NAME}: {len(self)} lines of {', '.join(self._COLUMNS)}>"

    @property
    def _lines(self) -> RecordBuffer:
        return self._world._record.tables[self._NAME]

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The lines in memory, by column; O(columns), amortised."""
        return dict(zip(self._COLUMNS, self._lines.columns(), strict=True))

    def _column(self, number: int) -> NDArray[Any]:
        return self._lines.columns()[number]

    def write(self) -> None:
        """Write a line now, or one for each row; O(rows).

        OSError, if files are open and the line that fills one finds no room: then all lines
        are still in memory, this one too.
        """
        getattr(self._world, f"_line_of_{self._NAME}")()

    def clear(self) -> None:
        """Drop the lines in memory; arrays that were handed out stay as they are. O(1)."""
        self._lines.clear()

    def to_arrow(self) -> Any:
        """Return the lines in memory as a pyarrow.Table, enums by name; O(columns).

        Raises:
            ImportError: there is no pyarrow.
            ValueError: a raw write had left a number that no member of an enum has.
        """
        from .record_files import arrow_table

        return arrow_table(self)

    def to_pandas(self) -> Any:
        """Return the lines in memory as a DataFrame; O(lines). ImportError without pandas."""
        from .record_files import pandas_table

        return pandas_table(self)


class Records:
    """The tables of a world, each an attribute, and the folder that their lines go to."""

    __slots__ = ("_world",)

    def __init__(self, world: RecordingWorld) -> None:
        self._world = world

    def __repr__(self) -> str:
        return f"{type(self._world).__name__}.records({', '.join(self._world._RECORD_TABLES)})"

    def open(
        self,
        folder: str | os.PathLike[str],
        format: Literal["parquet", "csv"] = "parquet",
        lines: int = 65536,
        *,
        append: bool = False,
    ) -> None:
        """Write lines to files from now on: `folder/TABLE/00000.parquet` and so on.

        Whenever a table has `lines` lines or more, those in memory now among them, all of them
        become its next file, and leave memory. A file is complete or not there, also if the
        process is killed. With `append` the numbers of files that are there go on. Neither
        copies nor saved worlds have the folder open. `folder/provenance.jsonl` gets a line
        with the world's `provenance()`. O(bytes of the world).

        Raises:
            FileExistsError: there are files of a table, without `append`.
            BlockingIOError: another process or world writes to this folder.
            ValueError: another format, `lines` below 1, or records are open already.
            TypeError: `lines` is no integer.
            ImportError: there is no pyarrow to write Parquet.
            StructureLockedError: a callback is running.
            OSError: as for every folder.
        """
        from .record_files import RecordFiles

        world = self._world
        if world._record.files is not None:
            raise ValueError(f"{type(world).__name__}: records are open; `close()` first")
        folder = world._record_folder(os.path.abspath(os.fsdecode(folder)))
        names = [*world._RECORD_TABLES]
        world._record.files = RecordFiles(folder, format, lines, names, append, world.provenance)
        for name in names:
            world._pass_on(name)

    def flush(self) -> None:
        """Write all lines in memory to files, if a folder is open; O(lines).

        OSError if there is no room: then the lines of that table are still in memory.
        """
        for name in self._world._RECORD_TABLES:
            self._world._pass_on(name, least=1)

    def close(self) -> None:
        """Flush, and leave lines in memory from now on. What `flush` raises, the folder
        stays open."""
        self.flush()
        record = self._world._record
        files, record.files = record.files, None
        if files is not None:
            files.close()


class RecordingWorld(TickingWorld):
    """A world with tables that it records."""

    __slots__ = ()

    _RECORD_TABLES: ClassVar[Mapping[str, type[RecordedTable]]] = {}

    if TYPE_CHECKING:  # every generated world is a SnapshotWorld, too

        def provenance(self) -> Provenance: ...

    def __getstate__(self) -> Any:
        attributes, slots = super().__getstate__()
        state = {name: value for name, value in attributes.items() if name != "_recorded"}
        return state, slots

    @property
    def _record(self) -> RecordState:
        """The recorded tables; created on first use, so that copies have none."""
        attributes = vars(self)
        if "_recorded" not in attributes:
            attributes["_recorded"] = RecordState(self._RECORD_TABLES)
        return attributes["_recorded"]  # type: ignore[no-any-return]

    def _write_line(self, name: str, *values: Any) -> None:
        """Add a line of values behind the time."""
        self._record.tables[name].add_line((self.tick, *values))
        self._pass_on(name)

    def _write_lines(
        self,
        name: str,
        rows: RecordedRows,
        where: NDArray[np.bool_] | None,
        *columns: tuple[NDArray[Any], int | None],
    ) -> None:
        """Add a line for each row, or for those where it is true.

        `columns`: their cells, each with the place of its rows; None: one for each of the rows.
        """
        members, k = rows.members, rows.n
        numbers: RowsOrSlice = slice(0, k)
        if where is not None:
            k = int(np.count_nonzero(where))
            if k < rows.n:
                numbers = np.flatnonzero(where)
                members = picked_rows(members, numbers)
        cells = [(c, numbers if member is None else members[member]) for c, member in columns]
        self._record.tables[name].add_lines(k, self.tick, cells)
        self._pass_on(name)

    def _living_rows(self, manager: Owned, n: int, is_clean: bool = False) -> RecordedRows:
        """Return the rows among a manager's first n whose owners are alive; O(n) after a change."""
        if not (is_clean or manager.are_all_alive()):
            alive = self.entities.alive_many(owner_column(manager.data)[:n])
            if not alive.all():
                rows = np.flatnonzero(alive)
                return RecordedRows(len(rows), (rows,))
        return leading_rows(n)

    def _pass_on(self, name: str, least: int = 0) -> None:
        """Write the lines of a table to a file, if there are enough of them."""
        files = self._record.files
        if files is None:
            return
        lines = self._record.tables[name]
        if lines.count >= (least or files.lines):
            files.write(self._RECORD_TABLES[name](self))

    def _record_folder(self, folder: str) -> str:
        """Return the folder for the tables of this world."""
        return folder


def matching_rows(match: QueryMatch, *active: tuple[int, int]) -> RecordedRows:
    """Return the rows that a query matched; `active`: pairs of a member and its number of active
    rows."""
    count, members = match.count, (*match.rows, slice(0, match.count))
    for member, n_active in active:
        rows = members[member]
        numbers = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        active_rows = np.flatnonzero(numbers < n_active)
        if len(active_rows) < count:
            count, members = len(active_rows), picked_rows(members, active_rows)
    return RecordedRows(count, members)


def picked_rows(members: Sequence[RowsOrSlice], indices: RowArray) -> tuple[RowsOrSlice, ...]:
    """Return some of the rows in each manager."""
    return tuple(
        indices + rows.start if isinstance(rows, slice) else rows[indices] for rows in members
    )
