"""Reductions and tables: the value of each row, and what is made of all."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import NamedTuple

import numpy as np

from .expressions import ExpressionCompiler
from .naive_world import Actor, World
from .neighbours import Surroundings
from .schema import Reduction, Schema
from .scopes import Expression, Names, Scope
from .values import Value, reduced_type, settled, value

_MASK = 2**64 - 1


def row_values(world: World, reduction: Reduction) -> list[Value]:
    """Return the values of the rows that a component's reduction counts, in order."""
    return _values_of(world, reduction, actors_to_count(world, reduction))


def counted_places(world: World, reduction: Reduction) -> list[bool]:
    """Return, for each row over which a component's reduction runs, whether it counts."""
    scopes = _scopes_of(world, reduction, actors_to_count(world, reduction))
    with np.errstate(all="ignore"):
        return [*map(_compiled(world.schema, reduction).where, scopes)]


def actors_to_count(world: World, reduction: Reduction) -> Sequence[Actor]:
    actors = world.actors(reduction.over)
    if reduction.runs_all_rows:
        return actors
    return [actor for actor in actors if all(row.is_active for row in actor.values())]


def column_values(world: World, column: Reduction) -> list[Value]:
    """Return the values of the rows that a table's column counts, in order."""
    return _values_of(world, column, present_actors(world, column.over))


def reduced_value(world: World, reduction: Reduction) -> Value:
    """Return the value that a component's reduction has now."""
    sample = _compiled(world.schema, reduction).expression.sample
    type_ = reduced_type(reduction.function, sample)
    return value(type_, _result(reduction.function, row_values(world, reduction)))


def reduced(function: str, values: Sequence[Value]) -> tuple[float, float]:
    """Return the result of a reduction of values without shape, and how far off it may be where
    others add in another order."""
    result, numbers = float(_result(function, values)), [float(value.one) for value in values]
    if not numbers or function in ("count", "min", "max"):
        return result, 0.0
    if function == "sum" and values[0].kind in "iu":
        return result, 0.0
    if not all(map(math.isfinite, numbers)):
        return math.nan, math.inf  # by the order of additions NaN or infinite
    slack, total = 1e-12 * math.fsum(map(abs, numbers)), math.fsum(numbers)
    if function == "gini" and total:
        spread = math.fsum(rank * abs(number) for rank, number in enumerate(sorted(numbers), 1))
        slack += 1e-9 * spread * slack / total**2 + 1e-9
    return result, slack


def _result(function: str, values: Sequence[Value]) -> int | float:
    """Return the result of a reduction of values without shape, added in their order.

    Of no values: 0 for sums and counts, else NaN. Sums of integers wrap.
    """
    if function == "count":
        return sum(bool(value.data) for value in values)
    if function == "sum" and (not values or values[0].kind in "iu"):
        total = sum(int(value.one) for value in values) & _MASK
        is_signed = bool(values) and values[0].kind == "i"
        return total - 2**64 if is_signed and total >> 63 else total
    numbers = [float(value.one) for value in values]
    if function in ("min", "max") and numbers:
        has_nan = any(map(math.isnan, numbers))
        return math.nan if has_nan else (min if function == "min" else max)(numbers)
    return _of_numbers(function, numbers) if numbers else math.nan


def _of_numbers(function: str, numbers: list[float]) -> float:
    count, total = len(numbers), _sum(numbers)
    if function == "std":
        return math.sqrt(_sum([(number - total / count) ** 2 for number in numbers]) / count)
    if function == "median":
        return float(np.median(numbers))
    if function == "gini":
        weighted = _sum([rank * number for rank, number in enumerate(sorted(numbers), 1)])
        return 2 * weighted / (count * total) - (count + 1) / count if total else math.nan
    return total / (count if function == "mean" else 1)


def _sum(numbers: list[float]) -> float:
    return reduce(operator.add, numbers, 0.0)  # `sum` compensates from Python 3.12 on


def present_actors(world: World, over: str) -> list[Actor]:
    """Return the actors of living entities whose rows are all active."""
    actors = world.actors(over)
    return [a for a in actors if all(row.is_active and world.lives(row) for row in a.values())]


def _values_of(world: World, reduction: Reduction, actors: Sequence[Actor]) -> list[Value]:
    compiled, scopes = _compiled(world.schema, reduction), _scopes_of(world, reduction, actors)
    evaluate, where = compiled.expression.evaluate, compiled.where
    with np.errstate(all="ignore"):
        return [settled(evaluate(scope)) for scope in scopes if where(scope)]


def _scopes_of(world: World, reduction: Reduction, actors: Sequence[Actor]) -> list[Scope]:
    reading = reading_of(world, reduction)
    return [Scope(reading, actor, 0, {}) for actor in actors]


def reading_of(world: World, reduction: Reduction) -> Surroundings:
    """Return what rows see, with the values of other reductions."""
    reading, others = Surroundings(world, reduction), _compiled(world.schema, reduction).others
    reading.reduced = {name: reduced_value(world, other) for name, other in others.items()}
    return reading


class _Compiled(NamedTuple):
    where: Callable[[Scope], bool]
    expression: Expression
    others: dict[str, Reduction]


@cache
def _compiled(schema: Schema, reduction: Reduction) -> _Compiled:
    names = Names.of(schema, reduction)
    compiler = ExpressionCompiler(names)
    with np.errstate(all="ignore"):
        where = compiler.condition(reduction.where)
        return _Compiled(where, compiler.compile(reduction.value), names.reductions)
