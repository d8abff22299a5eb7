"""Reductions and tables: the value of each row, and what is made of all."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from .expressions import ExpressionCompiler
from .neighbours import Surroundings
from .schema import Reduction, Schema
from .scopes import Evaluate, Names, Scope
from .values import Value, settled
from .world import Actor, World

_MASK = 2**64 - 1


def row_values(world: World, reduction: Reduction) -> list[Value]:
    """Return the values of the rows that a component's reduction counts, in order."""
    actors = world.actors(reduction.over)
    if not reduction.runs_all_rows:
        actors = [actor for actor in actors if all(row.is_active for row in actor.values())]
    return _values_of(world, reduction, actors)


def column_values(world: World, column: Reduction) -> list[Value]:
    """Return the values of the rows that a table's column counts, in order."""
    return _values_of(world, column, _present(world, column.over))


def table_rows(world: World, rows: Reduction) -> list[Actor]:
    """Return the actors that have a line each in a table."""
    where, _ = _compiled(world.schema, rows)
    reading = Surroundings(world, rows)
    actors = _present(world, rows.over)
    return [actor for actor in actors if where(Scope(reading, actor, 0, {}))]


def reduced(function: str, values: Sequence[Value]) -> tuple[float, float]:
    """Return the result of a reduction of values without shape, and how far off it may be.

    Of no values: 0 for sums and counts, else NaN. Sums of integers wrap.
    """
    if function == "count":
        return float(sum(bool(value.data) for value in values)), 0.0
    if function == "sum" and (not values or values[0].kind in "iu"):
        total = sum(int(value.one) for value in values) & _MASK
        is_signed = bool(values) and values[0].kind == "i"
        return float(total - 2**64 if is_signed and total >> 63 else total), 0.0
    numbers = [float(value.one) for value in values]
    if not numbers:
        return math.nan, 0.0
    return _of_numbers(function, numbers)


def _of_numbers(function: str, numbers: list[float]) -> tuple[float, float]:
    if function in ("min", "max"):
        has_nan = any(map(math.isnan, numbers))
        return math.nan if has_nan else (min if function == "min" else max)(numbers), 0.0
    if not all(map(math.isfinite, numbers)):
        return math.nan, math.inf  # by the order of additions NaN or infinite
    count, total = len(numbers), math.fsum(numbers)
    slack = 1e-12 * math.fsum(map(abs, numbers))
    if function == "std":
        return math.dist(numbers, [total / count] * count) / math.sqrt(count), slack
    if function == "median":
        return statistics.median(numbers), slack
    if function == "gini":
        weighted = math.fsum(rank * number for rank, number in enumerate(sorted(numbers), 1))
        if not total:
            return math.nan, 0.0
        spread = math.fsum(rank * abs(number) for rank, number in enumerate(sorted(numbers), 1))
        slack += 1e-9 * spread * slack / total**2
        return 2 * weighted / (count * total) - (count + 1) / count, slack + 1e-9
    return total / (count if function == "mean" else 1), slack


def _present(world: World, over: str) -> list[Actor]:
    """Return the actors of living entities whose rows are all active."""

    def is_present(actor: Actor) -> bool:
        return all(row.is_active and world.lives(row) for row in actor.values())

    return [actor for actor in world.actors(over) if is_present(actor)]


def _values_of(world: World, reduction: Reduction, actors: Sequence[Actor]) -> list[Value]:
    where, evaluate = _compiled(world.schema, reduction)
    reading = Surroundings(world, reduction)
    with np.errstate(all="ignore"):
        scopes = [Scope(reading, actor, 0, {}) for actor in actors]
        return [settled(evaluate(scope)) for scope in scopes if where(scope)]


@cache
def _compiled(schema: Schema, reduction: Reduction) -> tuple[Callable[[Scope], bool], Evaluate]:
    compiler = ExpressionCompiler(Names.of(schema, reduction))
    with np.errstate(all="ignore"):
        where = compiler.condition(reduction.where)
        return where, compiler.compile(reduction.value).evaluate
