"""Black's style: most files are rendered in it, black formats the others.

Templates lay code out as black does, except where a long name makes a line too long. So black only
formats files with such a line, if its version and line length are those of the templates.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ecsgen.render.text.quoting import WIDTH

PINNED_BLACK = "26.10.1"
"""Version of black that templates are written for; tests check them."""

_DOCSTRING = re.compile(rb'^ *""".*?"""$', re.MULTILINE | re.DOTALL)
_LONG = re.compile(rb"^.{%d,}$" % (WIDTH + 1), re.MULTILINE)
# black does not break comments, strings on a line of their own, and lines with `type: ignore`
_UNBREAKABLE = re.compile(rb'\s*(?:#.*|[bfr]?"[^"]*",?|[^"#]*  # type: ignore.*)')


@dataclass(frozen=True, slots=True)
class Style:
    """Version of black and line length that modules are formatted with."""

    black: str
    line_length: int

    def is_formatted(self, text: bytes) -> bool:
        """Check that black would leave a rendered module as it is. O(characters)."""
        pinned = (self.black, self.line_length) == (PINNED_BLACK, WIDTH)
        return pinned and not _overflows(text)

    def apply(self, text: bytes) -> bytes:
        """Return a module as black formats it; ValueError if it is not Python."""
        # imported only when something must be formatted: it takes longer than a check
        from black import format_str
        from black.mode import Mode, TargetVersion

        mode = Mode(line_length=self.line_length, target_versions={TargetVersion.PY311})
        return format_str(text.decode(), mode=mode).encode()


def _overflows(text: bytes) -> bool:
    """Check that a line of code is too long: none is if all have few enough bytes."""
    if not _LONG.search(text):
        return False
    code = _DOCSTRING.sub(_last_line, text)
    return any(not _UNBREAKABLE.fullmatch(line) for line in _LONG.findall(code))


def _last_line(docstring: re.Match[bytes]) -> bytes:
    """Return the last line of a long docstring: black may move its quotes to the next."""
    _, several, last = docstring.group().rpartition(b"\n")
    return last if several else b""
