"""Steps, conditions and expressions: as much as their syntax alone tells.

What the names in them mean is checked when code is generated.
"""

from __future__ import annotations

import ast
from typing import Final

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Mark

MAX_LENGTH: Final = 2000

_OPERATORS: Final = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def check_step(text: str, mark: Mark, diagnostics: Diagnostics) -> None:
    """Report E112 unless `text` is one assignment."""
    tree = _parse(text, "exec", mark, diagnostics)
    if not isinstance(tree, ast.Module):
        return
    if len(tree.body) == 1:
        statement = tree.body[0]
        if isinstance(statement, ast.AugAssign) and isinstance(statement.op, _OPERATORS):
            return
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return
    message = f"a step is one assignment with =, +=, -=, *= or /=, not {quote(text)}"
    diagnostics.add("E112", message, mark)


def check_expression(text: str, mark: Mark, diagnostics: Diagnostics) -> None:
    """Report E112 unless `text` is one expression."""
    _parse(text, "eval", mark, diagnostics)


def _parse(text: str, mode: str, mark: Mark, diagnostics: Diagnostics) -> ast.AST | None:
    if len(text) > MAX_LENGTH:
        message = f"the expression has {len(text)} characters; {MAX_LENGTH} are allowed"
        diagnostics.add("E112", message, mark)
        return None
    offset: int | None = None
    try:
        # A line break would let a second statement in, and moves columns.
        return ast.parse(" ".join(text.split("\n")).strip(), mode=mode)
    except SyntaxError as error:
        offset = error.offset
    except (ValueError, RecursionError, MemoryError):
        pass  # a NUL, or nested deeper than Python's own parser goes
    place = mark if offset is None else _within(text, offset - 1, mark, diagnostics)
    diagnostics.add("E112", f"{quote(text)} is not valid syntax", place)
    return None


def _within(text: str, offset: int, mark: Mark, diagnostics: Diagnostics) -> Mark:
    """The mark of one character of a scalar, where the source shows the scalar as it is."""
    line = diagnostics.line(mark)
    if line is None or not 0 <= offset < len(text):
        return mark
    for quotes in (0, 1):
        start = mark.column - 1 + quotes
        if line[start : start + len(text)] == text:
            return Mark(mark.path, mark.line, start + offset + 1)
    return mark
