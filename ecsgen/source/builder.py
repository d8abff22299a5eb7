"""Schema text to nodes that know their line and column, in one pass over YAML events.

YAML 1.2 reading of plain data: keys are strings, only `true` and `false` are booleans, nothing is
shared, tagged or given twice. Events instead of a loader, because a loader recurses, resolves
YAML 1.1 words and expands aliases. Every limit is checked before anything grows with the input.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, Union

import yaml

from ecsgen.diagnostics import Diagnostics, quote, split_lines
from ecsgen.model import Mark
from ecsgen.scalars import Scalar, resolve

if TYPE_CHECKING:
    from yaml.error import Mark as YamlMark

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 32
MAX_NODES: Final = 100_000

Plain: TypeAlias = Union[Scalar, list["Plain"], dict[str, "Plain"]]


@dataclass(slots=True)
class Node:
    """A value and its place. `keys` has the marks of a mapping's keys; `complete` is false when
    something in it was refused, so that nobody complains about what is missing as well."""

    value: Scalar | list[Node] | dict[str, Node]
    mark: Mark
    keys: dict[str, Mark] = field(default_factory=dict)
    complete: bool = True

    def plain(self) -> Plain:
        """The value without marks. Depth is limited by MAX_DEPTH."""
        value = self.value
        if isinstance(value, dict):
            return {key: node.plain() for key, node in value.items()}
        if isinstance(value, list):
            return [node.plain() for node in value]
        return value

    def at(self, *path: str | int) -> Node | None:
        """The node at a path of keys and indices, or None."""
        node: Node | None = self
        for step in path:
            if node is None:
                return None
            value = node.value
            if isinstance(value, dict) and isinstance(step, str):
                node = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                node = value[step]
            else:
                return None
        return node


def read(file: Path, shown: str, diagnostics: Diagnostics) -> list[Node]:
    """The documents of one file, named `shown` in diagnostics; those that can be read."""
    text = _read_text(file, shown, diagnostics)
    return [] if text is None else parse(text, shown, diagnostics)


def parse(text: str, path: str, diagnostics: Diagnostics, *, pure: bool = False) -> list[Node]:
    """The documents in `text`. Empty documents are left out; what follows a syntax error is lost.

    `pure` takes PyYAML's own parser even where libyaml is there.
    """
    text = text.removeprefix("\ufeff")
    diagnostics.add_source(path, text)
    return _Reader(text, path, diagnostics).documents(pure)


def _read_text(file: Path, shown: str, diagnostics: Diagnostics) -> str | None:
    whole = Mark(shown, 0, 0, 0)
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            diagnostics.add("E201", "not a regular file", whole)
            return None
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        diagnostics.add("E201", f"cannot be read: {error.strerror or error}", whole)
        return None
    if len(data) > MAX_BYTES:
        diagnostics.add("E202", f"the file is larger than {MAX_BYTES // 2**20} MiB", whole)
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = split_lines(data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        diagnostics.add_source(shown, data.decode("utf-8", "replace").removeprefix("\ufeff"))
        message = f"the byte 0x{data[error.start]:02X} is not valid UTF-8"
        diagnostics.add("E203", message, Mark(shown, len(before), len(before[-1]) + 1))
        return None


# --- events to nodes ------------------------------------------------------------------------

# Control characters as in YAML; also the breaks of YAML 1.1 that are none in 1.2, and a BOM
# inside the text, which two readers would count differently.
_REFUSED: Final = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PROPERTY: Final = re.compile(r"[&*!][^\s,\[\]{}]*")

_LINE: Final = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|\Z)")
_TABS: Final = "tabs may stand only inside quotes, text blocks and comments"
_TABS_HINT: Final = "use spaces"


class _Events(Protocol):
    def get_event(self) -> yaml.Event | None: ...

    def dispose(self) -> None: ...


def _parser(text: str, pure: bool) -> _Events:
    if pure or not yaml.__with_libyaml__:
        return yaml.BaseLoader(text)
    return yaml.CBaseLoader(text)


class _Stop(Exception):
    """The rest of the file is not read."""


@dataclass(slots=True)
class _Open:
    """A collection that has not ended yet."""

    node: Node
    start: YamlMark
    key: str | None = None  # of the value that comes next
    key_mark: Mark | None = None  # None: a key comes next
    refused: bool = False  # the key, so the value goes too


class _Reader:
    def __init__(self, text: str, path: str, diagnostics: Diagnostics) -> None:
        self._text = text
        self._path = path
        self._diagnostics = diagnostics
        self._lines = split_lines(text)
        self._stack: list[_Open] = []
        self._nodes = 0
        self._documents: list[Node] = []
        self._scalars: list[tuple[int, int, bool]] = []  # start, end, plain: to judge tabs
        self._has_tabs = "\t" in text

    def documents(self, pure: bool) -> list[Node]:
        if refused := _REFUSED.search(self._text):
            message = f"the character U+{ord(refused[0]):04X} is not allowed"
            hint = "in double quotes it can be written as an escape"
            self._add("E204", message, self._mark_at(refused.start()), hint)
            return []
        events = _parser(self._text, pure)
        try:
            self._read(events)
            self._check_tabs()
        except _Stop:
            pass
        except yaml.MarkedYAMLError as error:
            self._syntax_error(error)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            # The pure parser passes an escape such as "\UFFFFFFFF" to chr().
            self._add("E205", f"not valid YAML: {error}", Mark(self._path, 1, 1))
        finally:
            events.dispose()
        return self._documents

    def _read(self, events: _Events) -> None:
        while (event := events.get_event()) is not None:
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.AliasEvent):
                self._refuse_property("E208", "aliases are not part of the schema language", event)
                self._value(None, event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._open(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                self._directives(event)

    # One node counts, wherever it stands.

    def _count(self, event: yaml.NodeEvent) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            message = f"the file has more than {MAX_NODES} values"
            self._add("E207", message, self._mark(event.start_mark, event.end_mark))
            raise _Stop
        if event.anchor is not None:
            self._refuse_property("E208", "anchors are not part of the schema language", event)
        if getattr(event, "tag", None) is not None:
            self._refuse_property("E210", "tags are not part of the schema language", event)

    def _refuse_property(self, code: str, message: str, event: yaml.Event) -> None:
        mark = self._mark(event.start_mark, event.end_mark)
        if found := _PROPERTY.match(self._text, event.start_mark.index):
            mark = Mark(mark.path, mark.line, mark.column, len(found[0]))
        self._add(code, message, mark)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(event)
        plain = not event.style
        text: str = event.value
        if self._has_tabs:
            self._scalars.append((event.start_mark.index, event.end_mark.index, plain))
        mark = self._mark(event.start_mark, event.end_mark)
        if not text.isascii() and _SURROGATE.search(text):
            self._add("E204", "half of a surrogate pair is not a character", mark)
            text = _SURROGATE.sub("\ufffd", text)
        if self._key_is_next():
            self._key(text, plain, mark)
            return
        value: Scalar = text
        if plain:
            try:
                value = resolve(text)
            except OverflowError as error:
                self._add("E213", str(error), mark)
                self._value(None, event)
                return
        self._value(Node(value, mark), event)

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        self._count(event)
        mark = self._mark(event.start_mark, event.end_mark)
        if len(self._stack) >= MAX_DEPTH:
            self._add("E206", f"nested more than {MAX_DEPTH} levels deep", mark)
            raise _Stop
        mapping = isinstance(event, yaml.MappingStartEvent)
        self._stack.append(_Open(Node({} if mapping else [], mark), event.start_mark))

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        closed = self._stack.pop()
        closed.node.mark = self._mark(closed.start, event.end_mark)
        if self._key_is_next():
            self._add("E212", "a key must be text, not a collection", closed.node.mark)
            self._stack[-1].refused = True
            self._stack[-1].key_mark = closed.node.mark
            return
        self._value(closed.node, event)

    def _key_is_next(self) -> bool:
        if not self._stack:
            return False
        parent = self._stack[-1]
        return isinstance(parent.node.value, dict) and parent.key_mark is None

    def _key(self, text: str, plain: bool, mark: Mark) -> None:
        parent = self._stack[-1]
        assert isinstance(parent.node.value, dict)
        parent.key, parent.key_mark = text, mark
        parent.refused = True
        if plain and text == "<<":
            self._add("E209", "merge keys are not part of the schema language", mark)
        elif plain and not text:
            self._add("E212", "the key is empty", mark)
        elif text in parent.node.keys:
            first = parent.node.keys[text]
            message = f"the key {quote(text)} is here twice; it is already on line {first.line}"
            self._add("E211", message, mark)
        else:
            parent.refused = False
            parent.node.keys[text] = mark

    def _value(self, node: Node | None, event: yaml.Event) -> None:
        """Put a value where it belongs; None is one that was refused."""
        if not self._stack:
            empty = event.start_mark.index == event.end_mark.index
            if node is not None and not (node.value is None and empty):
                self._documents.append(node)
            return
        parent = self._stack[-1]
        container = parent.node.value
        if isinstance(container, list):
            if node is None:
                parent.node.complete = False
            else:
                container.append(node)
            return
        assert isinstance(container, dict)
        if parent.key_mark is None:  # an alias as a key
            parent.key_mark, parent.refused = Mark(self._path, 1, 1), True
            return
        if parent.refused or node is None:
            parent.node.complete = False
            if not parent.refused and parent.key is not None:
                parent.node.keys.pop(parent.key, None)
        elif parent.key is not None:
            container[parent.key] = node
        parent.key, parent.key_mark, parent.refused = None, None, False

    def _directives(self, event: yaml.DocumentStartEvent) -> None:
        if event.version not in (None, (1, 2)) or event.tags:
            message = "only the directive '%YAML 1.2' is allowed"
            self._add("E214", message, self._mark(event.start_mark, event.end_mark))

    # Marks and errors.

    def _mark(self, start: YamlMark, end: YamlMark) -> Mark:
        line, column = start.line, start.column
        if end.line == line:
            return Mark(self._path, line + 1, column + 1, max(1, end.column - column))
        if line >= len(self._lines):
            return self._mark_at(len(self._text))
        length = len(self._lines[line].rstrip()) - column
        return Mark(self._path, line + 1, column + 1, max(1, length))

    def _mark_at(self, index: int) -> Mark:
        before = split_lines(self._text[:index])
        return Mark(self._path, len(before), len(before[-1]) + 1)

    def _add(self, code: str, message: str, mark: Mark, hint: str = "") -> None:
        self._diagnostics.add(code, message, mark, hint=hint)

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> None:
        where = error.problem_mark or error.context_mark
        index = len(self._text) if where is None else min(where.index, len(self._text))
        mark = self._mark_at(index)
        if self._text[index : index + 1] == "\t":
            self._add("E215", _TABS, mark, _TABS_HINT)
            return
        problem = error.problem or error.context or "it ends too early"
        if error.problem and error.context:
            problem = f"{error.problem} {error.context}"
        hint = ""
        if re.search(r"[a-z0-9>]$", self._text[max(0, index - 1) : index]):
            if self._text[index : index + 1] == "[":
                hint = "inside braces a type with a shape needs quotes, as in \"f32[3]\""
        self._add("E205", f"not valid YAML: {problem}", mark, hint)

    def _check_tabs(self) -> None:
        if not self._has_tabs:
            return
        starts = [start for start, _, _ in self._scalars]
        for number, found in enumerate(_LINE.finditer(self._text), start=1):
            line, end = found.span(1)
            tab = self._text.find("\t", line, end)
            while tab != -1 and self._tab_is_fine(starts, line, tab):
                tab = self._text.find("\t", tab + 1, end)
            if tab != -1:
                self._add("E215", _TABS, Mark(self._path, number, tab - line + 1), _TABS_HINT)

    def _tab_is_fine(self, starts: list[int], line: int, tab: int) -> bool:
        """Whether a tab is inside quotes, a block of text or a comment."""
        inside = self._scalar_at(starts, tab)
        if inside is not None:
            return not inside[2]
        sign = self._text.find("#", line, tab)
        while sign != -1:
            if self._scalar_at(starts, sign) is None:
                return True
            sign = self._text.find("#", sign + 1, tab)
        return False

    def _scalar_at(self, starts: list[int], index: int) -> tuple[int, int, bool] | None:
        found = bisect_right(starts, index) - 1
        if found >= 0 and index < self._scalars[found][1]:
            return self._scalars[found]
        return None

