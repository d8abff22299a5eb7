"""Cases of kernels: generated code and the reference interpreter, on the same drawn worlds."""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError, EcsError
from ecsgen_runtime.tables.bulk import Tuning
from hypothesis import strategies as st
from numpy.typing import NDArray

from .drawn_worlds import DrawnWorld, tame_numbers
from .reference.kernel_steps import compile_kernel
from .reference.naive_world import World
from .reference.neighbours import Hood
from .reference.reduced_values import column_values, counted_places, reduced, row_values
from .reference.run import Run, due_names, run_names, setter
from .reference.schema import Kernel, Reduction, Schema
from .reference.scopes import Scope
from .reference.values import NUMBERS, Value, dtype_of
from .reference.world_changes import apply_run, write_column
from .reference.world_copy import copied_world, manager_of, rows_of, stacked
from .state_machine import SEARCH as SEARCH
from .subject import refuses, skipped_if_full

SEEDS: Final = st.integers(0, 2**32 - 1)
SIZES: Final = st.sampled_from([0, 1, 2, 9, 33, 33, 33])
SEVERAL_BLOCKS: Final = 2500
"""Rows that reductions take in more than two blocks, compiled or not."""
SMALL_BLOCKS: Final = partial(Tuning.override, block_rows=(8, 8))
"""Lets kernels take few rows in several blocks."""
_INEXACT: Final = re.compile(
    r"\b(exp|log|log2|log10|sin|cos|tan|asin|acos|atan2|sinh|cosh|tanh|hypot|unit|angle|rotate)\("
    r"|\*\*"
)
"""Functions that may differ in their last bits."""


def read_schema(text: str) -> Schema:
    """Return what the schemas say, from JSON."""
    return Schema(json.loads(text, strict=False))


def check_kernel(kind: Any, schema: Schema, name: str, rows: int, seed: int) -> None:
    """Compare a kernel with the interpreter; `kind`: the class of the world.

    First with half of the rows, then with all, then with other values in buffers that may have
    moved, then, of a component's kernel, for some rows in any order, and for those of a mask.
    """
    rng = np.random.default_rng(seed)
    kernel = schema.kernel(name)
    drawn = DrawnWorld(kind, schema, [kernel], rng)
    comparison = KernelComparison(drawn, kernel, seed)
    with skipped_if_full():
        drawn.add_rows(rows // 2)
        comparison.check(comparison.call())
        drawn.add_rows(rows - rows // 2)
    call = comparison.call()
    approach_border(comparison, call)
    comparison.check(call)
    comparison.check_radii(call)
    for _ in range(2):
        drawn.draw_fields()
        comparison.move_buffers()
        comparison.check(comparison.call())
    if kernel.home and not kernel.reads_parent:
        drawn.draw_fields()
        used = rows_of(comparison.holder)
        chosen = rng.permutation(used)[: (len(used) + 1) // 2].tolist()
        comparison.check(comparison.call(chosen))
        mask = np.isin(np.arange(comparison.holder.data.n), chosen)
        comparison.check(comparison.call(sorted(chosen), mask))


@contextmanager
def noted(errors: list[str]) -> Iterator[None]:
    """Collect errors of entities and rows, and of radii, as text."""
    try:
        yield
    except (EcsError, ValueError) as error:
        errors.append(repr(error))


class Call(NamedTuple):
    """Arguments of a call, for the kernel and for the interpreter.

    The interpreter takes values of actors alone where a kernel takes those of holes, too.
    """

    keywords: dict[str, Any]
    values: dict[str, Any]
    places: list[int] | None
    """Which of the actors run; None for all."""


class KernelComparison:
    """A kernel on a drawn world, and the interpreter on copies of it."""

    def __init__(self, drawn: DrawnWorld, kernel: Kernel, seed: int) -> None:
        self.drawn, self._seed = drawn, seed
        self.world, self.schema, self.kernel = drawn.world, drawn.schema, kernel
        self.holder = drawn.manager(self.kernel.home) if self.kernel.home else drawn.world
        """Has the kernel as a method."""
        self.is_exact = is_exact(drawn.schema, self.kernel.text)

    def call(self, rows: list[int] | None = None, named: Any = None) -> Call:
        """Return arguments for all rows or some; `named`: how the call names these."""
        kernel = self.kernel
        if kernel.home:
            used, count = rows_of(self.holder), self.holder.data.n
        else:
            actors = copied_world(self.world, self.schema).actors(kernel.over)
            if kernel.over in self.schema.components:
                actors = [actor for actor in actors if actor[kernel.over].is_active]
            used, count = [*range(len(actors))], len(actors)
        places = None if rows is None else [used.index(row) for row in rows]
        if rows is not None or kernel.turns == "given":  # holes have no turns
            count = len(used if rows is None else rows)
            used = [*range(count)]
        keywords, values = dict[str, Any](), dict[str, Any]()
        for name, argument in kernel.args.items():
            shape = (count, *argument.shape) if argument.is_each else argument.shape
            if name == kernel.turn_count:  # as many as there are rows, or more or none
                numbers = np.asarray(self.drawn.rng.integers(2 * count + 1))
            else:
                numbers = self.drawn.draw_argument(name, argument, shape)
            keywords[name] = numbers[()] if numbers.dtype.kind in "mM" else numbers.tolist()
            values[name] = numbers[used] if argument.is_each else keywords[name]
        if rows is not None:
            keywords["rows"] = rows if named is None else named
        return Call(keywords, values, places)

    def run(self, call: Call) -> Run:
        """Return a call of the interpreter on a copy of the world."""
        copy = copied_world(self.world, self.schema)
        copy.seed(self._seed)
        return Run(copy, self.kernel.name, call.places, call.values)

    def check(self, call: Call) -> None:
        """Call the kernel and compare what it leaves with what the interpreter does."""
        if hasattr(self.holder, "seed"):
            self.holder.seed = self._seed
        errors = list[str]()
        try:
            run = self.run(call)
        except ValueError:  # a reduction is no radius now
            self._refuses(call.keywords, r"\.\w+: ")
            return
        run.act()
        is_changed = run.despawned or run.spawned or run.changes
        twin = deepcopy(self.world) if is_changed else None
        with np.errstate(all="ignore"), SMALL_BLOCKS():
            if twin is not None:
                with noted(errors):
                    apply_run(run, twin)
            expected = self.world if twin is None else twin
            versions = [manager.version for manager in self._managers(expected)]
            with noted(errors), warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".* cut off ", RuntimeWarning)
                getattr(self.holder, self.kernel.own_name)(**call.keywords)
        assert errors == errors[:1] * 2  # births may be refused
        assert [manager.version for manager in self._managers(self.world)] == versions
        wanted = run.world if twin is None else copied_world(twin, self.schema)
        self._compare(copied_world(self.world, self.schema), wanted)

    def check_radii(self, call: Call) -> None:
        """Check that a radius that is none is refused, and nothing is done then."""
        for near in self.kernel.near.values():
            if not isinstance(near.radius, str) or near.radius not in self.kernel.args:
                continue
            is_on_grid = bool(Hood.of(self.schema, self.kernel, near).grid)
            wrong = {near.radius: -1 if is_on_grid else 0}
            self._refuses({**call.keywords, **wrong}, near.radius)

    def _refuses(self, keywords: Mapping[str, Any], match: str) -> None:
        """Check that a call is refused, and nothing is done then."""
        before = copied_world(self.world, self.schema)
        with pytest.raises((ValueError, OverflowError), match=match):
            getattr(self.holder, self.kernel.own_name)(**keywords)
        self._compare(copied_world(self.world, self.schema), before)

    def _managers(self, world: Any) -> list[Any]:
        names = [n for n in self.drawn.names if not self.schema.components[n].is_chunked]
        return [manager_of(world, self.schema, name) for name in names]

    def _compare(self, actual: World, wanted: World) -> None:
        compare_worlds(self.drawn.names, actual, wanted, self.is_exact)

    def move_buffers(self) -> None:
        """Move the rows of half of the managers: kernels may have kept views of them."""
        for manager in self._managers(self.world):
            if hasattr(manager, "reserve") and self.drawn.rng.random() < 0.5:
                with suppress(CapacityError):
                    manager.reserve(manager.capacity + 1)


def compare_worlds(names: Sequence[str], actual: World, wanted: World, is_exact: bool) -> None:
    """Compare the rows of two worlds, in order, and their fields."""
    assert actual.entities == wanted.entities
    for setting, value in actual.settings.items():
        cells, wanted_cells = value.data, wanted.settings[setting].data
        assert same_cells(cells, wanted_cells, is_exact), f"settings.{setting}"
    for name in names:
        pairs = [
            [(row.owner, row.id, row.is_active) for row in world.rows[name]]
            for world in (actual, wanted)
        ]
        assert pairs[0] == pairs[1], name
        for field in actual.schema.components[name].fields:
            cells, wanted_cells = stacked(actual, name, field), stacked(wanted, name, field)
            assert same_cells(cells, wanted_cells, is_exact), f"{name}.{field}"


def is_exact(schema: Schema, text: str) -> bool:
    """Return whether the interpreter has a text's values to the bit."""
    return _INEXACT.search(_with_named(schema, text)) is None


def _with_named(schema: Schema, text: str) -> str:
    """Return a text with those of the derived values and reductions that it names."""
    texts = dict[str, str]()
    for component in schema.components.values():
        texts |= {name: ast.unparse(value) for name, value in component.derived.items()}
        texts |= {name: reduction.text for name, reduction in component.reductions.items()}
    todo = [text]
    while todo:
        words = re.findall(r"\w+", todo.pop())
        named = [texts.pop(word) for word in dict.fromkeys(words) if word in texts]
        text, todo = " ".join([text, *named]), [*todo, *named]
    return text


def same_cells(cells: NDArray[Any], wanted: NDArray[Any], is_exact: bool) -> bool:
    """Return whether two columns are the same to the bit; NaN is NaN, and 0.0 is -0.0."""
    if cells.dtype.kind in "mM":
        return cells.tobytes() == wanted.tobytes()
    if cells.dtype.kind != "f":
        return bool((cells == wanted).all())
    if not is_exact:
        with np.errstate(all="ignore"):
            return bool(np.isclose(cells, wanted, 1e-3, 1e-3, equal_nan=True).all())
    return bool(((cells == wanted) | (np.isnan(cells) & np.isnan(wanted))).all())


# Random rows are far from where a condition turns, and a kernel that asks for something a little
# different would treat them alike.

_PAIRS: Final = 3
_HALVINGS: Final = 60
_Cells = dict[tuple[str, str], NDArray[Any]]


def approach_border(comparison: KernelComparison, call: Call) -> None:
    """Move some rows to both sides of the condition's border, if the row's fields decide."""
    compiled = compile_kernel(comparison.schema, comparison.kernel)
    names = compiled.names
    if comparison.kernel.where is None or names.hoods or names.draws or not comparison.is_exact:
        return
    run, rng = comparison.run(call), comparison.drawn.rng
    scopes = [run.scopes[k] for k in rng.permutation(len(run.scopes))]
    with np.errstate(all="ignore"):
        for scope in scopes[::3]:  # of whole numbers, for which more conditions hold
            cells = _cells_of(scope, run)
            _put_cells(scope, {k: _small_integers(column, rng) for k, column in cells.items()})
        inside = [scope for scope in scopes if compiled.where(scope)]
        outside = [scope for scope in scopes if scope not in inside]
        for pair in list(zip(inside, outside, strict=False))[:_PAIRS]:
            _halve(run, compiled.where, *pair)
    for name, field in {key for scope in scopes[:1] for key in _cells_of(scope, run)}:
        write_column(run.world, comparison.world, name, field)


def _cells_of(scope: Scope, run: Run) -> _Cells:
    """Return the numbers of a row that may change."""
    return {
        (name, field): np.asarray(row.cells[field].data)
        for name, row in scope.rows.items()
        for component in [run.components[name]]
        for field, f in component.fields.items()
        if (f.type in NUMBERS or f.type == "bool") and field not in component.unique
    }


def _put_cells(scope: Scope, cells: _Cells) -> None:
    for (name, field), data in cells.items():
        old = scope.rows[name].cells[field]
        scope.rows[name].cells[field] = Value(old.type, np.asarray(data, dtype_of(old.type)))


def _small_integers(cell: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    low = 0 if cell.dtype.kind in "bu" else -1
    return np.asarray(rng.integers(low, 2, cell.shape)).astype(cell.dtype)


def _halve(run: Run, holds: Callable[[Scope], bool], inside: Scope, outside: Scope) -> None:
    """Put two rows as close together as halving their distance brings them."""
    for _ in range(_HALVINGS):
        near, far = _cells_of(inside, run), _cells_of(outside, run)
        _put_cells(inside, {key: _between(near[key], far[key]) for key in near})
        if not holds(inside):
            _put_cells(outside, _cells_of(inside, run))
            _put_cells(inside, near)


def _between(cell: NDArray[Any], other: NDArray[Any]) -> Any:
    """Return the middle of two cells; what is not finite gives way, and a bool stays."""
    if cell.dtype.kind == "b":
        return cell
    if cell.dtype.kind == "f":
        middle = cell / 2 + other / 2
        return np.where(np.isfinite(middle), middle, other)
    return cell // 2 + other // 2 + (cell & other & 1)


def check_reduction(kind: Any, schema: Schema, name: str, rows: int, seed: int) -> None:
    """Compare a component's reduction with the interpreter's values of its rows."""
    home, _, own_name = name.rpartition(".")
    reduction = schema.components[home].reductions[own_name]
    rng = np.random.default_rng(seed)
    drawn = DrawnWorld(kind, schema, [reduction], rng)
    drawn.numbers = tame_numbers

    def check() -> list[Value]:
        values = row_values(copied_world(drawn.world, schema), reduction)
        with np.errstate(all="ignore"), SMALL_BLOCKS():
            result = getattr(drawn.manager(home), own_name)()
        compare_reduction(result, reduction.function, values)
        return values

    with skipped_if_full():
        for count in (rows // 2, rows - rows // 2):
            drawn.add_rows(count)
            check()
    choose = max if reduction.function == "max" else min
    for is_last in (True, False):  # the row that counts most is behind or before all others
        numbers = [np.ravel(value.data)[0] for value in check()]
        if numbers:
            is_counted = counted_places(copied_world(drawn.world, schema), reduction)
            extreme = np.flatnonzero(is_counted)[numbers.index(choose(numbers))].item()
            drawn.roll(home, (len(is_counted) - 1 if is_last else 0) - extreme)
    check()


def check_table(kind: Any, schema: Schema, name: str, rows: int, seed: int) -> None:
    """Compare the lines of a table with the interpreter's rows."""
    table = schema.tables[name]
    drawn = DrawnWorld(kind, schema, table.sources, np.random.default_rng(seed))
    drawn.numbers = tame_numbers
    with skipped_if_full():
        drawn.add_rows(rows)
    drawn.world.tick = seed % 1000
    copy = copied_world(drawn.world, schema)
    lines = getattr(drawn.world.records, name)
    with np.errstate(all="ignore"), SMALL_BLOCKS():
        lines.write()
    columns = lines.columns
    assert {*columns["tick"].tolist()} <= {copy.tick}
    for key, column in table.columns.items():
        compare_reduction(columns[key], column.function, column_values(copy, column))
    if table.rows is not None:
        assert len(lines) == len(column_values(copy, table.rows))
    for field, values in table.fields.items():
        wanted = [value.one for value in column_values(copy, values)]
        cells, exact = columns[field], is_exact(schema, values.text)
        assert same_cells(cells, np.array(wanted, cells.dtype), exact), field


def compare_reduction(result: Any, function: str, values: Sequence[Value]) -> None:
    """Compare the result of a reduction, an element after the other, with that of values."""
    count = max([1, *(int(np.size(value.data)) for value in values)])
    for k, element in enumerate(np.ravel(result).tolist()):
        elements = [Value(value.type, np.ravel(value.data)[k % count]) for value in values]
        wanted, slack = reduced(function, elements)
        is_same = element == wanted or (math.isnan(element) and math.isnan(wanted))
        assert is_same or slack == math.inf or abs(element - wanted) <= slack


class ScheduledCalls:
    """A schedule, and the calls that it stands for."""

    def __init__(self, schema: Schema, name: str) -> None:
        self._schema, self._name = schema, name
        self._entries = schema.schedules[name]
        names = {name for entry in self._entries for name in run_names(entry)} - {"", "tick"}
        self.kernels = [schema.kernel(name) for name in sorted(names - schema.tables.keys())]
        self.tables = sorted(names & schema.tables.keys())
        self._setter_prefix = "set_"
        while any(kernel.startswith(self._setter_prefix) for kernel in schema.kernels):
            self._setter_prefix += "_"

    @property
    def sources(self) -> list[Kernel | Reduction]:
        """All that reads rows."""
        tables = [source for table in self.tables for source in self._schema.tables[table].sources]
        setters = [setter("", e["set"], e["to"]) for e in self._entries if "set" in e]
        homes = [e["while"].partition(".") for e in self._entries if "while" in e]
        reductions = [self._schema.components[home].reductions[of] for home, _, of in homes]
        return [*self.kernels, *tables, *setters, *reductions]

    def draw_arguments(self, drawn: DrawnWorld) -> dict[str, Any]:
        """Return values of all arguments, one for all rows."""
        arguments = dict[str, Any]()
        for kernel in self.kernels:
            for name, argument in kernel.args.items():
                numbers = drawn.draw_argument(name, argument, argument.shape)
                if name == kernel.turn_count:
                    numbers = np.asarray(drawn.rng.integers(9))
                plain = numbers[()] if numbers.dtype.kind in "mM" else numbers.tolist()
                arguments.setdefault(name, plain)
        return arguments

    def run(self, w: Any, arguments: Mapping[str, Any]) -> None:
        """Call kernels and write tables, as often as they are due."""

        def method(name: str) -> Any:
            home, _, own_name = name.rpartition(".")
            return getattr(manager_of(w, self._schema, home) if home else w, own_name)

        for number, name in due_names(w, self._entries, lambda reduction: method(reduction)()):
            if not name:
                method(f"_{self._setter_prefix}{self._name}_{number}")()
            elif name == "tick":
                w.tick += 1
            elif name in self._schema.tables:
                getattr(w.records, name).write()
            else:
                args = self._schema.kernel(name).args
                method(name)(**{key: arguments[key] for key in args})


def check_schedule(kind: Any, schema: Schema, name: str, rows: int, seed: int) -> None:
    """Compare a schedule with the calls of its kernels: twice, with more rows the second time."""
    rng, calls = np.random.default_rng(seed), ScheduledCalls(schema, name)
    drawn = DrawnWorld(kind, schema, calls.sources, rng)
    w, arguments = drawn.world, calls.draw_arguments(drawn)
    for count in (rows, 2):
        with skipped_if_full():
            drawn.add_rows(count)
        other, errors = deepcopy(w), list[str]()  # without lines of tables
        first = [len(getattr(w.records, table)) for table in calls.tables]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            with noted(errors), SMALL_BLOCKS():
                getattr(w, name)(**arguments)
            with noted(errors):
                calls.run(other, arguments)
        assert errors == errors[:1] * 2  # births may be refused
        copies = copied_world(w, schema), copied_world(other, schema)
        assert copies[0].tick == copies[1].tick
        compare_worlds(drawn.names, *copies, True)
        for table, start in zip(calls.tables, first, strict=True):
            lines, others = (getattr(each.records, table).columns for each in (w, other))
            for key, column in lines.items():
                assert column[start:].tobytes() == others[key].tobytes(), f"{table}.{key}"
    before = copied_world(w, schema)
    for wrong in arguments:
        refuses((TypeError, ValueError), getattr(w, name), **{**arguments, wrong: "wrong"})
        compare_worlds(drawn.names, copied_world(w, schema), before, True)
