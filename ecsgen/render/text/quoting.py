"""Quoting of schema text for generated code: docstrings, comments and literals, no other way."""

from __future__ import annotations

import json
import math
import re
import struct
import textwrap
from collections.abc import Callable
from typing import Any

from ecsgen.model import Default

WIDTH = 88
_JSON_PART = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^"\s])+\s?')
"""Up to a space outside of strings."""
_ESCAPE = re.compile(r"\\.")
_STAND_IN = re.compile(r"\\U(000104[0-4][0-9a-f])")


def docstring_text(text: str, width: int = WIDTH) -> str:
    """Return schema text that is safe inside a triple-quoted string: one wrapped paragraph.

    Control characters become spaces, backslashes and double quotes can neither end nor change it.
    """
    words = comment_text(text).replace("\\", "\\\\").replace('"', "'")
    return "\n".join(textwrap.wrap(words, width, break_on_hyphens=False, break_long_words=False))


def comment_text(text: str) -> str:
    """Return schema text that is safe after a `#`: a single line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def literal(value: Default) -> str:
    """Return a checked value as a Python literal, as black formats it."""
    return nested(value, _scalar)


def nested(value: Default, write: Callable[[Any], str]) -> str:
    """Return a value, or nested tuples of values, each as `write` writes it."""
    if not isinstance(value, tuple):
        return write(value)
    inner = ", ".join(nested(item, write) for item in value)
    return f"({inner},)" if len(value) == 1 else f"({inner})"


def _scalar(value: Default) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return _quoted(value) if isinstance(value, str | bytes) else repr(value)


def as_f32(number: float) -> float:
    """Return a number as a 32-bit float holds it."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded


def split_literal(text: str, indent: int) -> str:
    """Return text as a literal; a long text as one string per line."""
    line = literal(text)
    if indent + len(line) < WIDTH:
        return line
    parts = textwrap.wrap(
        text,
        WIDTH // 2,
        drop_whitespace=False,
        replace_whitespace=False,
        expand_tabs=False,
        break_on_hyphens=False,
    )
    return f"\n{' ' * indent}".join(map(literal, parts))


def json_literal(document: Any) -> str:
    """Return a JSON document as a literal of few lines: items of its first levels begin one.

    Line ends in strings are written as they are, which a reader has to allow (`strict=False`).
    """
    lines = list[str]()
    for item in _json_items(document, 3).split("\n"):
        lines.append("")
        for part in _JSON_PART.findall(item):
            if len(lines[-1]) + len(part.rstrip()) > WIDTH:
                lines.append("")
            lines[-1] += part
    text = _ESCAPE.sub(_line_end, "\n".join(map(str.rstrip, lines)))
    return f'r"""\n{text}\n"""'


def _line_end(escape: re.Match[str]) -> str:
    return "\n" if escape[0] == r"\n" else escape[0]


def _json_items(document: Any, depth: int) -> str:
    """Return JSON with a line for each item of so many levels."""
    if not depth or not isinstance(document, dict):
        return json.dumps(document, allow_nan=False)
    items = (f"{json.dumps(key)}: {_json_items(document[key], depth - 1)}" for key in document)
    return "{" + ",\n".join(items) + "}"


def _quoted(value: str | bytes) -> str:
    """Return the repr with double quotes unless that would need more escapes."""
    prefix, body = ("b", repr(value)[1:]) if isinstance(value, bytes) else ("", _ascii(value))
    inner = body[1:-1]
    if body.startswith("'") and inner.count('"') <= inner.count("'"):
        body = '"' + inner.replace("\\'", "'").replace('"', '\\"') + '"'
    return prefix + body


def _ascii(text: str) -> str:
    """Return a string's repr in ASCII, except stand-ins of names, which keep their length."""
    escaped = ascii(text)
    return _STAND_IN.sub(lambda letter: chr(int(letter[1], 16)), escaped)
