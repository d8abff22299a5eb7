"""Texts of steps and conditions to Python's syntax trees, and the places of their nodes."""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from dataclasses import dataclass
from typing import Final, NamedTuple

from ecsgen.diagnostics import Diagnostics, hint_at_comma, quote
from ecsgen.kernels import hints
from ecsgen.model import Mark

MAX_LENGTH: Final = 2000
_LINE: Final = 100_000
"""More characters than a line can have."""
MAX_DEPTH: Final = 100

_INDENTATION: Final = (
    "indent the lines of a block alike, with spaces, and no others; in brackets a line may go on"
)
_ONE_TEXT: Final = "its steps stand in the same text: begin it with `|`, and indent them below"
_DEEP: Final = f"nested deeper than {MAX_DEPTH} levels"


class KernelError(Exception):
    """An error in a text, at a node or (None) in all of it.

    Without a code it follows from another error and is not reported.
    """

    def __init__(
        self, code: str, message: str, node: ast.AST | None = None, hint: str = ""
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.node, self.hint = code, message, node, hint


def check_count(name: str, node: ast.Call, low: int, high: int | None) -> None:
    """Raise E808 for a call with fewer or more arguments; `high`: None for no bound."""
    count = len(node.args)
    if low <= count and (high is None or count <= high):
        return
    wanted = {0: "no argument", 1: "1 argument"}.get(low, f"{low} arguments")
    if low != high:
        wanted = f"{low} or more arguments" if high is None else f"{low} to {high} arguments"
        wanted = "no argument or 1" if (low, high) == (0, 1) else wanted
    message = f"{quote(name)} takes {wanted}, not {count}"
    raise KernelError("E808", message, node, hints.of_count(node, high))


Assignment = ast.Assign | ast.AugAssign


def position_of(node: ast.expr) -> int:
    """Return a number that grows with where a node stands: from left to right, line by line."""
    return node.lineno * _LINE + node.col_offset


@dataclass(frozen=True, slots=True)
class SourceText:
    """Steps, a condition or an expression of a schema, and where they stand."""

    content: str
    mark: Mark

    def steps(self) -> list[ast.stmt]:
        """Return the statements. Raises KernelError: E112 if they are no Python, E102 for a keyword
        as a local, and E801 for a semicolon."""
        tree = self._parse("exec")
        assert isinstance(tree, ast.Module)
        if (semicolon := _find_semicolon(self._text)) is not None:
            message = "a statement ends with its line"
            hint = "leave the ';' out"
            if len(tree.body) > 1:
                hint = "write each statement as a step, or on a line, of its own"
            raise KernelError("E801", message, semicolon, hint)
        return tree.body

    def expression(self) -> ast.expr:
        """Return the expression. Raises KernelError (E112)."""
        tree = self._parse("eval")
        assert isinstance(tree, ast.Expression)
        return tree.body

    def _parse(self, mode: str) -> ast.AST:
        content, text, is_steps = self.content, self._text, mode == "exec"
        if not is_steps:
            if len(content) > MAX_LENGTH:
                message = f"the expression has {len(content)} characters; {MAX_LENGTH} are allowed"
                raise KernelError("E112", message)
            if "\n" in text.partition("#")[2]:
                message = f"a comment would take all lines behind it along in {quote(content)}"
                raise KernelError("E112", message, None, "put it at the end")
            text = text.replace("\n", " ")
        node, hint = None, ""
        try:
            if is_steps:
                _check_lines(text)
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # `1if c`: an error in Pythons to come
                tree = ast.parse(text, mode=mode)
        except SyntaxError as error:
            node = _place_of_error(error, text)
            if is_steps and node is not None:
                _refuse_keyword(node.lineno, text)
            if isinstance(error, IndentationError):
                hint = _INDENTATION if "\n" in text else _ONE_TEXT
            elif error.msg.startswith("unterminated string"):
                hint = hints.UNCLOSED
            elif error.msg.endswith("was never closed"):
                hint = "this bracket has no end"
        except (ValueError, RecursionError, MemoryError):
            pass  # a NUL, or nested deeper than Python's own parser goes
        else:
            if _is_deep(tree):
                hint = "give a part of it a local name in a step before"
                raise KernelError("E112", f"{quote(content)} is {_DEEP}", None, hint)
            return tree
        shown = content.strip()
        if is_steps and node is not None and "\n" in text:
            shown = text.split("\n")[node.lineno - 1].strip()
        hint = hint or hints.of_syntax(shown, is_steps)
        raise KernelError("E112", f"{quote(shown)} is not valid syntax", node, hint)

    @property
    def _text(self) -> str:
        """The text without the white space around it."""
        return self.content.strip()

    def line_of(self, node: ast.stmt) -> str:
        """Return the head of a statement, or all of it if it holds no other, on one line."""
        last = node.end_lineno or node.lineno
        if isinstance(node, ast.If | ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            last = max(head.end_lineno or node.lineno, node.body[0].lineno - 1)
        lines = self._text.split("\n")[node.lineno - 1 : last]
        return " ".join(" ".join(line for line in lines if line.lstrip()[:1] != "#").split())

    def report(self, error: KernelError, diagnostics: Diagnostics) -> None:
        """Report an error at the mark of its node."""
        if not error.code:
            return
        mark = self.mark if error.node is None else self.place(error.node, diagnostics)
        hint = error.hint
        if error.code == "E112":
            hint = hint_at_comma(diagnostics, self.mark) or hint
        diagnostics.add(error.code, error.message, mark, hint=hint)

    def place(self, node: ast.AST, diagnostics: Diagnostics) -> Mark:
        """Return the mark of a node, or of the text if the source spells it in another way. Of a
        node on several lines it is that on the first one."""
        if not isinstance(node, ast.expr | ast.stmt | ast.keyword):
            return self.mark
        start = self._index(node.lineno, node.col_offset)
        last_column = node.end_col_offset or node.col_offset + 1
        end = self._index(node.end_lineno or node.lineno, last_column)
        places = locate_characters(self.content, self.mark, diagnostics)
        line_end = self.content.find("\n", start) % (len(self.content) + 1)
        near = (*range(start, line_end), *range(start, -1, -1))
        first = next((places[index] for index in near if index in places), None)
        if first is None:
            return self.mark
        there = (places[index] for index in range(start, end) if index in places)
        last = max((span.end for span in there if span.line == first.line), default=first.end)
        return Mark(self.mark.path, first.line, first.column, max(1, last - first.column))

    def _index(self, line: int, column: int) -> int:
        """Return the index in the content of a place of the parser, whose columns are bytes."""
        text = self._text
        start = sum(len(before) + 1 for before in text.split("\n")[: line - 1])
        before = text[start:].replace("\n", " ").encode()[:column].decode(errors="ignore")
        stripped = len(self.content) - len(self.content.lstrip())
        return stripped + start + len(before)


def _find_semicolon(text: str) -> ast.expr | None:
    """Return the place of the first semicolon outside of comments; kernels have no strings."""
    for number, line in enumerate(text.split("\n"), 1):
        code = line.partition("#")[0]
        if ";" in code:
            return _place(number, len(code[: code.index(";")].encode()))
    return None


def _check_lines(text: str) -> None:
    """Raise SyntaxError for a line that tabs indent, or that a backslash joins to the next one."""
    for number, line in enumerate(text.split("\n"), 1):
        code = line.partition("#")[0].rstrip()  # kernels have no strings
        if code.endswith("\\"):
            raise SyntaxError("a backslash joins no lines", ("", number, len(code), line))
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise IndentationError("tabs do not indent", ("", number, 1, line))


_KEYWORD: Final = f"({'|'.join(keyword.kwlist)})"
_KEYWORD_LOCAL: Final = re.compile(rf"(?:^|:)\s*(?:for\s+{_KEYWORD}\s+in\b|{_KEYWORD}\s*=(?!=))")
"""A keyword where a loop or an assignment has the name of a local."""


def _refuse_keyword(number: int, text: str) -> None:
    """Raise KernelError (E102) if a line with an error of syntax names a local by a keyword."""
    line = text.split("\n")[number - 1]
    if match := _KEYWORD_LOCAL.search(line.partition("#")[0]):
        name, start = match[match.lastindex or 0], match.start(match.lastindex or 0)
        message = f"{quote(name)} cannot be the name of a local: it is a Python keyword"
        node = _place(number, len(line[:start].encode()), len(name))
        raise KernelError("E102", message, node, f"did you mean {quote(name + '_')}?")


def _place_of_error(error: SyntaxError, text: str) -> ast.expr | None:
    """Return a node where Python's parser met an error, whose columns are characters from 1."""
    lines = text.split("\n")
    if not error.offset or not error.lineno or error.lineno > len(lines):
        return None
    before = lines[error.lineno - 1][: error.offset - 1]
    if isinstance(error, IndentationError):  # Python tells the end of the line
        before = before[: len(before) - len(before.lstrip())]
    return _place(error.lineno, len(before.encode()))


def _place(line: int, column: int, length: int = 1) -> ast.expr:
    end = column + length
    return ast.Name("", lineno=line, end_lineno=line, col_offset=column, end_col_offset=end)


def _is_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


_NUMBERED: Final = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})")
_NAMED: Final = dict(
    zip('0abtnvfre"/\\N_LP ', '\0\a\b\t\n\v\f\r\x1b"/\\\x85\xa0\u2028\u2029 ', strict=True)
)


class CharacterSpan(NamedTuple):
    """A line, and the columns from 1 that a character takes in it."""

    line: int
    column: int
    end: int


def locate_characters(
    content: str, mark: Mark, diagnostics: Diagnostics
) -> dict[int, CharacterSpan]:
    """Return the span of each character of a scalar by its index, without white space.

    Plain, quoted and block scalars differ in their white space, in the text before them and in the
    spelling of characters.
    """
    spans: dict[int, CharacterSpan] = {}
    line, column = mark.line, mark.column - 1
    text = diagnostics.line(mark)
    if text is None:
        return spans
    quote = text[column : column + 1]
    if quote in ("|", ">"):
        line, column = line + 1, 0
    elif quote in ("'", '"'):
        column += 1
    for index, character in enumerate(content):
        if character.isspace():
            continue
        while (text := diagnostics.line(Mark(mark.path, line, 1))) is not None:
            spelled, width = _spelled(text, column, quote)
            if spelled.strip():
                break
            line, column = (line, column + width) if column < len(text) else (line + 1, 0)
        if text is None or spelled != character:
            break
        spans[index] = CharacterSpan(line, column + 1, column + 1 + width)
        column += width
    return spans


def _spelled(text: str, column: int, quote: str) -> tuple[str, int]:
    """Return the character at a column of a line, if any, and the length of its spelling."""
    if quote == "'" and text.startswith("''", column):
        return "'", 2
    if quote != '"' or text[column : column + 1] != "\\":
        return text[column : column + 1], 1
    numbered = _NUMBERED.match(text, column)
    if numbered:
        return chr(int(text[column + 2 : numbered.end()], 16)), numbered.end() - column
    return _NAMED.get(text[column + 1 : column + 2], ""), 2  # at the end of a line: nothing
