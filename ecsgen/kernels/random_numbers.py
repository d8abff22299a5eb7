"""Random numbers in kernels: `random`, `uniform`, `normal`, `randrange`, `exponential`, `poisson`
and `bernoulli`. `uniform` and the bounds of `randrange` become operations.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from ecsgen.diagnostics import quote
from ecsgen.kernels.literals import Literal
from ecsgen.kernels.operations import DRAWS
from ecsgen.kernels.parsing import KernelError, check_count, position_of
from ecsgen.kernels.type_rules import (
    Operand,
    apply_operation,
    cast,
    common_shape,
    give_default_type,
)
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, Type

_BY_MEAN: Final[dict[str, tuple[tree.Distribution, Type]]] = {
    "exponential": ("exponential", Type("f64")),
    "poisson": ("poisson", Type("i64")),
    "bernoulli": ("bernoulli", BOOL),
}
"""Distributions of numbers without shape, which take their mean, and types of the numbers."""
_MOST: Final = 2**32 - 1
_LONGEST: Final = 4096  # elements, as fields may have


@dataclass(frozen=True, slots=True)
class NoDraws:
    """The reason why there are no random numbers here, and a hint."""

    message: str
    hint: str = ""


def type_draw(
    name: str, operands: list[Operand], node: ast.Call, no_draws: NoDraws | None
) -> Operand:
    """Return the operand for a call that draws; `no_draws`: why none may. Raises KernelError."""
    if no_draws is not None:
        raise KernelError("E812", no_draws.message, node, no_draws.hint)
    wanted = DRAWS[name].arity
    check_count(name, node, wanted, max(wanted, 1))
    if name == "uniform":
        return _uniform(operands, node)
    if name == "randrange":
        return _randrange(operands[0], node)
    if name in _BY_MEAN:
        return _by_mean(name, operands[0], node)
    distribution: Final = "random" if name == "random" else "normal"
    return tree.Draw(Type("f64", _vector(name, operands, node)), distribution, position_of(node))


def _vector(name: str, operands: list[Operand], node: ast.Call) -> tuple[int, ...]:
    if not operands:
        return ()
    (count,) = operands
    if isinstance(count, Literal) and count.choice is None:
        size = count.value
        if isinstance(size, int) and 1 <= size <= _LONGEST:
            return (size,)
    message = f"{quote(name)} takes how many numbers: 1 to {_LONGEST}, written out"
    raise KernelError("E807", message, node.args[0])


def _uniform(operands: list[Operand], node: ast.Call) -> Operand:
    low, high = (_as_f64("uniform", operand, node) for operand in operands)
    bounds = [give_default_type(low), give_default_type(high)]
    type_ = Type("f64", common_shape("uniform", bounds, node))
    draw = tree.Draw(type_, "random", position_of(node))
    width = apply_operation("*", [apply_operation("-", [high, low], node), draw], node)
    return apply_operation("+", [low, width], node)


def _by_mean(name: str, operand: Operand, node: ast.Call) -> tree.Expression:
    mean = give_default_type(_as_f64(name, operand, node))
    if mean.type.shape:
        message = f"{quote(name)} takes one number, not {mean.type}"
        raise KernelError("E803", message, node.args[0])
    distribution, type_ = _BY_MEAN[name]
    return tree.Draw(type_, distribution, position_of(node), (mean,))


def _as_f64(name: str, operand: Operand, node: ast.AST) -> Operand:
    if isinstance(operand, Literal) and operand.choice is None:
        return replace(operand, value=float(operand.value))
    _require_numbers(name, operand, node)
    return cast(give_default_type(operand), "f64")


def _randrange(count: Operand, node: ast.Call) -> tree.Expression:
    _require_numbers("randrange", count, node)
    number = give_default_type(count)
    if number.type.is_float:
        message = f"'randrange' takes a whole number, not {number.type}"
        raise KernelError("E803", message, node.args[0], "write i64(…) to convert it")
    if isinstance(count, Literal) and count.choice is None:
        bound = give_default_type(Literal(min(max(int(count.value), 0), _MOST), count.node))
    elif number.type.scalar in ("u8", "u16", "u32"):
        bound = cast(number, "i64")
    else:
        is_signed = number.type.scalar != "u64"
        wide = cast(number, "i64") if is_signed else number
        most = apply_operation("min", [wide, Literal(_MOST, node)], node)
        cut = apply_operation("max", [most, Literal(0, node)], node) if is_signed else most
        bound = cast(give_default_type(cut), "i64")
    return tree.Draw(Type("i64", bound.type.shape), "range", position_of(node), (bound,))


def _require_numbers(name: str, operand: Operand, node: ast.AST) -> None:
    if not isinstance(operand, Literal) and not operand.type.is_number:
        hint = "write it as in `1 if c else 0`" if operand.type.is_bool else ""
        message = f"{quote(name)} takes numbers, not {operand.type}"
        raise KernelError("E803", message, node, hint)


def numbering(
    expressions: Iterable[tree.Expression], first: int
) -> tuple[Callable[[tree.Expression], tree.Expression], int]:
    """Return a function that numbers the draws of typed texts from `first` in the order in which
    they are written, and the next free number."""
    written = {node.number: node for node in tree.walk(*expressions) if tree.draws_numbers(node)}
    numbers = {}
    for position in sorted(written):
        numbers[position] = first
        first = _end(written[position], first)

    def change(node: tree.Expression) -> tree.Expression:
        return replace(node, number=numbers[node.number]) if tree.draws_numbers(node) else node

    return lambda expression: tree.transform(expression, change) if numbers else expression, first


def count_draws(expressions: Iterable[tree.Expression]) -> int:
    """Return the next free number after those that numbered expressions draw."""
    return range_of_draws(expressions).stop


def range_of_draws(expressions: Iterable[tree.Expression]) -> range:
    """Return the numbers from the first to the last that numbered expressions draw."""
    drawn = [node for node in tree.walk(*expressions) if tree.draws_numbers(node)]
    first = min((node.number for node in drawn), default=0)
    return range(first, max((_end(node, node.number) for node in drawn), default=0))


def _end(node: tree.Draw | tree.RandomChoice | tree.NeighbourAggregate, number: int) -> int:
    """Return the number after those that a node draws from `number`."""
    return number + (node.type.elements if isinstance(node, tree.Draw) else 1)
