"""Diagnostics: errors and hints with a code, a position and a suggestion.

They are collected over a whole run, sorted by position and printed once. Nothing here knows YAML
or schemas.
"""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache

from ecsgen.marks import Mark


def quote(text: str, limit: int = 60) -> str:
    """Return schema text for a message: quoted, on one line, at most `limit` characters."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


@lru_cache(maxsize=4096)
def _closest(word: str, candidates: tuple[str, ...], cutoff: float) -> str:
    for candidate in candidates:
        if candidate.casefold() == word.casefold():
            return candidate
    close = difflib.get_close_matches(word, candidates, n=1, cutoff=cutoff)
    return close[0] if close else ""


def closest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the candidate that is most like `word`, or the empty string."""
    if not 0 < len(word) <= 64:
        return ""
    return _closest(word, tuple(candidates), cutoff)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """Return a hint that names the closest candidate, or the empty string."""
    candidate = closest(word, candidates)
    return f"did you mean {quote(candidate)}?" if candidate else ""


def hint_at_comma(diagnostics: Diagnostics, mark: Mark) -> str:
    """Return a hint if a comma seems to have ended a plain text too early, else ""."""
    line, first = diagnostics.line(mark) or "", mark.column - 1
    last = first + mark.length
    text = line[first:last]
    is_beside_comma = line[:first].rstrip().endswith(",") or line[last:].lstrip().startswith(",")
    if text[:1] in "'\"" or not is_beside_comma or text.count("(") == text.count(")"):
        return ""
    return "inside [ ] and { } a comma ends a text: put this one in quotes, or outside below `|`"


_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """An error or a hint. A mark with line 0 stands for the file as a whole."""

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
    """Collection of diagnostics, true if it has errors; iterates by file, line and column."""

    def __init__(self) -> None:
        self._found: dict[Diagnostic, None] = {}  # equal diagnostics are kept once
        self._sources: dict[str, str] = {}
        self._code = ""

    def add(self, code: str, message: str, mark: Mark, *, hint: str = "") -> None:
        self._found[Diagnostic(self._code or code, message, mark, hint)] = None

    def all_as(self, code: str) -> Diagnostics:
        """Return a view of this collection that gives every added diagnostic this code."""
        other = self.without_entries()
        other._found, other._code = self._found, code
        return other

    def add_source(self, path: str, text: str) -> None:
        """Remember a file's text, to show its lines."""
        self._sources[path] = text

    def without_entries(self) -> Diagnostics:
        """Return an empty collection that knows the same files."""
        other = Diagnostics()
        other._sources = self._sources
        return other

    def line(self, mark: Mark) -> str | None:
        """Return the source line of a mark, or None."""
        text = self._sources.get(mark.path)
        lines = [] if text is None else split_lines(text)
        return lines[mark.line - 1] if 0 < mark.line <= len(lines) else None

    @property
    def errors(self) -> list[Diagnostic]:
        """Diagnostics that stop a build, in order."""
        return [diagnostic for diagnostic in self if diagnostic.severity == "error"]

    def __iter__(self) -> Iterator[Diagnostic]:
        def sort_key(diagnostic: Diagnostic) -> tuple[str, int, int, str, str]:
            return diagnostic.mark.path, *diagnostic.mark.start, diagnostic.code, diagnostic.message

        return iter(sorted(self._found, key=sort_key))

    def __len__(self) -> int:
        return len(self._found)

    def __bool__(self) -> bool:
        return any(diagnostic.severity == "error" for diagnostic in self._found)


@lru_cache(maxsize=4)  # diagnostics of one file are printed together
def split_lines(text: str) -> list[str]:
    """Return lines as YAML counts them: `str.splitlines` also breaks at form feeds."""
    return _BREAK.split(text)


_WINDOW = 120  # characters of a source line that are shown


def format_text(diagnostics: Diagnostics) -> str:
    """Return text for people: position, message, source line and a caret under the text."""
    return "".join(_text_entry(diagnostics, diagnostic) for diagnostic in diagnostics)


def _text_entry(diagnostics: Diagnostics, entry: Diagnostic) -> str:
    mark = entry.mark
    location = f"{mark.path}:{mark.line}:{mark.column}" if mark.line else mark.path
    head = f"{printable(location)}: {entry.severity}[{entry.code}]: {printable(entry.text)}\n"
    line = diagnostics.line(mark)
    if line is None:
        return head
    shown, start = _window(line, mark.column - 1)
    length = max(1, min(mark.length, len(shown) - start))
    return f"{head}{printable(shown)}\n{_caret(shown, start, length)}\n"


def _window(line: str, start: int) -> tuple[str, int]:
    """Return the part of a long line around `start`, and the index of `start` in it."""
    if len(line) <= _WINDOW:
        return line, start
    first = max(0, min(start - _WINDOW // 3, len(line) - _WINDOW))
    shown = line[first : first + _WINDOW]
    if first:
        shown = "…" + shown[1:]
    if first + _WINDOW < len(line):
        shown = shown[:-1] + "…"
    return shown, start - first


def _caret(line: str, start: int, length: int) -> str:
    # A tab stays a tab, so that the caret lines up whatever the terminal's tab stops are.
    before = "".join("\t" if char == "\t" else " " * _width(char) for char in line[:start])
    width = sum(_width(char) for char in line[start : start + length])
    return before + "^" + "~" * (width - 1)


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def printable(text: str, but: str = "\t") -> str:
    """Return text without control characters, except those in `but`."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in but else "�" for char in text)


def format_json(diagnostics: Diagnostics) -> str:
    """Return a JSON array of objects, one on each line."""
    keys = ("severity", "code", "message", "hint")
    entries = [
        json.dumps(asdict(diagnostic.mark) | {key: getattr(diagnostic, key) for key in keys})
        for diagnostic in diagnostics
    ]
    return "[\n" + ",\n".join(entries) + "\n]\n" if entries else "[]\n"


def format_github(diagnostics: Diagnostics) -> str:
    """Return workflow commands for GitHub Actions, one per diagnostic."""
    return "".join(_workflow_command(diagnostic) for diagnostic in diagnostics)


def _workflow_command(diagnostic: Diagnostic) -> str:
    mark = diagnostic.mark
    properties = {"file": mark.path}
    if mark.line:
        properties["line"] = str(mark.line)
        properties["col"] = str(mark.column)
        properties["endColumn"] = str(mark.column + max(1, mark.length))
    properties["title"] = diagnostic.code
    escaped = (_escape_data(text).replace(":", "%3A") for text in properties.values())
    pairs = zip(properties, escaped, strict=True)
    listed = ",".join(f"{name}={text.replace(',', '%2C')}" for name, text in pairs)
    command = "error" if diagnostic.severity == "error" else "notice"
    return f"::{command} {listed}::{_escape_data(diagnostic.text)}\n"


def _escape_data(text: str) -> str:
    text = printable(text, but="\t\r\n")
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
