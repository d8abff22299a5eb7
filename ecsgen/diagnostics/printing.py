"""Diagnostics as text for people, as JSON, and as GitHub's workflow commands."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import asdict

from ecsgen.diagnostics import Diagnostic, Diagnostics

_WINDOW = 120  # characters of a source line that are shown


def format_text(diagnostics: Diagnostics) -> str:
    """For people: place, message, the source line and a caret under the exact text."""
    return "".join(_text_entry(diagnostics, found) for found in diagnostics)


def _text_entry(diagnostics: Diagnostics, found: Diagnostic) -> str:
    mark = found.mark
    place = f"{mark.path}:{mark.line}:{mark.column}" if mark.line else mark.path
    head = f"{_printable(place)}: {found.severity}[{found.code}]: {_printable(found.text)}\n"
    line = diagnostics.line(mark)
    if line is None:
        return head
    shown, start = _window(line, mark.column - 1)
    length = max(1, min(mark.length, len(shown) - start))
    return f"{head}{_printable(shown)}\n{_caret(shown, start, length)}\n"


def _window(line: str, start: int) -> tuple[str, int]:
    """The part of a long line around `start`, and where `start` is in it."""
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


def _printable(text: str) -> str:
    """Without characters that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else "�" for char in text)


def format_json(diagnostics: Diagnostics) -> str:
    """For machines: a JSON array of objects, one on each line."""
    entries = [
        json.dumps(
            {
                **asdict(found.mark),
                "severity": found.severity,
                "code": found.code,
                "message": found.message,
                "hint": found.hint,
            }
        )
        for found in diagnostics
    ]
    return "[\n" + ",\n".join(entries) + "\n]\n" if entries else "[]\n"


def format_github(diagnostics: Diagnostics) -> str:
    """For GitHub Actions: one workflow command per diagnostic."""
    return "".join(_workflow_command(found) for found in diagnostics)


def _workflow_command(found: Diagnostic) -> str:
    mark = found.mark
    properties = {"file": mark.path}
    if mark.line:
        properties["line"] = str(mark.line)
        properties["col"] = str(mark.column)
        properties["endColumn"] = str(mark.column + max(1, mark.length))
    properties["title"] = found.code
    listed = ",".join(f"{name}={_escape_property(value)}" for name, value in properties.items())
    command = "error" if found.severity == "error" else "notice"
    return f"::{command} {listed}::{_escape_data(found.text)}\n"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
