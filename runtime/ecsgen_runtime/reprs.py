"""What a `repr` shows: how many rows of what, in short; O(columns), never an address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from math import prod
from typing import Any, Final

from .columns.field_info import FieldInfo

_SHOWN: Final = 8
"""Parts that a line names."""


def count_text(count: int, what: str, several: str = "") -> str:
    """Return `1 row`, `2 rows`."""
    return f"{count} {what if count == 1 else several or f'{what}s'}"


def list_text(parts: Iterable[str]) -> str:
    """Return the first parts as a list; an ellipsis stands for the others."""
    first = list(islice(parts, _SHOWN + 1))
    return ", ".join([*first[:_SHOWN], *["…"][: len(first) - _SHOWN]])


def query_text(
    all: Sequence[str],
    any: Sequence[str] = (),
    none: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> str:
    """Return the components that a query asks for, in words."""
    parts = {"all of": all, "any of": any, "none of": none, "optional": optional}
    return "; ".join(
        f"{how} {list_text(names)}" for how, names in parts.items() if names
    )


def bytes_text(nbytes: int) -> str:
    """Return a number of bytes as `512 B`, `5.0 KiB`."""
    if nbytes < 1024:
        return f"{nbytes} B"
    size, unit = nbytes / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f} {unit}"


def holder_repr(holder: Any, rows: str) -> str:
    """Return the repr of what holds rows of its own: how many, room for how many, bytes."""
    size = bytes_text(holder.nbytes)
    return f"<{type(holder).__name__}: {rows}, room for {holder.capacity}, {size}>"


def columns_repr(columns: Any, n: int) -> str:
    """Return the repr of n rows of columns."""
    parts = list_text(
        f"{name} {kind}" for name, kind, _ in shown_columns(type(columns))
    )
    of = f" of {parts}" if parts else ""
    return f"<{type(columns).__name__}: {count_text(n, 'row')}{of}>"


def shown_columns(kind: type[Any]) -> list[tuple[str, str, FieldInfo | None]]:
    """Return the columns of a class that has some: name, type, and the field if it is one.

    The owner comes first, then fields as the schema orders them; of split fields the elements,
    and none of those that live elsewhere.
    """
    found: list[tuple[str, str, FieldInfo | None]] = []
    if hasattr(kind, "entity"):
        found.append(("entity", "u64", None))
    for field in kind.FIELDS:
        if hasattr(kind, field.name):
            found.append((field.name, field.type, field))
        else:
            scalar = field.type.partition("[")[0]
            names = element_names(field.name, field.shape)
            found += [(name, scalar, field) for name in names if hasattr(kind, name)]
    return found


def element_names(field: str, shape: tuple[int, ...]) -> list[str]:
    """Return the names of a field's elements as columns, as split fields have them."""
    count = prod(shape) if shape else 0
    places: Iterable[object] = "xyzw"[:count] if count <= 4 else range(count)
    return [f"{field}_{place}" for place in places]
