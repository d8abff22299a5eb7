"""black on a module piece by piece, and only on pieces whose shape is new.

black is by far the slowest part of a build, and managers with the same policies share most of their
methods. Its lines are formatted independently of each other, and between two definitions it wants
exactly so many empty lines. So a module can be cut where it has exactly these, and the pieces be
formatted alone: the result is black's on the whole, which tests hold it to. Where a cut was no good
(it went through a string, say), a piece does not parse, and the whole is formatted at once.

A piece is left to black only if its shape (see `ecsgen.shapes`) is not yet known to be in style.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ecsgen import shapes

Format = Callable[[str], str]

_BEFORE_TOP = "\n\n\n"
_BEFORE_METHOD = "\n\n"
_CUT = re.compile(
    rf"(?<=[^\n]){_BEFORE_TOP}(?=@|class |def |async def )"
    rf"|(?<=[^\n]){_BEFORE_METHOD}(?=    (?:@|def |async def ))"
)
_AROUND_METHOD = "class _:\n"
_UNINDENTED = re.compile(r"^[^\s#].*", re.MULTILINE)


class Piece(NamedTuple):
    """A part of a module, with its line end; what follows is the rest of the gap."""

    text: str
    is_method: bool
    gap: str

    @property
    def alone(self) -> str:
        """The piece as a module of its own."""
        return _AROUND_METHOD + self.text if self.is_method else self.text


class PieceFormatter:
    """Formats modules as `format` does, remembering the pieces that it has seen.

    `stable` are digests of shapes that are known to be as `format` leaves them.
    """

    def __init__(self, format: Format, line_length: int, stable: Iterable[str] = ()) -> None:
        self._format = format
        self._line_length = line_length
        self._stable = set(stable)
        self._seen: dict[str, str] = {}

    def __call__(self, source: str, earlier: Callable[[], str] | None = None) -> str:
        """The formatted module. Raises what `format` raises for what is not Python.

        `earlier` reads a module that `format` made, whose pieces are likely to be in this one too;
        it is called when there are pieces of unknown shape.
        """
        if "# fmt:" in source:  # reaches across pieces
            return self._format(source)
        pieces = list(cut(source))
        if _has_classes_around_methods(pieces):
            if all(map(self._is_stable, pieces)):
                return source
            if earlier:
                self._learn(earlier())
                if all(map(self._is_stable, pieces)):
                    return source
        try:
            ast.parse(source)  # pieces that are Python make no module yet
            return "".join(self._formatted(piece) + piece.gap for piece in pieces)
        except (SyntaxError, ValueError):  # black.InvalidInput is a ValueError
            return self._format(source)

    def _learn(self, formatted: str) -> None:
        if "# fmt:" not in formatted:
            self._stable.update(map(self._digest, cut(formatted)))

    def _is_stable(self, piece: Piece) -> bool:
        known = self._seen.get(piece.alone)
        if known is None and self._digest(piece) in self._stable:
            self._seen[piece.alone] = known = piece.text
        return known == piece.text

    def _formatted(self, piece: Piece) -> str:
        if self._is_stable(piece):
            return piece.text
        formatted = self._seen.get(piece.alone)
        if formatted is None:
            formatted = self._format(piece.alone)
            if piece.is_method:
                if not formatted.startswith(_AROUND_METHOD):
                    raise ValueError("not a method")
                formatted = formatted.removeprefix(_AROUND_METHOD)
            self._seen[piece.alone] = formatted
            if formatted == piece.text:
                self._stable.add(self._digest(piece))
        return formatted

    def _digest(self, piece: Piece) -> str:
        return shapes.digest(piece.alone, self._line_length)


def cut(source: str) -> Iterator[Piece]:
    """The module's pieces: texts and gaps in a row are the module again."""
    start, is_method = 0, False
    for found in _CUT.finditer(source):
        # With its line end: what black leaves as it is, it need not look at twice.
        yield Piece(source[start : found.start() + 1], is_method, found.group()[1:])
        start, is_method = found.end(), found.group() == _BEFORE_METHOD
    yield Piece(source[start:], is_method, "")


def _has_classes_around_methods(pieces: list[Piece]) -> bool:
    """Whether all methods are seen to stand in classes, so that the pieces make a module."""
    in_class = False
    for piece in pieces:
        if piece.is_method and not in_class:
            return False
        for line in _UNINDENTED.findall(piece.text):
            in_class = line.startswith("class ") and line.endswith(":")
    return True
