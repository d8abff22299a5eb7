"""Tables as files: in parts, each of which is complete or not there, as Parquet or CSV."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from enum import IntEnum, IntFlag
from functools import partial
from importlib import import_module
from operator import index, setitem
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeAlias

from numpy.typing import NDArray

from ..arrow.arrow_export import BadCellError, element_kind
from ..base.files import file_lock, replace_file
from ..values.interchange import require_pyarrow
from ..values.time_fields import iso_texts

_Enum: TypeAlias = type[IntEnum | IntFlag]

if TYPE_CHECKING:
    from ..base.provenance import Provenance

    class LinesInMemory(Protocol):
        """A table that a world records."""

        _NAME: ClassVar[str]
        _COLUMNS: ClassVar[Mapping[str, str]]
        _ENUMS: ClassVar[Mapping[str, _Enum]]

        @property
        def _lines(self) -> Any: ...
        @property
        def columns(self) -> dict[str, NDArray[Any]]: ...
        def to_arrow(self) -> Any: ...


FORMATS: Final = ("parquet", "csv")
ORIGIN: Final = "provenance.jsonl"
"""The file of a folder with a line for each time that records were opened there."""
_PART: Final = re.compile(rf"(\d{{5,}})\.({'|'.join(FORMATS)})")
"""The name of a file of a table."""


class RecordFiles:
    """A folder with a folder for each table, locked for one writer."""

    __slots__ = ("_folder", "_format", "_held", "_lock_error", "_next", "lines")

    def __init__(
        self,
        folder: str,
        format: str,
        lines: int,
        tables: Sequence[str],
        append: bool,
        origin: Callable[[], Provenance],
    ) -> None:
        if format not in FORMATS:
            raise ValueError(f"format {format!r}, wanted {' or '.join(map(repr, FORMATS))}")
        if isinstance(lines, bool):
            raise TypeError(f"lines={lines}, wanted a number")
        if index(lines) < 1:
            raise ValueError(f"lines={lines}, wanted 1 or more")
        if format == "parquet":
            _parquet()  # raises now if it is not installed
        self.lines = index(lines)
        """Number of lines of a table that make a file."""
        self._folder = folder
        self._format = format
        self._next = dict.fromkeys(tables, 0)
        """The number of each table's next file."""
        os.makedirs(folder, exist_ok=True)
        with ExitStack() as self._held:
            self._lock()
            for name in tables:
                where = os.path.join(folder, name)
                numbers = [*_numbers(where)]
                if numbers and not append:
                    raise FileExistsError(f"{where} has files of the table {name}")
                self._next[name] = max(numbers, default=-1) + 1
            line = json.dumps(origin())
            with open(
                os.path.join(folder, ORIGIN), "a" if append else "w", encoding="ascii"
            ) as file:
                print(line, file=file)
            for name in tables:
                os.makedirs(os.path.join(folder, name), exist_ok=True)
            self._held = self._held.pop_all()

    def _lock(self) -> None:
        lock = file_lock(self._folder, os.path.join(self._folder, ".lock"))
        self._lock_error = self._held.enter_context(lock)

    def close(self) -> None:
        """Unlock the folder."""
        self._held.close()

    def write(self, table: LinesInMemory) -> None:
        """Make a file of a table's lines, which then leave memory; O(lines). Whatever raises leaves
        either no file, or the file and no lines in memory."""
        if self._lock_error.closed:  # here, in a forked process
            self._lock()
        number = self._next[table._NAME]
        path = os.path.join(self._folder, table._NAME, f"{number:05}.{self._format}")
        if os.path.exists(path):
            raise FileExistsError(f"{path}: another process writes to this folder too")
        then = (partial(setitem, self._next, table._NAME, number + 1), table._lines.clearing())
        with replace_file(path, sync=False, then=then) as raw:
            file = io.BufferedWriter(raw)  # which writes all, or raises
            if self._format == "csv":
                _write_csv(table, file)
            else:
                _parquet().write_table(table.to_arrow(), file)
            file.flush()
            file.detach()


def _numbers(folder: str) -> Iterator[int]:
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if match := _PART.fullmatch(name):
                yield int(match[1])


def _parquet() -> Any:
    """Return the module that writes Parquet; ImportError with a hint if it is not installed."""
    require_pyarrow()
    return import_module("pyarrow.parquet")


def arrow_table(table: LinesInMemory) -> Any:
    """Return a table's lines as a pyarrow.Table, which shares their memory."""

    def array(cells: NDArray[Any], enum: _Enum | None) -> Any:
        if enum is not None and issubclass(enum, IntFlag):
            return pa.array(_names(cells, enum), pa.string()).dictionary_encode()
        return element_kind(cells.dtype, enum).array(cells)

    pa = require_pyarrow()
    return pa.Table.from_arrays(_convert(table, array), names=[*table._COLUMNS])


def pandas_table(table: LinesInMemory) -> Any:
    """Return a table's lines as a pandas.DataFrame, a copy; enums become categories."""

    def column(cells: NDArray[Any], enum: _Enum | None) -> Any:
        if enum is None:
            return cells
        names = _names(cells, enum)
        listed = names if issubclass(enum, IntFlag) else [*enum.__members__]
        return pandas.Categorical(names, [*dict.fromkeys(listed)])

    pandas = import_module("pandas")
    return pandas.DataFrame(dict(zip(table._COLUMNS, _convert(table, column), strict=True)))


def _write_csv(table: LinesInMemory, file: io.BufferedIOBase) -> None:
    """Write a head and all lines, enums by name, times as ISO text."""

    def shown(cells: NDArray[Any], enum: _Enum | None) -> Any:
        if cells.dtype.kind in "mM":
            return iso_texts(cells).tolist()
        return cells.tolist() if enum is None else _names(cells, enum)

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table._COLUMNS)
    writer.writerows(zip(*_convert(table, shown), strict=True))
    file.write(text.getvalue().encode())


def _convert(table: LinesInMemory, make: Callable[[NDArray[Any], _Enum | None], Any]) -> list[Any]:
    """Return what is made of each column; ValueError names the line of a bad cell."""
    converted = []
    for name, cells in table.columns.items():
        try:
            converted.append(make(cells, table._ENUMS.get(name)))
        except BadCellError as error:
            where = f"{table._NAME}.{name}: line {error.place}"
            raise ValueError(f"{where}: {error}") from None
    return converted


def _names(cells: NDArray[Any], enum: _Enum) -> list[str]:
    """Return the names of members, of flags those of several; BadCellError without one."""
    numbers = cells.tolist()
    names: dict[int, str] = {}
    for number in dict.fromkeys(numbers):
        try:
            names[number] = enum(number).name or str(number)
        except ValueError:
            message = f"{number} is no member of {enum.__name__}"
            raise BadCellError(message, numbers.index(number)) from None
    return [names[number] for number in numbers]
