"""black on a module piece by piece, each distinct piece once.

black is by far the slowest part of a build, and managers with the same policies share most of their
methods. Its lines are formatted independently of each other, and between two definitions it wants
exactly so many empty lines. So a module can be cut where it has exactly these, and the pieces be
formatted alone: the result is black's on the whole, which tests hold it to. Where a cut was no good
(it went through a string, say), a piece does not parse, and the whole is formatted at once.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

Format = Callable[[str], str]

_BEFORE_TOP = "\n\n\n"
_BEFORE_METHOD = "\n\n"
_CUT = re.compile(
    rf"(?<=[^\n]){_BEFORE_TOP}(?=@|class |def |async def )"
    rf"|(?<=[^\n]){_BEFORE_METHOD}(?=    (?:@|def |async def ))"
)
_AROUND_METHOD = "class _:\n"


class PieceFormatter:
    """Formats modules as `format` does, remembering the pieces that it has seen."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._seen: dict[str, str] = {}

    def __call__(self, source: str) -> str:
        """The formatted module. Raises what `format` raises for what is not Python."""
        if "# fmt:" in source:  # reaches across pieces
            return self._format(source)
        try:
            ast.parse(source)  # pieces that are Python make no module yet
            return "".join(self._pieces(source))
        except (SyntaxError, ValueError):  # black.InvalidInput is a ValueError
            return self._format(source)

    def _pieces(self, source: str) -> Iterator[str]:
        start, is_method = 0, False
        for cut in _CUT.finditer(source):
            # With its line end: what black leaves as it is, it need not look at twice.
            yield self._piece(source[start : cut.start() + 1], is_method)
            yield cut.group()[1:]
            start, is_method = cut.end(), cut.group() == _BEFORE_METHOD
        yield self._piece(source[start:], is_method)

    def _piece(self, piece: str, is_method: bool) -> str:
        formatted = self._seen.get(piece)
        if formatted is None:
            formatted = self._format_method(piece) if is_method else self._format(piece)
            self._seen[piece] = formatted
        return formatted

    def _format_method(self, piece: str) -> str:
        formatted = self._format(_AROUND_METHOD + piece)
        if not formatted.startswith(_AROUND_METHOD):
            raise ValueError("not a method")
        return formatted.removeprefix(_AROUND_METHOD)
