"""Where the source shows the characters of a scalar."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Mark

_NUMBERED: Final = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})")
_NAMED: Final = dict(
    zip('0abtnvfre"/\\N_LP ', '\0\a\b\t\n\v\f\r\x1b"/\\\x85\xa0\u2028\u2029 ', strict=True)
)


class Place(NamedTuple):
    """A line, and the columns from 1 that a character takes in it."""

    line: int
    column: int
    end: int


def shown(content: str, mark: Mark, diagnostics: Diagnostics) -> dict[int, Place]:
    """Return the places of a scalar's characters by index, white space aside.

    Plain, quoted and block scalars differ in their white space, in what stands before them and in
    how they spell a character.
    """
    found: dict[int, Place] = {}
    line, column = mark.line, mark.column - 1
    text = diagnostics.line(mark)
    if text is None:
        return found
    quote = text[column : column + 1]
    if quote in ("|", ">"):
        line, column = line + 1, 0
    elif quote in ("'", '"'):
        column += 1
    for index, character in enumerate(content):
        if character.isspace():
            continue
        while (text := diagnostics.line(Mark(mark.path, line, 1))) is not None:
            spelled, width = _spelled(text, column, quote)
            if spelled.strip():
                break
            line, column = (line, column + width) if column < len(text) else (line + 1, 0)
        if text is None or spelled != character:
            break
        found[index] = Place(line, column + 1, column + 1 + width)
        column += width
    return found


def _spelled(text: str, column: int, quote: str) -> tuple[str, int]:
    """Return the character that stands in a line at a column, if any, and how many it takes."""
    if quote == "'" and text.startswith("''", column):
        return "'", 2
    if quote != '"' or text[column : column + 1] != "\\":
        return text[column : column + 1], 1
    numbered = _NUMBERED.match(text, column)
    if numbered:
        return chr(int(text[column + 2 : numbered.end()], 16)), numbered.end() - column
    return _NAMED.get(text[column + 1 : column + 2], ""), 2  # at the end of a line: nothing
