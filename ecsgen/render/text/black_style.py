"""Black's style: files that are in it as they were rendered, and black for all others.

Templates lay code out as black does, up to the places where a long name makes a line too long:
there black decides. So only files with such a line are left to it, as long as black and its line
length are the ones that the templates were written for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ecsgen.render.text.quoting import WIDTH

PINNED_BLACK = "26.10.1"
"""The version whose style templates are written in; tests hold them to it."""

_DOCSTRING = re.compile(rb'^ *""".*?"""$', re.MULTILINE | re.DOTALL)
_LONG = re.compile(rb"^.{%d,}$" % (WIDTH + 1), re.MULTILINE)
# What black leaves alone: a comment, a string that has its line to itself, and where breaking the
# line would part it from its word to the type checker.
_UNBREAKABLE = re.compile(rb'\s*(?:#.*|[bfr]?"[^"]*",?|[^"#]*  # type: ignore.*)')


@dataclass(frozen=True, slots=True)
class Style:
    """What formats modules: a version of black, and how long lines may be."""

    black: str
    line_length: int

    def is_formatted(self, text: bytes) -> bool:
        """Whether black is known to leave a rendered module as it is. O(characters)."""
        pinned = (self.black, self.line_length) == (PINNED_BLACK, WIDTH)
        return pinned and not _overflows(text)

    def apply(self, text: bytes) -> bytes:
        """Return what black makes of a module; ValueError for what is not Python."""
        # Only when something must be formatted: the import takes longer than a whole check.
        from black import format_str
        from black.mode import Mode, TargetVersion

        mode = Mode(line_length=self.line_length, target_versions={TargetVersion.PY311})
        return format_str(text.decode(), mode=mode).encode()


def _overflows(text: bytes) -> bool:
    """Whether a line of code is too long. No character is wider than its bytes are many."""
    if not _LONG.search(text):
        return False
    code = _DOCSTRING.sub(_last_line, text)
    return any(not _UNBREAKABLE.fullmatch(line) for line in _LONG.findall(code))


def _last_line(docstring: re.Match[bytes]) -> bytes:
    """The end of a docstring of several lines: black may put its quotes on the next one."""
    _, several, last = docstring.group().rpartition(b"\n")
    return last if several else b""
