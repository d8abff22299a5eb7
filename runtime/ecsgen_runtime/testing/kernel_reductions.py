"""Reductions, compared with what Python makes of the values of all rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .kernel_inputs import Inputs, Value, columns_of, filled, run, running, used_rows
from .kernel_rows import Row
from .subject import Subject


def check(
    subject: Subject,
    name: str,
    value: Callable[[Row], Value],
    how: str,
    rows: int,
    seed: int,
    *,
    all_rows: bool = False,
) -> None:
    """Compare a reduction with what Python makes of the values of all rows.

    Also with the row of the greatest value, and that of the least, in the last place.
    `value` gives nothing for rows that the reduction leaves out.
    """
    rng = np.random.default_rng(seed)
    rows = min(rows, subject.reserve or rows)
    manager = filled(subject, rows, rng, name, Inputs({}, rng), tame=True)
    if hasattr(manager, "deactivate_many"):
        manager.deactivate_many(rng.random(manager.data.n) < 0.3)

    def values() -> list[Value]:
        columns = columns_of(subject, manager)
        bound = manager.data.n if all_rows else running(manager)
        with np.errstate(all="ignore"):
            return [
                value(Row(columns, int(row), -1))
                for row in used_rows(manager)
                if row < bound
            ]

    found = values()
    matching = [one for one in found if one]
    _compare_reduction(run(manager, name, {}), matching, how)
    for choose in (max, min) if matching else ():
        found = values()
        places = [k for k in range(len(found)) if found[k]]
        last = choose(places, key=lambda k: found[k][0])
        _rotate(subject, manager, len(found) - 1 - last)
        matching = [one for one in values() if one]
        _compare_reduction(run(manager, name, {}), matching, how)


def _compare_reduction(found: Any, values: list[Value], how: str) -> None:
    if how == "count":
        assert found == sum(bool(one[0]) for one in values)
    elif not values:
        assert np.isnan(found).all() if how != "sum" else not np.any(found)
    else:
        for got, given in zip(np.ravel(found), zip(*values, strict=True), strict=True):
            wanted, slack = _reduced(how, [float(one) for one in given])
            assert abs(float(got) - wanted) <= slack


def _rotate(subject: Subject, manager: Any, places: int) -> None:
    """Let the fields of all rows go some places on, those of the last ones to the first."""
    names = [f.name for f in subject.whole]
    used = used_rows(manager)
    for name in (*names, *(part for parts in subject.split.values() for part in parts)):
        column = getattr(manager.data, name)
        column[used] = np.roll(column[used], places, axis=0)


def _reduced(how: str, values: list[float]) -> tuple[float, float]:
    """Return what a reduction should give, and how far off it may be."""
    if how in ("min", "max"):
        return (min if how == "min" else max)(values), 0.0
    divisor = len(values) if how == "mean" else 1
    slack = 1e-12 * math.fsum(map(abs, values))
    return math.fsum(values) / divisor, slack
