"""Series for charts: numbers of rows, reductions and records, over the steps of a run.

A series is computed after each step while somebody looks at it, and not otherwise.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.component_readers import InspectedWorld
from ecsgen.inspector.json_values import Json, json_number
from ecsgen.inspector.tick_queue import RequestError, TickQueue, make_not_found

KEPT: Final = 100_000
"""Number of steps kept."""
SENT: Final = 2000
"""Steps in an answer; of more, the extremes of each part are sent."""
_LOOKED_AT: Final = 5.0
"""Seconds after a request in which its series are computed."""
_MOST: Final = 64
"""Maximum of names in a request."""

Value = float | None


class Series:
    """The series of a world."""

    def __init__(self, world: InspectedWorld, queue: TickQueue, time: Callable[[], int]) -> None:
        self._world = world
        self._ask = queue.run_in_tick
        self._time = time
        """Returns the number of steps done."""
        self.sources = _find_sources(world)
        """Functions that return the value of each series now, by name."""
        self._steps: list[int] = []
        self._values: dict[str, list[Value]] = {}
        self._asked: dict[str, float] = {}
        """When each series was asked for."""

    @property
    def is_asked(self) -> bool:
        """True while somebody looks at a series."""
        return bool(self._asked)

    def note(self) -> None:
        """Compute the series that are looked at, after a step."""
        if not self._asked:  # the usual case
            return
        now = monotonic()
        self._asked = {n: at for n, at in self._asked.items() if now - at < _LOOKED_AT}
        if not self._asked:
            return
        if self._steps and self._steps[-1] == self._time():
            self._drop(slice(-1, None))
        self._steps.append(self._time())
        for name in {*self._asked, *self._values}:
            values = self._values.setdefault(name, [None] * (len(self._steps) - 1))
            values.append(self._value(name) if name in self._asked else None)
        if len(self._steps) >= KEPT + KEPT // 10:
            self._drop(slice(0, len(self._steps) - KEPT))

    def _value(self, name: str) -> Value:
        """Return the value of a series; None for one that a checked run refuses."""
        try:
            return self.sources[name]()
        except Exception:  # what the program itself calls is told
            return None

    def _drop(self, part: slice) -> None:
        del self._steps[part]
        for values in self._values.values():
            del values[part]

    async def named(self, names: list[str], since: int) -> Json:
        """Return the steps after `since`, and the values of each series at them."""
        if len(names) > _MOST:
            raise RequestError(400, f"names: wanted at most {_MOST}")
        for name in names:
            if name not in self.sources:
                raise make_not_found("series", name)

        def copy() -> tuple[NDArray[np.int64], list[NDArray[np.float64]]]:
            is_new = any(name not in self._values for name in names)
            self._asked |= dict.fromkeys(names, monotonic())
            if is_new:
                self.note()
            steps = np.array(self._steps, np.int64)
            after = int(steps.searchsorted(since, "right"))
            lines = [np.array(self._values[name][after:], np.float64) for name in names]
            return steps[after:], lines

        steps, lines = await self._ask(copy)
        return await asyncio.to_thread(_series_json, steps, dict(zip(names, lines, strict=True)))

    async def records(self, since: int) -> Json:
        """Return the records of the world; their steps are its ticks."""

        def copy() -> dict[str, dict[str, NDArray[Any]]]:
            return {
                name: {column: cells[-KEPT:].copy() for column, cells in table.columns.items()}
                for name, table in _tables_of_lines(self._world)
            }

        tables = await self._ask(copy)
        return await asyncio.to_thread(_joined_records, tables, since)


def _find_sources(world: InspectedWorld) -> dict[str, Callable[[], Value]]:
    """Return functions that compute the series: counts, reductions, and last lines of records."""
    sources: dict[str, Callable[[], Value]] = {}
    for name in (*world.MANAGERS, *world.QUERIES):
        sources[name] = partial(len, getattr(world, name))
    for name in world.MANAGERS:
        manager = getattr(world, name)
        for reduction in _reductions_of(type(manager)):
            sources[f"{name}.{reduction}"] = partial(_number, getattr(manager, reduction))
    for name, table in _tables_of_lines(world):
        for column in table.columns:
            sources[f"{name}.{column}"] = partial(_last_cell, table, column)
    return sources


def _reductions_of(kind: type[Any]) -> Iterable[str]:
    """Return the names of methods without arguments that the schema's reductions became. Only
    generated classes are looked through: methods of the program's own may change the world."""
    generated = next(each for each in kind.__mro__ if "LAYOUT" in vars(each))
    for name, method in vars(generated).items():
        if name.startswith("_") or not inspect.isfunction(method):
            continue
        signature = inspect.signature(method)
        if len(signature.parameters) == 1 and signature.return_annotation in ("int", "float"):
            yield name


def _tables_of_lines(world: InspectedWorld) -> Iterable[tuple[str, Any]]:
    """Return the tables of records that have one line each time, not one for each row."""
    for name in getattr(world, "_RECORD_TABLES", ()):
        table = getattr(world.records, name)  # type: ignore[attr-defined]
        if not {"entity", "id", "row"} & {*table.columns}:
            yield name, table


def _number(compute: Callable[[], float]) -> Value:
    value = float(compute())
    return value if math.isfinite(value) else None


def _last_cell(table: Any, column: str) -> Value:
    cells = table.columns[column]
    return _number(lambda: cells[-1]) if len(cells) else None


def _joined_records(tables: dict[str, dict[str, NDArray[Any]]], since: int) -> Json:
    """Return the columns of tables over the ticks of all, NaN where a table has no line."""
    every = [columns["tick"] for columns in tables.values()]
    ticks = np.unique(np.concatenate([np.empty(0, np.int64), *every]))
    ticks = ticks[ticks > since]
    lines: dict[str, NDArray[np.float64]] = {}
    for name, columns in tables.items():
        is_after = columns["tick"] > since
        for column, cells in columns.items():
            if column != "tick":
                line = lines[f"{name}.{column}"] = np.full(len(ticks), np.nan)
                line[ticks.searchsorted(columns["tick"][is_after])] = cells[is_after]
    return _series_json(ticks, lines)


def _series_json(steps: NDArray[np.int64], lines: dict[str, NDArray[np.float64]]) -> Json:
    chosen = thin(len(steps), [*lines.values()])
    cells = {name: line[chosen].tolist() for name, line in lines.items()}
    return {"steps": steps[chosen].tolist()} | {
        name: [None if math.isnan(value) else json_number(value) for value in line]
        for name, line in cells.items()
    }


def thin(n: int, lines: list[NDArray[np.float64]]) -> NDArray[np.intp]:
    """Return ascending indices of n steps: all, or of each part the extremes of each line."""
    if n <= SENT:
        return np.arange(n)
    parts = max(1, SENT // (2 * max(1, len(lines))))
    ends = np.linspace(0, n, parts + 1).astype(np.intp)
    chosen = {0, n - 1}
    for line in lines:
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            part = line[start:end]
            if not np.isnan(part).all():
                chosen |= {start + int(np.nanargmin(part)), start + int(np.nanargmax(part))}
    return np.array(sorted(chosen), np.intp)
