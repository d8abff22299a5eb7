"""Counts, lists and sizes as a `repr` and messages show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

_SHOWN: Final = 8
"""Parts that a line names."""


def format_count(count: int, what: str, several: str = "") -> str:
    """Return `1 row`, `2 rows`."""
    return f"{count} {what if count == 1 else several or f'{what}s'}"


def format_list(parts: Iterable[str]) -> str:
    """Return the first parts as a list; an ellipsis stands for the others."""
    first = list(islice(parts, _SHOWN + 1))
    return ", ".join([*first[:_SHOWN], *["…"][: len(first) - _SHOWN]])


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return what an error adds if one of the known names is near; else nothing."""
    from difflib import get_close_matches  # a slow import, for errors alone

    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def query_text(
    all: Sequence[str],
    any: Sequence[str] = (),
    none: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> str:
    """Return the components that a query asks for, in words."""
    parts = {"all of": all, "any of": any, "none of": none, "optional": optional}
    conditions = [f"{how} {format_list(names)}" for how, names in parts.items() if names]
    return "; ".join(conditions)


def format_bytes(nbytes: int) -> str:
    """Return a number of bytes as `512 B`, `5.0 KiB`."""
    if nbytes < 1024:
        return f"{nbytes} B"
    size, unit = nbytes / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f} {unit}"
