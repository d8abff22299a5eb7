"""What is wrong: diagnostics with their places, collected and sorted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ecsgen.diagnostics.codes import CODES
from ecsgen.model import Mark

_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to tell. A mark with line 0 stands for the file as a whole."""

    code: str
    message: str
    mark: Mark
    hint: str = ""

    @property
    def severity(self) -> str:
        """`error`, or `hint` for what does not stop a build."""
        return "error" if self.code.startswith("E") else "hint"

    @property
    def text(self) -> str:
        """The message with its hint, on one line."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class Diagnostics:
    """Collects diagnostics; true when there are errors. Iterates in order of file, line, column."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}  # the same thing is told once
        self._sources: dict[str, str] = {}
        self._lines: dict[str, list[str]] = {}

    def add(self, code: str, message: str, mark: Mark, *, hint: str = "") -> None:
        """Report `message` at `mark`. KeyError for a code that is not in the list of codes."""
        CODES[code]
        self._found[Diagnostic(code, message, mark, hint)] = None

    def add_source(self, path: str, text: str) -> None:
        """Remember a file's text, to show its lines."""
        self._sources[path] = text
        self._lines.pop(path, None)

    def emptied(self) -> Diagnostics:
        """Return a collection without any, that knows the same files."""
        other = Diagnostics()
        other._sources = self._sources
        return other

    def line(self, mark: Mark) -> str | None:
        """The source line of a mark, or None where there is none."""
        lines = self._lines.get(mark.path)
        if lines is None:
            if mark.path not in self._sources:
                return None
            lines = self._lines[mark.path] = split_lines(self._sources[mark.path])
        return lines[mark.line - 1] if 0 < mark.line <= len(lines) else None

    @property
    def errors(self) -> list[Diagnostic]:
        """What stops a build, in order."""
        return [found for found in self if found.severity == "error"]

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self._found, key=_place))

    def __len__(self) -> int:
        return len(self._found)

    def __bool__(self) -> bool:
        return any(found.severity == "error" for found in self._found)


def split_lines(text: str) -> list[str]:
    """Lines as YAML counts them, and no others: `str.splitlines` also breaks at form feeds."""
    return _BREAK.split(text)


def _place(found: Diagnostic) -> tuple[str, int, int, str, str]:
    mark = found.mark
    return mark.path, mark.line, mark.column, found.code, found.message
