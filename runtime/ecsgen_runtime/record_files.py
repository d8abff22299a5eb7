"""Tables as files: in parts, each of which is complete or not there, as Parquet or CSV."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from enum import IntEnum, IntFlag
from importlib import import_module
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .arrow_tables import BadCellError, element_kind
from .interchange import pyarrow
from .records import RecordedTable
from .snapshots.atomic import replacing

_Enum: TypeAlias = type[IntEnum | IntFlag]

FORMATS: Final = ("parquet", "csv")
_PART: Final = re.compile(rf"(\d{{5,}})\.({'|'.join(FORMATS)})")
"""The name of a file of a table."""


class RecordFiles:
    """A folder with a folder for each table."""

    __slots__ = ("_folder", "_format", "_next", "lines")

    def __init__(
        self, folder: str, format: str, lines: int, tables: Sequence[str], append: bool
    ) -> None:
        if format not in FORMATS:
            raise ValueError(
                f"format {format!r}, wanted {' or '.join(map(repr, FORMATS))}"
            )
        if lines < 1:
            raise ValueError(f"lines={lines}, wanted 1 or more")
        if format == "parquet":
            _parquet()  # so that who has none learns it now
        self.lines = lines
        """How many a table has when they become a file."""
        self._folder = folder
        self._format = format
        self._next = dict.fromkeys(tables, 0)
        """The number of each table's next file."""
        for name in tables:
            numbers = [*_numbers(os.path.join(folder, name))]
            if numbers and not append:
                where = os.path.join(folder, name)
                raise FileExistsError(f"{where} has files of the table {name}")
            self._next[name] = max(numbers, default=-1) + 1
        for name in tables:
            os.makedirs(os.path.join(folder, name), exist_ok=True)

    def write(self, table: RecordedTable) -> None:
        """Make a file of a table's lines; O(lines). Whatever raises leaves no file, and those that
        are there."""
        number = self._next[table._NAME]
        path = os.path.join(self._folder, table._NAME, f"{number:05}.{self._format}")
        if os.path.exists(path):
            raise FileExistsError(
                f"{path}: somebody else's lines go to this folder too"
            )
        with replacing(path, sync=False) as raw:
            file = io.BufferedWriter(raw)  # which writes all, or raises
            if self._format == "csv":
                _write_csv(table, file)
            else:
                _parquet().write_table(table.to_arrow(), file)
            file.flush()
            file.detach()
        self._next[table._NAME] = number + 1


def _numbers(folder: str) -> Iterator[int]:
    """Yield the numbers of a table's files."""
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if found := _PART.fullmatch(name):
                yield int(found[1])


def _parquet() -> Any:
    """Return what writes Parquet, or raise ImportError that says how to get it."""
    pyarrow()
    return import_module("pyarrow.parquet")


def arrow_table(table: RecordedTable) -> Any:
    """Return a table's lines as a pyarrow.Table, which shares their memory."""
    pa = pyarrow()
    arrays, fields = [], []
    for name, cells in table.columns.items():
        enum = table._ENUMS.get(name)
        try:
            if enum is not None and issubclass(enum, IntFlag):
                arrays.append(_flags(cells, enum))
            else:
                arrays.append(element_kind(cells.dtype, enum).array(cells))
        except BadCellError as error:
            place = f"{table._NAME}.{name}: line {error.place}"
            raise ValueError(f"{place}: {error}") from None
        fields.append(pa.field(name, arrays[-1].type))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _flags(cells: NDArray[Any], enum: type[IntFlag]) -> Any:
    """Return flags by the names of those that are set."""
    pa = pyarrow()
    names, places = _member_names(cells, enum)
    return pa.DictionaryArray.from_arrays(
        pa.array(places), pa.array(names, pa.string())
    )


def _write_csv(table: RecordedTable, file: io.BufferedIOBase) -> None:
    """Write a head and all lines, enums by name."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table._COLUMNS)
    columns = [
        _shown(cells, table._ENUMS.get(name)) for name, cells in table.columns.items()
    ]
    writer.writerows(zip(*columns, strict=True))
    file.write(text.getvalue().encode())


def _shown(cells: NDArray[Any], enum: _Enum | None) -> list[Any]:
    """Return what stands in a column's lines."""
    if enum is None:
        return cells.tolist()  # type: ignore[no-any-return]
    names, places = _member_names(cells, enum)
    return [names[place] for place in places.tolist()]


def _member_names(
    cells: NDArray[Any], enum: _Enum
) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names that occur, of flags those of several, and the place of each cell's."""
    numbers, places = np.unique(cells, return_inverse=True)
    names = [_name_of(enum, number) for number in numbers.tolist()]
    return names, places.astype(np.int32)


def _name_of(enum: _Enum, number: int) -> str:
    """Return the name of a member, of flags those of several; ValueError without one."""
    return enum(number).name or str(number)
