"""The shape of a piece of Python: what black's verdict on it depends on, and no more.

black looks at tokens, empty lines and comments, and at whether a line fits; which name, number or
word stands in a line that fits is nothing to it. So of two pieces of one shape black changes both
or neither, and of a thousand managers with the same policies it has to see one.

A statement of one line that fits loses the lengths of its names. One of several lines keeps them:
there black weighs how long each part is. A docstring that gives no reason to touch it loses its
words. Whatever is not understood here stays as it is, which only makes a shape rarer.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b

_TOKEN = re.compile(
    r"""[A-Za-z]{0,2}(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')  # a string of one line
    | \#.*
    | [^\W\d]\w*  # a name
    | \d[\w.]*""",
    re.VERBOSE,
)
_SYNTAX = frozenset([*keyword.kwlist, *keyword.softkwlist, "exec", "print"])
# Strings and comments that black takes as they are, and numbers.
_PLAIN_STRING = re.compile(r"([bfr]?)\"[^\"'\\\s](?:[^\"'\\]*[^\"'\\\s])?\"")
_PLAIN_COMMENT = re.compile(r"# [^\W\d_](?:[^:]*[^:\s])?")  # `# type:` and the like have colons
_PLAIN_NUMBER = re.compile(r"(?:0|[1-9]\d*)(?:\.\d+)?")
_QUOTES = '"""'
_CACHED_LINES = 1 << 16


def digest(piece: str, limit: int) -> str:
    """The digest of a piece's shape where lines have up to `limit` columns: 16 hex digits."""
    return blake2b(shape(piece, limit).encode(), digest_size=8).hexdigest()


def shape(piece: str, limit: int) -> str:
    """The piece without what black does not look at. O(characters)."""
    if "'''" in piece or "\\\n" in piece:
        return piece
    try:
        return "\n".join(_shapes(iter(piece.split("\n")), limit))
    except _UnclearError:
        return piece


class _UnclearError(Exception):
    """The piece has something that only black can judge."""


def _shapes(lines: Iterator[str], limit: int) -> Iterator[str]:
    for line in lines:
        if line.lstrip(" ").startswith(_QUOTES):
            yield _docstring(line, lines, limit)
            continue
        brackets = _brackets(line)
        if brackets or not _fits(line, limit):
            yield _measured(line)
            yield from _rest(brackets, lines)
        else:
            yield _unmeasured(line)


def _rest(brackets: int, lines: Iterator[str]) -> Iterator[str]:
    """The lines of a statement behind its first, until its brackets are closed."""
    while brackets > 0:
        line = next(lines, None)
        if line is None:
            raise _UnclearError
        brackets += _brackets(line)
        yield _measured(line)
    if brackets < 0:
        raise _UnclearError


def _docstring(first: str, lines: Iterator[str], limit: int) -> str:
    """A docstring's shape: where its quotes stand; the whole if black might touch it."""
    found = [first]
    while found[-1].count(_QUOTES) + (len(found) > 1) < 2:
        line = next(lines, None)
        if line is None:
            raise _UnclearError
        found.append(line)
    indent = " " * (len(first) - len(first.lstrip(" ")))
    whole = "\n".join(found)
    if "\\" in whole or not whole.endswith(_QUOTES):
        raise _UnclearError
    fits = all(_fits(line, limit) for line in found)
    if not (fits and _is_plain(whole[len(indent) :]) and _is_aligned(found, indent)):
        return whole
    own_line = found[-1].strip() == _QUOTES
    return f"{indent}{_QUOTES}{'lines' if len(found) > 1 else 'line'}{own_line}{_QUOTES}"


def _is_plain(words: str) -> bool:
    """Whether a string with its quotes begins and ends with words, and nothing in it is special."""
    inner = words[3:-3]
    return (
        _QUOTES not in inner
        and inner.replace("\n", "").isprintable()
        and inner[:1] not in ("", " ", "\n", '"')
        and inner.rstrip()[-1:] != '"'
        and (inner[-1] not in " \n" or re.search(r"[^\n]\n *\Z", inner) is not None)
    )


def _is_aligned(lines: list[str], indent: str) -> bool:
    """Whether the words begin at the indent and lines have no trailing spaces."""
    words = lines[1:]
    closes_alone = bool(words) and words[-1].strip() == _QUOTES
    if closes_alone and words.pop() != indent + _QUOTES:
        return False
    depths = [len(line) - len(line.lstrip(" ")) for line in words if line]
    return min(depths, default=len(indent)) == len(indent) and not any(
        line.endswith(" ") for line in lines
    )


def _fits(line: str, limit: int) -> bool:
    return len(line.encode()) <= limit  # no character is wider than its bytes are many


@lru_cache(_CACHED_LINES)
def _brackets(line: str) -> int:
    """How many brackets a line opens more than it closes."""
    if _QUOTES in line:
        raise _UnclearError
    code = _TOKEN.sub("", line)
    if "'" in code or '"' in code:  # a string that does not end here
        raise _UnclearError
    return sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))


@lru_cache(_CACHED_LINES)
def _unmeasured(line: str) -> str:
    return _TOKEN.sub(_any_length, line)


def _any_length(match: re.Match[str]) -> str:
    token = match.group()
    if string := _PLAIN_STRING.fullmatch(token):
        return f'{string[1]}"s"'
    if _PLAIN_NUMBER.fullmatch(token):
        return "0"
    if _PLAIN_COMMENT.fullmatch(token) and token.isprintable():
        return "# c"
    return "n" if token.isidentifier() and token not in _SYNTAX else token


@lru_cache(_CACHED_LINES)
def _measured(line: str) -> str:
    return _TOKEN.sub(_same_length, line) if line.isascii() else line


def _same_length(match: re.Match[str]) -> str:
    token = match.group()
    return "n" * len(token) if token.isidentifier() and token not in _SYNTAX else token
