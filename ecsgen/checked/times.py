"""Times of a world's kernels, fused passes, tables, reductions and schedules, as generated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from ecsgen_runtime.world.queries.query import RowQuery, join_of
from ecsgen_runtime.world.world_base import WorldBase

from ecsgen.checked.methods import (
    Original,
    Replacement,
    Wrap,
    around,
    conditions_of_schedules,
    methods_of,
    package_folder,
    schemas_in,
)
from ecsgen.checked.schema_texts import SchemaTexts

if TYPE_CHECKING:
    import pandas

_MEASURED: Final = """\
def measured({parameters}):
    _count = {rows}
    _begun = _now()
    try:
        return _call({parameters})
    finally:
        _took = _now() - _begun
        _sums = _sums_within[_schedules[-1]]
        _sums.calls += 1
        _sums.seconds += _took
        if _took > _sums.longest:
            _sums.longest = _took
        _sums.rows += {rows_run}
"""
"""A method with its own parameters: to pack and unpack them takes a third of what this takes."""
_OF_QUERY: Final = "_source.latest.count"


class Time(NamedTuple):
    """How long the calls of one method took, within one schedule."""

    name: str
    """The kernel, `stray + drift` of a fused pass; the table, reduction or schedule; what a
    schedule sets, `settings.dt = 0.5`."""
    within: str
    """The schedule, else ""."""
    calls: int
    seconds: float
    share: float
    """Of the time since the block began."""
    longest: float
    """Of one call, in seconds; the first may compile."""
    rows: int
    """Rows of all calls; 0 of tables, schedules and settings."""
    ns_per_row: float


class _Sums:
    __slots__ = ("calls", "longest", "rows", "seconds")

    def __init__(self) -> None:
        self.calls = self.rows = 0
        self.seconds = self.longest = 0.0


class Times:
    """Times of a block, also while it is open."""

    def __init__(self) -> None:
        self._begun, self._ended = perf_counter(), 0.0
        self._sums: dict[str, dict[str, _Sums]] = defaultdict(partial(defaultdict, _Sums))
        """By name; each by schedule. Those of several worlds are added up."""
        self._schedules = [""]

    def end(self) -> None:
        """Take note that the block has ended."""
        self._ended = perf_counter()

    def restart(self) -> None:
        """Forget all times, and begin anew."""
        for sums_within in self._sums.values():
            sums_within.clear()
        self._begun = perf_counter()

    def table(self) -> list[Time]:
        """Return the times, most seconds first."""
        since, times = (self._ended or perf_counter()) - self._begun, list[Time]()
        for name, sums_within in self._sums.items():
            for within, sums in sums_within.items():
                calls, seconds, rows = sums.calls, sums.seconds, sums.rows
                each = seconds * 1e9 / rows if rows else 0.0
                share = seconds / since
                times.append(Time(name, within, calls, seconds, share, sums.longest, rows, each))
        return sorted(times, key=lambda time: -time.seconds)

    def frame(self) -> pandas.DataFrame:
        """Return the table as one of pandas."""
        import pandas as pd

        return pd.DataFrame(self.table(), columns=Time._fields)

    def __repr__(self) -> str:
        """Return the table as text."""
        times = self.table()
        width = max([4, *(len(time.name) for time in times)])
        inner = max([6, *(len(time.within) for time in times)])
        lines = [
            f"{'name':{width}}  {'within':{inner}}  {'calls':>8}  {'seconds':>9}  {'share':>6}  "
            f"{'longest':>9}  {'ns/row':>9}"
        ]
        lines += [
            f"{t.name:{width}}  {t.within:{inner}}  {t.calls:8}  {t.seconds:9.4f}  {t.share:6.1%}  "
            f"{t.longest:9.6f}  {t.ns_per_row:9.1f}"
            for t in times
        ]
        return "\n".join(lines)

    def wrap(self, name: str, rows: str, source: Any, original: Original) -> Replacement:
        """Return what adds its time to a method; `rows`: the number of rows of `_source`, before
        the call adds or destroys some, but of a query, whose rows the call finds, after it."""
        rows, rows_run = ("0", rows) if rows == _OF_QUERY else (rows, "_count")
        if "rows" in original.names:
            rows = f"{rows} if rows is None else _count_named(rows)"
        known = {
            "_call": original.call,
            "_count_named": _count_named,
            "_now": perf_counter,
            "_schedules": self._schedules,
            "_source": source,
            "_sums_within": self._sums[name],
        }
        parameters = ", ".join(("_self", *original.names))
        exec(_MEASURED.format(parameters=parameters, rows=rows, rows_run=rows_run), known)
        measured: Replacement = known["measured"]
        return measured

    def wrap_schedule(self, name: str, original: Original) -> Replacement:
        """Return what adds its time to a schedule, and knows which kernels are within it."""

        def scheduled(*args: Any) -> Any:
            self._schedules.append(name)
            try:
                return original.call(*args)
            finally:
                self._schedules.pop()

        return self.wrap(name, "0", None, original._replace(call=scheduled))


def _count_named(rows: Any) -> int:
    """Return how many rows are named, by their numbers or by a mask."""
    array = np.asarray(rows)
    return int(np.count_nonzero(array)) if array.dtype == bool else array.size


@contextmanager
def timed(world: WorldBase, schemas: Path | str | None = None) -> Iterator[Times]:
    """Measure how long a world's kernels take, until the block ends; below 1 µs a call.

    `schemas`: their folder, by default what `ecsgen build` takes here.
    """
    texts = schemas_in(package_folder(world), schemas)
    with timing(world, texts, Times()) as times:
        yield times


@contextmanager
def timing(
    world: WorldBase, texts: SchemaTexts, times: Times, give_way: Callable[[], None] | None = None
) -> Iterator[Times]:
    """Add the times of a world's methods to others until the block ends. `give_way`: ends this
    block when another one of the world begins."""
    wraps: list[tuple[Any, str, Wrap]] = []
    conditions = conditions_of_schedules(texts)
    for method in methods_of(world, texts):
        rows, source = _rows_of(world, texts, method.over)
        wrap = partial(times.wrap, method.name, rows, source)
        wraps.append((method.owner, method.attribute, wrap))
        if method.name in conditions:
            wraps.append((method.owner, f"_value_of_{method.attribute}", wrap))
    for schedule, entries in texts.project.world.schedules:
        wraps.append((world, schedule, partial(times.wrap_schedule, schedule)))
        for entry in entries:
            if entry.assignment is not None:
                wrap = partial(times.wrap, f"{entry.set} = {entry.to}", "0", None)
                wraps.append((world, f"_{entry.assignment.name}", wrap))
    with around(world, wraps, give_way):
        try:
            yield times
        finally:
            times.end()


def _rows_of(world: WorldBase, texts: SchemaTexts, over: str) -> tuple[str, Any]:
    """Return the number of rows of a component, group or query as an expression of `_source`, and
    that; 0 of tables and chunks."""
    component = texts.schema.components.get(over)
    if not over or (component is not None and component.is_chunked):
        return "0", None
    if component is not None:
        return "_source.n", getattr(world, component.module).data
    source = getattr(world, over)
    if isinstance(source, RowQuery):
        return _OF_QUERY, join_of(source)
    return "len(_source)", source
