"""Statements of the schemas: their text, their place, and the values that their parts had."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
from ecsgen_testing.reference.scopes import Expression, Scope
from ecsgen_testing.reference.values import Value

from ecsgen.diagnostics import Diagnostics
from ecsgen.kernels.parsing import SourceText
from ecsgen.model import Mark

_ALLOWED: Final = re.compile(r"#\s*allow:([\w ]*)")
UNREAD: Final = Value("", None)
"""The value of a part that a statement has not worked out."""


class Operand:
    """A part of a statement, and the last value that it had."""

    __slots__ = ("asked", "expression", "value")

    def __init__(self, expression: Expression, asked: str = "") -> None:
        """`asked`: the neighbourhood within a question."""
        self.expression, self.value, self.asked = expression, expression.sample, asked

    @property
    def kept(self) -> Expression:
        """The expression, which leaves its value here."""
        evaluate = self.expression.evaluate

        def keep(scope: Scope) -> Value:
            self.value = result = evaluate(scope)
            return result

        return replace(self.expression, evaluate=keep)

    def read(self, scope: Scope) -> Value:
        """Return the value, worked out if it is not."""
        return self.expression.evaluate(scope) if self.value is UNREAD else self.value


class Statement:
    """A step, the head of one, or an expression of a schema."""

    def __init__(
        self,
        text: SourceText,
        node: ast.stmt | ast.expr,
        diagnostics: Diagnostics,
        outer: Statement | None = None,
    ) -> None:
        """`outer`: the statement in whose block it is."""
        self.text, self.node, self.outer = text, node, outer
        self._diagnostics = diagnostics
        self.parts: dict[ast.AST, Operand] = {}
        """All that it works out, constants too."""
        self.calls: set[ast.AST] = set()
        """Questions, draws and other calls that traces show as one value."""

    @property
    def head(self) -> ast.stmt | ast.expr:
        """The last expression of the head of a statement with a block, or all of another one."""
        match self.node:
            case ast.If(test) | ast.While(test):
                return test
            case ast.For(iter=around):
                return around
        return self.node

    @property
    def loops(self) -> Iterator[tuple[str, str]]:
        """The loops over neighbours around it: the name there, and the neighbourhood."""
        match self.outer and self.outer.node:
            case ast.For(ast.Name(name), ast.Name(near)):
                yield name, near
        if self.outer is not None:
            yield from self.outer.loops

    @property
    def target(self) -> ast.AST:
        """The target of an assignment or a message; of another statement all of it."""
        match self.node:
            case ast.Assign([target]) | ast.AugAssign(target):
                return target
        return self.node

    @cached_property
    def shown(self) -> str:
        """The text: of a statement with a block its head."""
        if isinstance(self.node, ast.stmt):
            return self.text.line_of(self.node)
        return " ".join(self.text.content.split())

    def part(self, node: ast.AST) -> str:
        """Return the text of a node on one line, as written."""
        content = self.text.content.strip()
        if not isinstance(self.node, ast.stmt):
            content = content.replace("\n", " ")
        return " ".join((ast.get_source_segment(content, node) or ast.unparse(node)).split())

    def mark(self, node: ast.AST) -> Mark:
        """Return the place of a node."""
        return self.text.place(node, self._diagnostics)

    def source(self, mark: Mark) -> str:
        """Return the line of the schema at a mark."""
        return self._diagnostics.line(mark) or ""

    @cached_property
    def allowed(self) -> frozenset[str]:
        """Kinds of findings that a comment on the statement's last line exempts."""
        head = self.head
        line, column = head.end_lineno or 1, max(head.end_col_offset or 1, 1)
        last = ast.Name(
            "", lineno=line, end_lineno=line, col_offset=column - 1, end_col_offset=column
        )
        return frozenset(allowed_kinds(self.source(self.mark(last))))

    # Values of its parts

    @cached_property
    def operands(self) -> dict[ast.AST, Operand]:
        """The parts that are no constants."""
        return {n: part for n, part in self.parts.items() if not part.expression.is_constant}

    def begin(self) -> None:
        """Forget what parts were for another row, or at another time."""
        for operand in self.operands.values():
            operand.value = UNREAD

    def values(self, nodes: Iterable[ast.AST], asked: str, scope: Scope) -> dict[str, Any]:
        """Return the values of names by their text; `asked`: the neighbourhood within a question.

        Of neighbours of whom a question was asked there is no one value.
        """
        values = {}
        for node in nodes:
            operand = self.operands.get(node)
            met = () if operand is None else (operand.asked, "offset", "distance", "link")
            if operand is None or (operand.asked != asked and _root_of(node) in met):
                continue
            try:
                values[self.part(node)] = plain(operand.read(scope))
            except KeyError:  # a local that no step has set
                continue
        return values


@dataclass(eq=False)
class Spot:
    """A part of a statement in which something may be wrong."""

    statement: Statement
    node: ast.AST
    asked: str = ""
    """The neighbourhood within a question."""

    def operands(self, scope: Scope, nodes: Iterable[ast.AST] | None = None) -> dict[str, Any]:
        """Return the values of the names in it, or of other nodes."""
        parts = _named_parts(self.node) if nodes is None else nodes
        return self.statement.values(parts, self.asked, scope)


def _named_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the names, and what is read by a dot, from left to right."""
    if _root_of(node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        yield from _named_parts(child)


def _root_of(node: ast.AST) -> str:
    """Return the first name of a path with dots; "" for what is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def filled(node: ast.AST, text_of: Callable[[ast.AST], str | None]) -> str:
    """Return the text of a node with other texts in the place of some of its parts."""

    def fill(part: Any) -> Any:
        if isinstance(part, list):
            return [*map(fill, part)]
        if not isinstance(part, ast.AST):
            return part
        text = text_of(part)
        if text is not None:
            return ast.Name(text)
        return type(part)(**{name: fill(child) for name, child in ast.iter_fields(part)})

    return ast.unparse(fill(node))


def allowed_kinds(line: str) -> tuple[str, ...]:
    """Return the kinds of findings that a comment of a line exempts."""
    return tuple(kind for words in _ALLOWED.findall(line) for kind in words.split())


def plain(value: Value) -> Any:
    """Return a value as Python's number, or list of them; a time as numpy's."""
    cells = value.data
    if value.kind in "mM" and not value.shape:
        return np.asarray(cells)[()]
    return cells.tolist() if hasattr(cells, "tolist") else cells
