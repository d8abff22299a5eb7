"""Tabs where YAML readers disagree about them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

_SIGN: Final = re.compile(r"[\t#]")
_LINE: Final = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|\Z)")


class Span(NamedTuple):
    """Where a scalar stands in the text."""

    start: int
    end: int
    plain: bool  # neither quoted nor a text block


def stray_tabs(text: str, scalars: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Line and column of the first tab of each line that is not inside quotes, a text block or a
    comment. `scalars` are in order and do not overlap. O(length of the text)."""
    starts = [span.start for span in scalars]

    def scalar_at(index: int) -> Span | None:
        found = bisect_right(starts, index) - 1
        return scalars[found] if found >= 0 and index < scalars[found].end else None

    for number, line in enumerate(_LINE.finditer(text), start=1):
        for sign in _SIGN.finditer(text, *line.span(1)):
            span = scalar_at(sign.start())
            if span is None and sign[0] == "#":
                break
            if sign[0] == "\t" and (span is None or span.plain):
                yield number, sign.start() - line.start() + 1
                break
