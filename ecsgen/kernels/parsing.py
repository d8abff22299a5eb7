"""Texts of steps and conditions to Python's syntax trees, and the places of their nodes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final, NamedTuple

from ecsgen.diagnostics import Diagnostics, hint_at_comma, quote
from ecsgen.kernels import hints
from ecsgen.kernels.operations import COMMANDS
from ecsgen.model import Mark

MAX_LENGTH: Final = 2000
MAX_DEPTH: Final = 100

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
        wanted = "no argument or 1" if high else f"{low} or more arguments"
    message = f"{quote(name)} takes {wanted}, not {count}"
    raise KernelError("E808", message, node, hints.of_count(node, high))


Assignment = ast.Assign | ast.AugAssign


@dataclass(frozen=True, slots=True)
class SourceText:
    """One step, condition or expression of a schema, and where it stands."""

    content: str
    mark: Mark

    def step(self) -> Assignment | ast.Call:
        """Return the assignment, or the call of one of `COMMANDS`. Raises KernelError (E112)."""
        tree = self._parse("exec")
        assert isinstance(tree, ast.Module)
        # There is no text in kernels that a `#` could stand in.
        hint = hints.of_statement(tree, self._line.partition("#")[0].rstrip())
        match tree.body if not hint else []:
            case [ast.Assign(targets=[_]) as step]:
                return step
            case [ast.AugAssign(op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div()) as step]:
                return step
            case [ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call)] if name in COMMANDS:
                return call
        message = f"a step is one assignment with =, +=, -=, *= or /=, not {quote(self.content)}"
        raise KernelError("E112", message, None, hint)

    def expression(self) -> ast.expr:
        """Return the expression. Raises KernelError (E112)."""
        tree = self._parse("eval")
        assert isinstance(tree, ast.Expression)
        return tree.body

    def _parse(self, mode: str) -> ast.AST:
        if len(self.content) > MAX_LENGTH:
            length = len(self.content)
            message = f"the expression has {length} characters; {MAX_LENGTH} are allowed"
            raise KernelError("E112", message)
        if "\n" in self.content.strip().partition("#")[2]:
            message = f"a comment would take all lines behind it along in {quote(self.content)}"
            raise KernelError("E112", message, None, "put it at the end")
        node: ast.expr | None = None
        try:
            tree = ast.parse(self._line, mode=mode)
        except SyntaxError as error:
            if error.offset:  # in characters, which nodes count in bytes
                start, end = (len(self._line[: error.offset - k].encode()) for k in (1, 0))
                node = ast.Name("", col_offset=start, end_col_offset=end)
        except (ValueError, RecursionError, MemoryError):
            pass  # a NUL, or nested deeper than Python's own parser goes
        else:
            if _is_deep(tree):
                hint = "give a part of it a local name in a step before"
                raise KernelError("E112", f"{quote(self.content)} is {_DEEP}", None, hint)
            return tree
        hint = hints.of_syntax(self.content, mode == "exec")
        raise KernelError("E112", f"{quote(self.content)} is not valid syntax", node, hint)

    @property
    def _line(self) -> str:
        """The text on one line: a line break would let a second statement in."""
        return " ".join(self.content.split("\n")).strip()

    def report(self, error: KernelError, diagnostics: Diagnostics) -> None:
        """Report an error at the mark of its node."""
        if not error.code:
            return
        mark = self.mark if error.node is None else self.place(error.node, diagnostics)
        hint = error.hint
        if error.code == "E112":
            hint = hint or hint_at_comma(diagnostics, self.mark)
        diagnostics.add(error.code, error.message, mark, hint=hint)

    def place(self, node: ast.AST, diagnostics: Diagnostics) -> Mark:
        """Return the mark of a node, or of the text if the source spells it in another way."""
        stripped = len(self.content) - len(self.content.lstrip())
        if not isinstance(node, ast.expr):
            return self.mark
        line, last_byte = self._line.encode(), node.end_col_offset or node.col_offset + 1
        start, end = (len(line[:byte].decode()) for byte in (node.col_offset, last_byte))
        places = locate_characters(self.content, self.mark, diagnostics)
        first, last = places.get(stripped + start), places.get(stripped + end - 1)
        if first is None:
            return self.mark
        if last is None or last.line != first.line:
            last = first
        return Mark(self.mark.path, first.line, first.column, max(1, last.end - first.column))


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
