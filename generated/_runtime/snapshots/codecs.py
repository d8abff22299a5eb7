"""What is no number, text or handle: columns of objects, and attributes of a user's world.

Objects go through a codec, a pair of functions `(to_bytes, from_bytes)`. Attributes that are JSON
need none. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import SnapshotError
from .saved import refusal

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


def is_json(value: object, depth: int = 0) -> bool:
    """Return whether JSON gives a value back as it is: by exact types."""
    kind = type(value)
    if value is None or kind is bool:
        return True
    if isinstance(value, int):
        return kind is int and value.bit_length() <= _INT_BITS
    if isinstance(value, float):
        return kind is float and isfinite(value)
    if isinstance(value, str):
        return kind is str
    if depth == _DEEPEST:
        return False
    if isinstance(value, list):
        return kind is list and all(is_json(item, depth + 1) for item in value)
    return (
        isinstance(value, dict)
        and kind is dict
        and all(type(key) is str for key in value)
        and all(is_json(item, depth + 1) for item in value.values())
    )


def json_text(document: Any) -> str:
    """Return a document as text, the same for equal ones."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
