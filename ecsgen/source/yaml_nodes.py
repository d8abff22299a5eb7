"""Schema text to nodes with line and column.

YAML 1.2 reading of plain data: keys are strings, only `true` and `false` are booleans, nothing is
shared, tagged or there twice. Every limit is checked before anything grows with the input.

Events are turned into nodes in one pass, without a loader: a loader recurses, resolves YAML 1.1
words and expands aliases.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import yaml
from yaml import events

from ecsgen.diagnostics import Diagnostics, quote, split_lines
from ecsgen.model import Mark
from ecsgen.source.regular_files import (
    MAX_BYTES,
    NotRegularFileError,
    TooLargeError,
    read_regular_file,
)

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Node", "Plain", "Scalar", "parse", "read"]

Scalar: TypeAlias = bool | int | float | str | None

MAX_DIGITS: Final = 400  # more than any number that fits a field, less than int() refuses

_WORDS: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMERIC_START: Final = frozenset("+-.0123456789")
# `012` is octal to some readers and twelve to others, so it is no number here.
_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEADING_ZERO: Final = re.compile(r"[-+]?0[0-9]+")
_SPECIAL: Final = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def resolve(text: str) -> Scalar:
    """Return the value of a plain scalar. Raises OverflowError for a number that fits no field."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in _NUMERIC_START:
        return text
    if _WHOLE.fullmatch(text):
        _check_digits(text)
        return int(text, 0)
    if _FLOAT.fullmatch(text) and not _LEADING_ZERO.fullmatch(text):
        _check_digits(text)
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise OverflowError("the number is too large for any float")
        return number
    if special := _SPECIAL.fullmatch(text):
        return float("nan") if special[3] else float(special[1] + "inf")
    return text


def _check_digits(text: str) -> None:
    if len(text) > MAX_DIGITS:
        raise OverflowError(f"a number of {len(text)} digits is too large for any field")


MAX_DEPTH: Final = 32

Plain: TypeAlias = "Scalar | list[Plain] | dict[str, Plain]"


@dataclass(slots=True)
class Node:
    """A value and its mark. `keys` has the marks of a mapping's keys; `complete` is False if a part
    was rejected: missing keys are then not reported."""

    value: Scalar | list[Node] | dict[str, Node]
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)
    complete: bool = True

    def plain(self) -> Plain:
        """Return the value without marks. The depth is limited by MAX_DEPTH."""
        value = self.value
        if isinstance(value, dict):
            return {key: node.plain() for key, node in value.items()}
        if isinstance(value, list):
            return [node.plain() for node in value]
        return value

    def at(self, *path: str | int) -> Node | None:
        """Return the node at a path of keys and indices, or None."""
        node = self
        for step in path:
            value = node.value
            if isinstance(value, dict) and step in value:
                node = value[str(step)]
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                node = value[step]
            else:
                return None
        return node

    def marks(self, path: str = "") -> Iterator[tuple[str, Mark]]:
        """Yield the marks of the value and of all values in it, by their paths: `steps.0`; of those
        that are not complete `steps.…` as well."""
        yield path, self.mark
        begin = f"{path}." if path else ""
        if not self.complete:
            yield f"{begin}…", self.mark
        value = self.value
        parts = dict(enumerate(value)) if isinstance(value, list) else value
        for step, node in parts.items() if isinstance(parts, dict) else ():
            yield from node.marks(f"{begin}{step}")


class Span(NamedTuple):
    """The offsets of a scalar in the text."""

    start: int
    end: int
    plain: bool  # neither quoted nor a text block


def stray_tabs(text: str, scalars: Sequence[Span]) -> Iterator[tuple[int, int]]:
    """Yield line and column of the first tab of each line that is not inside quotes, a text block
    or a comment. `scalars` are in order and do not overlap. O(length of the text)."""
    parts, done = list[str](), 0
    for start, end, is_plain in scalars:
        content = text[start:end].replace("#", "_")  # begins no comment
        parts += text[done:start], content if is_plain else content.replace("\t", " ")
        done = end
    for number, line in enumerate(split_lines("".join([*parts, text[done:]])), start=1):
        column = line.partition("#")[0].find("\t")
        if column >= 0:
            yield number, column + 1


MAX_NODES: Final = 100_000

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PROPERTY: Final = re.compile(r"[&*!][^\s,\[\]{}]*")
_TYPE_WITH_SHAPE: Final = re.compile(r"[a-z0-9>]\[")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][\w<>\[\]. -]*")
KINDS: Final = ("component", "enum", "world")
_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
_SCANNER_GAVE_UP: Final = "exceeded maximum nesting depth"  # libyaml, from 0.2.6 on
_COLON: Final = "put a text that holds a colon and a space in quotes"
_COLUMN: Final = "all keys of a mapping begin in the same column"
_TABS: Final = "tabs may stand only inside quotes, text blocks and comments"

_BEST_LOADER: Final[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

# PyYAML's parsers, events and marks have no types of their own that hold for both of its parsers.
_Event = Any
_Position = Any


class _StopReadingError(Exception):
    """A limit is reached: the rest of the file is not read."""


class Builder:
    """Builder of the documents of one text."""

    def __init__(self, text: str, path: str, diagnostics: Diagnostics) -> None:
        self._text = text
        self._path = path
        self._diagnostics = diagnostics
        self._lines = split_lines(text)
        self._nodes = 0
        self._documents: list[Node] = []
        self._scalars: list[Span] = []  # kept only when there are tabs to judge
        self._has_tabs = "\t" in text
        self._next: Callable[[], _Event] = lambda: None

    def documents(self, pure: bool) -> list[Node]:
        """Return the documents up to the first syntax error; `pure` as in `parse`."""
        parser: Any = (yaml.BaseLoader if pure else _BEST_LOADER)(self._text)
        self._next = parser.get_event
        try:
            self._build()
            if self._has_tabs:
                for line, column in stray_tabs(self._text, self._scalars):
                    self._add("E215", _TABS, Mark(self._path, line, column), "use spaces")
        except _StopReadingError:
            pass
        except yaml.MarkedYAMLError as error:
            self._report_syntax(error)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            # The pure parser hands an escape such as "\UFFFFFFFF" to chr().
            self._add("E205", f"not valid YAML: {error}", Mark(self._path, 1, 1))
        finally:
            parser.dispose()
        return self._documents

    def _build(self) -> None:
        while (event := self._next()) is not None:
            if type(event) is events.DocumentStartEvent:
                if event.version not in (None, (1, 2)) or event.tags:
                    mark = self._mark(event.start_mark, event.end_mark)
                    self._add("E214", "only the directive '%YAML 1.2' is allowed", mark)
                first = self._next()
                start, end = first.start_mark, first.end_mark
                node = self._node(first, 0)
                is_empty = type(first) is events.ScalarEvent and start.index == end.index
                if node is not None and not is_empty:
                    self._documents.append(node)

    def _node(self, event: _Event, depth: int) -> Node | None:
        """Return the value that begins with an event, read to its end; None for a rejected one."""
        if type(event) is events.AliasEvent:
            self._refuse_property("E208", "aliases are not part of the schema language", event)
            return None
        if type(event) is events.ScalarEvent:
            return self._value(event)
        self._count(event)
        mark = self._mark(event.start_mark, event.end_mark)
        if depth >= MAX_DEPTH:
            self._add("E206", _TOO_DEEP, mark)
            raise _StopReadingError
        entries: dict[str, Node] = {}
        items: list[Node] = []
        node = Node(entries if type(event) is events.MappingStartEvent else items, mark)
        while type(part := self._next()) not in (events.MappingEndEvent, events.SequenceEndEvent):
            if node.value is entries:
                key = self._key(part, node.keys, depth + 1)
                value = self._node(self._next(), depth + 1)
                if key is not None and value is not None:
                    entries[key] = value
                    continue
                if key is not None:
                    del node.keys[key]
            elif (item := self._node(part, depth + 1)) is not None:
                items.append(item)
                continue
            node.complete = False
        node.mark = self._mark(event.start_mark, part.end_mark)
        return node

    def _count(self, event: _Event) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            mark = self._mark(event.start_mark, event.end_mark)
            self._add("E207", f"the file has more than {MAX_NODES} values", mark)
            raise _StopReadingError
        if event.anchor is not None:
            self._refuse_property("E208", "anchors are not part of the schema language", event)
        if event.tag is not None:
            self._refuse_property("E210", "tags are not part of the schema language", event)

    def _scalar(self, event: _Event) -> tuple[str, Mark]:
        """Return the text of a scalar, and its mark."""
        self._count(event)
        start, end = event.start_mark, event.end_mark
        text: str = event.value
        if self._has_tabs:
            self._scalars.append(Span(start.index, end.index, not event.style))
        mark = self._mark(start, end)
        if not text.isascii() and _SURROGATE.search(text):
            self._add("E204", "half of a surrogate pair is not a character", mark)
            text = _SURROGATE.sub("\ufffd", text)
        return text, mark

    def _value(self, event: _Event) -> Node | None:
        text, mark = self._scalar(event)
        try:
            return Node(text if event.style else resolve(text), mark)
        except OverflowError as error:
            self._add("E213", str(error), mark)
            return None

    def _key(self, event: _Event, keys: dict[str, Mark], depth: int) -> str | None:
        """Return a key, and add its mark to `keys`; None for a rejected one."""
        if type(event) is not events.ScalarEvent:
            if (node := self._node(event, depth)) is not None:
                self._add("E212", "a key must be text, not a collection", node.mark)
            return None
        text, mark = self._scalar(event)
        if not event.style and text == "<<":
            self._add("E209", "merge keys are not part of the schema language", mark)
        elif not event.style and not text:
            self._add("E212", "the key is empty", mark)
        elif text in keys:
            message = f"the key {quote(text)} is here twice; it is already on line"
            is_kind = depth == 1 and text in KINDS
            hint = "write --- before it: each component is a document of its own" if is_kind else ""
            self._add("E211", f"{message} {keys[text].line}", mark, hint)
        else:
            keys[text] = mark
            return text
        return None

    def _refuse_property(self, code: str, message: str, event: _Event) -> None:
        mark = self._mark(event.start_mark, event.end_mark)
        if match := _PROPERTY.match(self._text, event.start_mark.index):
            mark = Mark(mark.path, mark.line, mark.column, len(match[0]))
        self._add(code, message, mark)

    def _mark(self, start: _Position, end: _Position) -> Mark:
        """Return the mark from start to end, or to the end of the first line."""
        line, column = start.line, start.column
        if end.line == line:
            return Mark(self._path, line + 1, column + 1, end.column - column or 1)
        length = len(self._lines[line].rstrip()) - column
        return Mark(self._path, line + 1, column + 1, max(1, length))

    def _add(self, code: str, message: str, mark: Mark, hint: str = "") -> None:
        self._diagnostics.add(code, message, mark, hint=hint)

    def _report_syntax(self, error: yaml.MarkedYAMLError) -> None:
        where: _Position = error.problem_mark or error.context_mark
        text = self._text
        index = len(text) if where is None else min(where.index, len(text))
        before = split_lines(text[:index])
        mark = Mark(self._path, len(before), len(before[-1]) + 1)
        if error.problem == _SCANNER_GAVE_UP:
            self._add("E206", _TOO_DEEP, mark)
            return
        line = self._without_colon(error, mark.line)
        if line:
            start = len(self._lines[line - 1]) - len(self._lines[line - 1].lstrip())
            mark = Mark(self._path, line, start + 1, len(self._lines[line - 1].strip()))
            message = "not valid YAML: there is no colon on this line"
            self._add("E205", message, mark, "as in `key: value`")
            return
        if text[index : index + 1] == "\t":
            self._add("E215", _TABS, mark, "use spaces")
            return
        problem = " ".join(part for part in (error.problem, error.context) if part)
        began: _Position = error.context_mark
        if began is not None and began.line + 1 != mark.line:
            problem += f" that began on line {began.line + 1}"
        hint = ""
        if _TYPE_WITH_SHAPE.match(text, max(0, index - 1)):
            hint = 'inside braces a type with a shape needs quotes, as in "f32[3]"'
        if not hint and problem.startswith("mapping values are not allowed"):
            is_first = _PLAIN_KEY.fullmatch(before[-1].strip()) is not None
            hint = _COLUMN if is_first else _COLON
        self._add("E205", f"not valid YAML: {problem or 'it ends too early'}", mark, hint)

    def _without_colon(self, error: yaml.MarkedYAMLError, found_on: int) -> int:
        """Return the line, from 1, with a key that seems to lack its colon; 0 without one.

        YAML reports a line behind it, because a text may go on there.
        """
        problem = error.problem or ""
        if "mapping values are not allowed" not in problem and "expected ':'" not in problem:
            return 0
        for number in range(found_on - 1, 0, -1):
            line = self._lines[number - 1].partition(" #")[0].strip()
            if line:
                is_key = _PLAIN_KEY.fullmatch(line) is not None
                return number if is_key else 0
        return 0


# Control characters as in YAML; the breaks of YAML 1.1 that are none in 1.2; a byte order mark
# inside the text.
_REFUSED: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)


def read(file: Path, shown: str, diagnostics: Diagnostics) -> list[Node]:
    """Return the readable documents of one file, named `shown` in diagnostics."""
    mark, data = Mark(shown, 0, 0, 0), b""
    try:
        data = read_regular_file(file, MAX_BYTES)
        text = data.decode("utf-8")
    except NotRegularFileError:
        diagnostics.add("E201", "not a regular file", mark)
    except TooLargeError:
        diagnostics.add("E202", f"the file is larger than {MAX_BYTES // 2**20} MiB", mark)
    except OSError as error:
        diagnostics.add("E201", f"cannot be read: {error.strerror or error}", mark)
    except UnicodeDecodeError as error:
        before = split_lines(data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        diagnostics.add_source(shown, data.decode("utf-8", "replace").removeprefix("\ufeff"))
        message = f"the byte 0x{data[error.start]:02X} is not valid UTF-8"
        diagnostics.add("E203", message, Mark(shown, len(before), len(before[-1]) + 1))
    else:
        return parse(text, shown, diagnostics)
    return []


def parse(text: str, path: str, diagnostics: Diagnostics, *, pure: bool = False) -> list[Node]:
    """Return the documents in `text`, without empty ones, up to the first syntax error.

    `pure`: use PyYAML's own parser even if libyaml is installed.
    """
    text = text.removeprefix("\ufeff")
    diagnostics.add_source(path, text)
    if refused := _REFUSED.search(text):
        before = split_lines(text[: refused.start()])
        mark = Mark(path, len(before), len(before[-1]) + 1)
        message = f"the character U+{ord(refused[0]):04X} is not allowed"
        hint = "in double quotes it can be written as an escape"
        diagnostics.add("E204", message, mark, hint=hint)
        return []
    return Builder(text, path, diagnostics).documents(pure)
