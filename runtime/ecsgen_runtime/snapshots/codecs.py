"""What is no number, text or handle: columns of objects, and attributes of a user's world.

Objects go through a codec, a pair of functions `(to_bytes, from_bytes)`. Attributes that are JSON
need none. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from math import isfinite
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import SnapshotError
from .documents import refusal

_Pair: TypeAlias = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]

Codec: TypeAlias = _Pair | None
"""How a value becomes bytes, and they a value; None leaves the column out."""

Codecs: TypeAlias = Mapping[str, Codec]
"""By column, `effect.handle`, or attribute, `world.name`; `*` stands for all others."""

OTHERS: Final = "*"
ATTRIBUTE: Final = "world."
NOTHING: Final = -1
"""The length of a cell that is None."""

_DEEPEST: Final = 200
"""Lists in lists that are still JSON: readers have their limits, too."""
_JSON: Final = {type(None), bool, int, float, str, list, dict}
_INT_BITS: Final = 8192
"""Longer integers are not: readers refuse so many digits."""


def check_codecs(codecs: Any, columns: Iterable[str]) -> Codecs:
    """Return codecs that are for columns of objects, or for attributes.

    Raises:
        ValueError: there is no such column.
        TypeError: one is no pair of functions, and not None.
    """
    if codecs is None:
        return {}
    if not isinstance(codecs, Mapping):
        raise TypeError(f"codecs: wanted a dict by column, not {type(codecs).__name__}")
    known = {*columns, OTHERS}
    for name, codec in codecs.items():
        if name not in known and not str(name).startswith(ATTRIBUTE):
            some = ", ".join(sorted(known - {OTHERS})) or "there are none"
            raise ValueError(f"codecs: {name!r} is no column of objects: {some}")
        if codec is not None and not _is_codec(codec):
            raise TypeError(
                f"codecs: {name!r} takes a pair (to_bytes, from_bytes), or None"
            )
    return codecs


def _is_codec(codec: object) -> bool:
    return isinstance(codec, (tuple, list)) and [*map(callable, codec)] == [True, True]


def require_codecs(name: str, codecs: Codecs, columns: Iterable[str]) -> None:
    """Raise SnapshotError that names all columns without an entry."""
    lacking = [column for column in columns if column not in codecs]
    if lacking and OTHERS not in codecs:
        raise lacking_codecs(name, lacking)


def lacking_codecs(name: str, columns: Iterable[str]) -> SnapshotError:
    """Return the error of columns that have no codec."""
    entries = ", ".join(f'"{column}": (to_bytes, from_bytes)' for column in columns)
    why = f"no codec for {', '.join(columns)}; give codecs={{{entries}}}"
    return SnapshotError(refusal(name, f"{why}, or None for a pair to leave one out"))


def codec_of(codecs: Codecs, column: str) -> Codec:
    """Return what a column goes through."""
    return codecs[column] if column in codecs else codecs.get(OTHERS)


def encoded(
    column: str, codec: Codec, cells: NDArray[np.object_]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]] | None:
    """Return the bytes of all cells, one after the other, and their lengths; None without a codec.

    What the codec raises passes through.
    """
    if codec is None:
        return None
    parts = [
        None if value is None else encoded_value(column, codec, value)
        for value in cells.tolist()
    ]
    lengths = (NOTHING if part is None else len(part) for part in parts)
    whole = b"".join(part for part in parts if part is not None)
    counts = np.fromiter(lengths, np.int64, len(parts))
    return np.frombuffer(whole, np.uint8), counts


def decoded(
    codec: Codec, data: NDArray[np.uint8], lengths: NDArray[np.int64]
) -> Iterator[Any]:
    """Yield the value of each cell; None without a codec."""
    whole, start = memoryview(data), 0  # type: ignore[arg-type]  # an array has a buffer
    for length in lengths.tolist():
        if length == NOTHING or codec is None:
            yield None
        else:
            yield codec[1](bytes(whole[start : start + length]))
        start += max(length, 0)


def encoded_value(column: str, codec: _Pair, value: object) -> bytes:
    """Return what a codec makes of a value, or raise TypeError if that is not bytes."""
    part: object = codec[0](value)
    if not isinstance(part, bytes | bytearray | memoryview):
        kind = type(part).__name__
        raise TypeError(f"the codec of {column} made {kind}, not bytes")
    return bytes(part)


def is_json(value: object) -> bool:
    """Return whether JSON gives a value back as it is: by exact types; O(values).

    Level by level: a list, then all that is in it, then all that is in these. A value that several
    lists have is looked into once.
    """
    level: list[Any] = [value]
    for depth in range(_DEEPEST + 1):
        kinds = set(map(type, level))
        if not kinds <= _JSON or not _are_numbers(level, kinds):
            return False
        lists = {id(it): it for it in _of_kind(level, kinds, list)}.values()
        dicts = {id(it): it for it in _of_kind(level, kinds, dict)}.values()
        if depth == _DEEPEST and (lists or dicts):
            return False
        if not set(map(type, chain.from_iterable(dicts))) <= {str}:
            return False
        level = [*chain.from_iterable(lists)]
        level += chain.from_iterable(it.values() for it in dicts)
        if not level:
            break
    return True


def _are_numbers(level: list[Any], kinds: set[type[Any]]) -> bool:
    """Return whether all integers are short, and all floats finite."""
    integers = _of_kind(level, kinds, int)
    longest = max(max(integers, default=0), -min(integers, default=0))
    floats = _of_kind(level, kinds, float)
    return longest.bit_length() <= _INT_BITS and all(map(isfinite, floats))


def _of_kind(level: list[Any], kinds: set[type[Any]], kind: type[Any]) -> list[Any]:
    """Return the values of exactly one type; `kinds` are those of all."""
    if kind not in kinds:
        return []
    return level if len(kinds) == 1 else [it for it in level if type(it) is kind]


def json_text(document: Any) -> str:
    """Return a document as text, the same for equal ones."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
