"""Facts about fields in files: types as schemas spell them, and cells of each in arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .documents import Document

Columns = dict[str, NDArray[Any]]

INTEGERS: Final = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS: Final = ("f32", "f64")
NUMBERS: Final = (*INTEGERS, *FLOATS)
TEXTS: Final = ("str", "bytes")
HANDLES: Final = ("entity", "id")
TIMES: Final = {"datetime": "M", "timedelta": "m"}
"""Letters of numpy's types by base."""

_TIME: Final = re.compile(r"(datetime|timedelta)\[(s|ms|us|ns)\]")
_TYPE: Final = re.compile(r"(id<(?P<of>\w+)>|\w+)(?:\[(?P<sizes>[0-9,]+)\])?")


@dataclass(frozen=True)
class CellType:
    """A field type, taken apart."""

    text: str
    """The type as the schema has it: `f32[3]`."""
    base: str
    """`bool`, `i8` … `f64`, `str`, `bytes`, `entity`, `id`, `enum`, `flags`, `datetime`,
    `timedelta` or `object`."""
    shape: tuple[int, ...] = ()
    """The shape of a cell."""
    size: int = 0
    """N of `str[N]` and `bytes[N]`."""
    target: str = ""
    """The component of `id<…>`, the name of an enum, the unit of times."""
    number: str = ""
    """The type of integers that an enum is stored as."""
    members: Mapping[str, int] = field(default_factory=dict)
    """The numbers of an enum's members."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the array that holds a column; bytes for text."""
        return np.dtype(_CODES.get(self.number or self.base, "O"))

    @property
    def cell_shape(self) -> tuple[int, ...]:
        """The shape of one cell in that array: text has a byte after the other."""
        return (self.size,) if self.base in TEXTS else self.shape

    @property
    def mask(self) -> int:
        """All bits that flags may have."""
        bits = 0
        for number in self.members.values():
            bits |= number
        return bits

    def renamed(self, names: Mapping[str, str]) -> CellType:
        """Return this type with the new name of its enum or component."""
        return replace(self, target=names.get(self.target, self.target))

    def of_shape(self, shape: tuple[int, ...]) -> CellType:
        """Return this type with another shape; text has none."""
        sizes = f"[{','.join(map(str, shape))}]" if shape else ""
        return replace(self, text=self.text.partition("[")[0] + sizes, shape=shape)


_CODES: Final = {
    "bool": "?",
    **{name: f"{name[0]}{int(name[1:]) // 8}" for name in NUMBERS},
    **dict.fromkeys(TEXTS, "u1"),
    **dict.fromkeys(HANDLES, "u8"),
    **dict.fromkeys(TIMES, "i8"),
}


def cell_type(text: str, enums: Mapping[str, Document]) -> CellType:
    """Parse a field type; `enums` are those of its schema document.

    Raises ValueError for what is no type of that schema.
    """
    if time := _TIME.fullmatch(text):
        return CellType(text, time[1], target=time[2])
    match = _TYPE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no field type")
    name, target = match[1], match["of"]
    sizes = tuple(map(int, filter(None, (match["sizes"] or "").split(","))))
    if target is not None:
        return CellType(text, "id", sizes, target=target)
    if name in TEXTS:
        if len(sizes) != 1:
            raise ValueError(f"{text!r} has no size")
        return CellType(text, name, size=sizes[0])
    if (name in _CODES and name not in TIMES) or name == "object":
        return CellType(text, name, sizes)
    if name not in enums:
        raise ValueError(f"{text!r} is no field type")
    enum = enums[name]
    return CellType(
        text,
        "flags" if enum["flags"] else "enum",
        sizes,
        target=name,
        number=enum["type"],
        members=enum["members"],
    )


def default_cell(type_: CellType, default: Any) -> NDArray[Any]:
    """Return a default, as a schema document has it, as the array of one cell."""
    cell = np.zeros(type_.cell_shape, type_.dtype)
    if type_.base == "object":
        return np.full((), None, np.object_)
    if type_.base in TEXTS:
        stored = default.encode() if isinstance(default, str) else bytes(default)
        cell[: len(stored)] = np.frombuffer(stored, np.uint8)
        return cell
    if type_.base in TIMES:
        return np.array(default, f"{TIMES[type_.base]}8[{type_.target}]").view(np.int64)
    elements = np.array(default, type_.dtype)  # "NaN" and "Infinity" are floats to it
    if elements.size != cell.size:
        raise ValueError(f"{type_.text}: a default of {elements.size} elements")
    return elements.reshape(type_.shape)


def as_times(cells: NDArray[Any], type_: CellType) -> NDArray[Any]:
    """Return times as numpy compares them: NaT equals nothing. Other cells as they are."""
    if type_.base in TIMES:
        return cells.view(f"{TIMES[type_.base]}8[{type_.target}]")
    return cells


def bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as integers, so that NaN equals itself and -0.0 is not 0.0."""
    if array.dtype.kind in "f":
        return array.view(f"u{array.itemsize}")
    return array


def differing(cells: NDArray[Any], default: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which rows have another cell than the default, bit by bit; objects: if some."""
    if cells.dtype.hasobject:
        is_set = (cell is not None for cell in cells)
        return np.fromiter(is_set, np.bool_, len(cells))
    differs = np.asarray(bits(cells) != bits(default))
    return np.asarray(differs.any(axis=tuple(range(1, differs.ndim))))


_ASCII: Final = 128


def wrong_texts(cells: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which rows are not UTF-8, or have a NUL inside, shape (rows,); O(bytes)."""
    flat, size = cells.reshape(-1), cells.shape[1]
    wrong, is_nul = np.zeros(len(cells), np.bool_), flat == 0
    nuls = np.flatnonzero(is_nul[:-1] > is_nul[1:])  # before another byte, perhaps the next row's
    wrong[nuls[nuls % size != size - 1] // size] = True
    rows = np.unique(np.flatnonzero(flat >= _ASCII) // size)
    begins_inside = (cells[rows, 0] & 0xC0) == 0x80  # a character: rows cannot be joined
    if begins_inside.any() or not _is_utf8(cells[rows]):
        wrong[[row for row in rows.tolist() if not _is_utf8(cells[row])]] = True
    return wrong


def _is_utf8(cells: NDArray[np.uint8]) -> bool:
    try:
        cells.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True
