"""Findings of checked runs: what is wrong, where in the schemas, and in whose step; and what is
wrong with the outcome of one operation, by its operands."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Final

import numpy as np
from ecsgen_testing.reference.schema import SETTINGS
from ecsgen_testing.reference.values import NUMBERS, Value

Kinds = tuple[str, ...]
"""Kinds of findings."""
KINDS: Final = ("null", "index", "zero", "wrap", "nan", "infinite", "lost")
"""Kinds of findings, the most telling one first."""
USUAL: Final = KINDS[:-1]


@dataclass
class Finding:
    """Something that a kernel worked out, and that its author can hardly want."""

    kind: str
    file: str
    line: int
    column: int
    step: str
    """The text of the step; of `if`, `for` and `while` the head; the condition of `where`."""
    expression: str
    """The smallest part in which it happens; of an assignment or a message the step."""
    operands: dict[str, Any]
    """Values of the names in the expression; of `null` the handle."""
    value: Any
    """The value that the generated code has there."""
    kernel: str
    """The kernel, reduction or table: `Person.catch`, of the world `catch`."""
    component: str
    row: int
    entity: int
    """The entity, or the id, whose step it is."""
    tick: int | None
    """None in a world without time."""
    count: int = 1
    """How often it was met."""
    detail: str = field(default="", repr=False)
    """The operation with its numbers."""
    source: str = field(default="", repr=False)
    """The line of the schema."""
    length: int = field(default=1, repr=False)
    """How many characters of it are meant."""

    @property
    def who(self) -> str:
        """The row and its entity, for people."""
        return described(self.component, self.entity, self.row)

    def __str__(self) -> str:
        """Return the place, the line with carets, and who it was."""
        when = "" if self.tick is None else f", tick {self.tick}"
        values = ", ".join(f"{name} = {value}" for name, value in self.operands.items())
        lines = [
            f"{self.file}:{self.line}:{self.column}: {self.kind}: {self.detail or self.expression}",
            self.source,
            " " * (self.column - 1) + "^" * self.length,
            f"in {self.kernel}, {self.who}{when}" + (f": {values}" if values else ""),
        ]
        return "\n".join(lines)


class CheckError(Exception):
    """The first finding of a checked run; nothing of its kernel has happened."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding


def described(component: str, entity: int, row: int) -> str:
    """Return who a row is: `Person 5v1 (row 4)`, `settings` of what they are."""
    if component == SETTINGS:
        return component
    return f"{component} {entity % 2**32}v{entity >> 32} (row {row})"


def check_kinds(kinds: tuple[str, ...], where: str = "find") -> None:
    """Raise ValueError for kinds that there are none of."""
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(f"{where}: {unknown[0]!r} is none of {', '.join(KINDS)}")


# Operations


_EXACT: Final[Mapping[str, Callable[..., Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "**": operator.pow,
    "@": np.matmul,
    "dot": np.matmul,
    "cross": np.cross,
    "negative": operator.neg,
    "abs": abs,
    "sum": lambda *parts: sum(parts),
}
"""Operations on integers of any size; those that are not here never wrap."""
_DIVISIONS: Final = ("/", "//", "%")


def operation_kinds(name: str, operands: Sequence[Value], result: Value) -> Kinds:
    """Return what is wrong with an operation, function or conversion, by its sign or name."""
    if name in NUMBERS:
        return cast_kinds(operands[0], result)
    kinds: Kinds = ()
    if name in _DIVISIONS:
        divisor = operands[1]
        kinds = () if (np.all(divisor.data) if divisor.shape else divisor.data) else ("zero",)
    kind = result.kind
    if kind == "f":
        return kinds + float_kinds(result, operands)
    if name in _EXACT and kind in "iumM" and _wraps(name, operands, result):
        return (*kinds, "wrap")
    return kinds


def _wraps(name: str, operands: Sequence[Value], result: Value) -> bool:
    """Return whether integers or times do not fit; nobody knows of NaT and of `x // 0`."""
    cells, known = [_exact(operand) for operand in operands], []
    if name == "//":
        known = [cells[1] != 0]
        cells[1] = np.where(known[0], np.asarray(cells[1], object), 1)
    if name == "sum" and not result.shape:
        cells = [np.sum(np.asarray(part, object)) for part in cells]
    wrong = _EXACT[name](*cells) != _exact(result)
    if wrong is False:  # of single integers
        return False
    known += [~np.isnat(operand.data) for operand in operands if operand.kind in "mM"]
    if result.kind in "mM":
        wrong |= np.isnat(result.data)  # NaT by chance
    return bool(np.any(wrong) and np.any(reduce(np.logical_and, known, wrong)))


def _exact(operand: Value) -> Any:
    """Return integers, or the units of times, as Python's; those with a shape in an array."""
    if operand.kind in "mM":
        return np.asarray(operand.data).astype(np.int64).astype(object)
    return np.asarray(operand.data).astype(object) if operand.shape else int(operand.data)


def cast_kinds(operand: Value, result: Value) -> Kinds:
    """Return what is wrong with a conversion."""
    if result.kind == "f":
        return float_kinds(result, (operand,))
    if operand.kind in "mM":
        return ("nan",) if np.any(np.isnat(operand.data)) else ()
    if result.kind not in "iu" or operand.kind not in "iuf":
        return ()
    cells, numbers = np.ravel(operand.data).tolist(), np.ravel(result.data).tolist()
    kinds: Kinds = ("nan",) if any(cell != cell for cell in cells) else ()
    finite = [pair for pair in zip(cells, numbers, strict=False) if math.isfinite(pair[0])]
    if any(int(cell) != number for cell, number in finite) or any(map(math.isinf, cells)):
        kinds = ("wrap", *kinds)
    return kinds


def float_kinds(result: Value, operands: Iterable[Value]) -> Kinds:
    """Return `nan` for a NaN that no operand has, `infinite` for an infinity of finite numbers."""
    cells = result.data
    if math.isfinite(cells) if not result.shape else np.isfinite(cells).all():
        return ()
    are_nan, are_infinite = np.isnan(cells), np.isinf(cells)
    for operand in operands:
        if operand.kind in "fm":
            was_nan, was_infinite = _spread(operand, result)
            are_nan, are_infinite = are_nan & ~was_nan, are_infinite & ~was_nan & ~was_infinite
    kinds: Kinds = ("nan",) if np.any(are_nan) else ()
    return (*kinds, "infinite") if np.any(are_infinite) else kinds


def _spread(operand: Value, result: Value) -> tuple[Any, Any]:
    """Return where an operand is NaN or infinite; in all elements where shapes differ."""
    is_time = operand.kind == "m"
    are_nan = np.isnat(operand.data) if is_time else np.isnan(operand.data)
    are_infinite = np.isinf(operand.data) if not is_time else np.zeros_like(are_nan)
    if operand.shape and operand.shape != result.shape:
        return np.any(are_nan), np.any(are_infinite)
    return are_nan, are_infinite


def is_lost(old: Value, delta: Value, result: Value) -> bool:
    """Return whether a finite number is as it was though something was added."""
    if result.kind != "f":
        return False
    stays = (np.asarray(result.data) == old.data) & np.isfinite(old.data)
    return bool(np.any(stays & (np.asarray(delta.data) != 0)))
