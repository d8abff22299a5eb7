"""Kernels of worlds: over groups, queries and chunks, whole and step by step; schedules."""

from __future__ import annotations

import gc
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError, EcsError
from ecsgen_runtime.tables.bulk import Tuning
from numpy.typing import NDArray

from . import kernel_inputs, kernel_oracle, spaces
from .chunks import Chunked
from .kernel_inputs import (
    Columns,
    Inputs,
    Rng,
    columns_of,
    put_columns,
    random_cells,
    randomize,
    run,
    running,
    same_cells,
    used_rows,
)
from .kernel_oracle import Asked, Others, Row, Value
from .spaces import Members, NaiveCellList, Rows
from .subject import UnlimitedWorldTests, refuses, same, shuffle, skipped_if_full


def move(manager: Any) -> None:
    """Give a manager a larger buffer, and a smaller one, if it can have another."""
    with warnings.catch_warnings(), suppress(CapacityError):
        warnings.simplefilter("error")  # no view is held
        manager.reserve(manager.data.allocated + 64)
        manager.shrink_to_fit()


class Case(NamedTuple):
    """A kernel of the world, and what there is to know of it."""

    over: str
    steps: Callable[..., object]
    modules: Mapping[str, str]
    """The components that its rows have: the attributes of the world."""
    arguments: Mapping[str, tuple[Any, ...]]
    is_exact: bool
    kinds: Sequence[tuple[str, ...]]
    """Components of the entities that it runs over; then other ones that it uses."""
    has_border: bool
    """True if there is a condition; then `steps` return whether it holds."""
    leads: Mapping[str, str] = {}
    """Those that it refers or sends to, likewise."""
    drawing: kernel_inputs.Drawing | None = None
    turns: str = ""
    near: str | float = 0.0
    """The radius for neighbours, or the argument that it is."""
    place: str = ""
    """The field with their places."""
    among: str = ""
    """Group, query or component that is asked, if not the one that it runs over."""
    asked: Mapping[str, str] = {}
    """The components that these have, likewise."""

    @property
    def every(self) -> dict[str, str]:
        """All components that it has to do with."""
        return {**self.modules, **self.leads, **self.asked}


def flat_names(columns_of_each: Mapping[str, Columns]) -> dict[str, NDArray[Any]]:
    """Return the columns of each component by the names that steps have for them."""
    return {
        f"{component}.{name}": column
        for component, columns in columns_of_each.items()
        for name, column in columns.items()
    }


SEVERAL = 21


class WorldKernelStepsCases(UnlimitedWorldTests):
    """The kernels of a world."""

    kernels: ClassVar[Mapping[str, Case]]

    def filled(self, case: Case | Told, seed: int) -> Any:
        """Return a world of entities with all components, behind some that lack one of them."""
        w = self.world()
        with skipped_if_full():
            for kind in case.kinds:
                count = SEVERAL if kind == case.kinds[0] else SEVERAL // 2
                owned = [module for module in kind if self.is_owned(w, module)]
                for k, module in enumerate(owned if seed else ()):
                    w.spawn(k + 1, **{name: {} for name in owned if name != module})
                if owned:
                    w.spawn(count, **{name: {} for name in owned})
                for module in set(kind).difference(owned):
                    getattr(w, module).create_many(count)
        for module in case.every.values():
            manager = getattr(w, module)
            if hasattr(manager, "activate_many"):  # most rows are active, some not
                manager.activate_many(np.arange(manager.data.n))
                manager.deactivate_many(np.arange(0, manager.data.n, 7))
        return w

    def is_owned(self, w: Any, module: str) -> bool:
        return hasattr(getattr(w, module).data, "entity")

    def rows(self, w: Any, case: Case) -> list[Rows]:
        """Return the rows that a kernel runs over, in order."""
        return self.rows_of(w, case.over, case.modules)

    def rows_of(self, w: Any, name: str, modules: Mapping[str, str]) -> list[Rows]:
        """Return the rows of a group, query or component, in order."""
        over = getattr(w, name)
        if name in self.subjects:
            used = used_rows(over)
            rows = used[used < running(over)].tolist()
            return [dict.fromkeys(modules, row) for row in rows]
        entities = over.rows().entity if hasattr(over, "rows") else over.entity
        managers = [getattr(w, module) for module in modules.values()]
        places = [manager.require_many(entities).tolist() for manager in managers]
        return [dict(zip(modules, row, strict=True)) for row in zip(*places, strict=True)]

    def whole(self, w: Any, case: Case | Told) -> dict[str, dict[str, NDArray[Any]]]:
        """Return copies of all columns of the components."""
        return {
            component: columns_of(self.subjects[module], getattr(w, module))
            for component, module in case.every.items()
        }

    def randomize(self, w: Any, case: Case, inputs: Inputs, rng: Rng) -> None:
        """Fill the fields with random bits, and lead handles to rows."""
        every = case.every.values()
        pool = kernel_oracle.handles(getattr(w, module) for module in every)
        for module in every:
            manager, subject = getattr(w, module), self.subjects[module]
            randomize(subject, manager, rng)
            if case.leads:
                kernel_oracle.link(subject, manager, pool, rng)
        if case.leads:
            inputs.lead(pool)

    def gather(self, w: Any, case: Case, inputs: Inputs, rng: Rng) -> float:
        """Move some rows near others, and return the radius."""
        if not case.near:
            return 0.0
        radius = inputs.radius(case.near)
        component, _, name = case.place.partition(".")
        subject = self.subjects[case.every[component]]
        spaces.gather(subject, self.holder(w, case), name, radius, rng)
        return radius

    def holder(self, w: Any, case: Case) -> Any:
        return getattr(w, case.every[case.place.partition(".")[0]])

    def crowd(self, w: Any, case: Case, columns: Columns, radius: float) -> NaiveCellList | None:
        """Return the neighbours, if the kernel has some."""
        if not radius:
            return None
        component, manager = case.place.partition(".")[0], self.holder(w, case)
        others, names = case.asked or case.modules, None
        if case.among:
            names = columns[f"{component}.entity"]
        members = {
            member[component]: member
            for member in self.rows_of(w, case.among or case.over, others)
            if all(row < running(getattr(w, others[of])) for of, row in member.items())
        }
        return NaiveCellList(
            manager,
            columns,
            radius,
            case.place,
            in_turns=bool(case.turns),
            members=Members(members, names),
        )

    def check(self, w: Any, kernel: str, seed: int) -> None:
        """Run a kernel, and its steps row by row: nothing may differ."""
        case, rng = self.kernels[kernel], np.random.default_rng(seed)
        rows = self.rows(w, case)
        inputs = Inputs(case.arguments, rng, len(rows))
        self.randomize(w, case, inputs, rng)
        radius = self.gather(w, case, inputs, rng)
        if case.has_border:
            self.approach(w, case, rows, inputs, rng)
        before, expected = self.whole(w, case), self.whole(w, case)
        columns, cells = flat_names(expected), [*map(inputs.cells, range(len(rows)))]
        stems = self.stems(w, case, rows, columns, seed)
        managers = {name: getattr(w, module) for name, module in case.every.items()}
        versions = [manager.version for manager in managers.values()]
        with np.errstate(all="ignore"):
            crowd, turns = self.crowd(w, case, columns, radius), bool(case.turns)
            alive = w.entities.alive
            others = Others(managers, expected, alive, in_turns=turns, crowd=crowd)
            run(w, kernel, inputs.plain)
            seen = [
                Row(columns, k, rows=row, stem=stem, crowd=crowd, others=others)
                for k, (row, stem) in enumerate(zip(rows, stems, strict=True))
            ]
            kernel_oracle.take_turns(case, seen, cells)
            others.deliver()
        assert versions == [manager.version for manager in managers.values()]
        actual = self.whole(w, case)
        for component, module in case.every.items():
            used = used_rows(getattr(w, module))
            apart = np.setdiff1d(used, [row.get(component, -1) for row in rows])
            for name, column in expected[component].items():
                new, old = actual[component][name], before[component][name]
                assert same_cells(new[used], column[used], case.is_exact), name
                if component not in case.leads:
                    assert new[apart].tobytes() == old[apart].tobytes(), name

    def stems(
        self, w: Any, case: Case, rows: Sequence[Rows], columns: Columns, seed: int
    ) -> list[int]:
        """Return what the random numbers of each row have in common in the next call."""
        if (drawing := case.drawing) is None:
            return [0] * len(rows)
        w.seed = seed
        component, module = next(iter(case.modules.items()))
        row_keys = kernel_inputs.who_of(getattr(w, module), columns, drawing)
        component = drawing.key.partition(".")[0] or component
        chosen = [row[component] for row in rows]
        return kernel_inputs.stems(seed, drawing.name, 0, row_keys[chosen])

    def approach(self, w: Any, case: Case, rows: Sequence[Rows], inputs: Inputs, rng: Rng) -> None:
        """Move rows to both sides of the condition's border."""
        columns_of_each = self.whole(w, case)
        columns = flat_names(columns_of_each)
        places = {
            name: [row[name.partition(".")[0]] for row in rows]
            for name in columns
            if not name.endswith(".entity")
        }
        cells = {name: columns[name][row_numbers] for name, row_numbers in places.items()}

        def matches(k: int) -> bool:
            return bool(case.steps(Asked(cells, k), *inputs.cells(k)))

        with np.errstate(all="ignore"):
            order = rng.permutation(len(rows)).tolist()
            kernel_inputs.approach(cells, order, matches, rng)
        for name, row_numbers in places.items():
            columns[name][row_numbers] = cells[name]
        for component, module in case.every.items():
            put_columns(self.subjects[module], getattr(w, module), columns_of_each[component])

    def test_over_nobody(self) -> None:
        for kernel in self.kernels:
            self.check(self.world(), kernel, 0)

    def test_radii_are_checked(self) -> None:
        """They are finite and above 0, or nothing is done."""
        for kernel, case in self.kernels.items():
            if not isinstance(case.near, str):
                continue
            w, rng = self.filled(case, 0), np.random.default_rng(0)
            inputs = Inputs(case.arguments, rng, len(self.rows(w, case)))
            before = flat_names(self.whole(w, case))
            with pytest.raises(ValueError, match=f": {case.near}: "):
                run(w, kernel, {**inputs.plain, case.near: 0})
            for name, column in flat_names(self.whole(w, case)).items():
                assert column.tobytes() == before[name].tobytes()

    @pytest.mark.parametrize("seed", range(4))
    def test_as_their_steps_say(self, seed: int) -> None:
        """First of rows in step, then of rows behind others, then of scattered ones."""
        for kernel, case in self.kernels.items():
            w = self.filled(case, seed)
            owned = [m for m in case.modules.values() if self.is_owned(w, m)]
            if seed > 1:
                shuffle(w, (*owned, case.over))
                self.destroy_one(w, case, SEVERAL // 2)
            assert len(self.rows(w, case)) > SEVERAL // 2
            for more in range(4):  # conditions leave out the first row, or not
                self.check(w, kernel, seed + more)
            self.destroy_one(w, case, 0)
            self.check(w, kernel, seed)
            for module in case.every.values():
                move(getattr(w, module))
            self.check(w, kernel, seed)
            w.collect()
            shuffle(w, (*owned, case.over))
            self.check(w, kernel, seed)
            if owned:
                self.remove_one(w, case)
                self.check(w, kernel, seed)
                w.spawn(2, **{name: {} for name in owned})
                self.check(w, kernel, seed)
            for module in {*case.asked.values()}.difference(case.modules.values()):
                getattr(w, module).clear()  # so that there are no neighbours
                self.check(w, kernel, seed)

    def remove_one(self, w: Any, case: Case) -> None:
        """Take a component from the owner of the last row."""
        component, row = list(self.rows(w, case)[-1].items())[-1]
        manager = getattr(w, case.modules[component])
        manager.remove(manager.entity(row))

    def destroy_one(self, w: Any, case: Case, k: int) -> None:
        """Destroy the owner of a row, or a row without an owner."""
        (component, row), *_ = self.rows(w, case)[k].items()
        manager = getattr(w, case.modules[component])
        if hasattr(manager.data, "entity"):
            w.destroy(manager.entity(row))
        else:
            manager.destroy(row)


IN_CHUNKS = 150


class ChunkKernelCases(Chunked):
    """The kernels over chunks of a world."""

    kernels: ClassVar[Mapping[str, tuple[str, tuple[str, ...], tuple[Any, ...]]]]
    """By kernel: its query, components with which it runs, and some arguments."""
    written: ClassVar[Mapping[str, tuple[tuple[str, str], ...]]]
    """By kernel: the fields that it may change, with their components."""

    def filled(self, modules: Iterable[str]) -> Any:
        """Return a world of entities that have some components, in chunks of a few rows."""
        with self.small_chunks():
            w = self.world()
        self.created(w, modules, IN_CHUNKS)
        return w

    def rows_of(self, w: Any) -> dict[int, list[Any]]:
        """Return each entity's rows."""
        return {e: self.rows_of_one(w, e) for e in w.entities}

    def rows_of_one(self, w: Any, e: int) -> list[Any]:
        store = w.archetypes
        return [store.get(e, row) for row in store.components(e)]

    def expected(self, kernel: str, w: Any) -> dict[int, list[Any]]:
        """Return what each row becomes on its own, in a world without any other."""
        rows_by_entity, alone = self.rows_of(w), self.world()
        modules = {subject.row: module for module, subject in self.members.items()}
        for e, rows in rows_by_entity.items():
            components = {modules[type(row)]: row._asdict() for row in rows}
            (entity,) = alone.archetypes.create(map(type, rows), 1, **components).tolist()
            self.run(kernel, alone)
            rows_by_entity[e] = self.rows_of_one(alone, entity)
            alone.destroy(entity)
        return rows_by_entity

    def run(self, kernel: str, w: Any) -> None:
        with np.errstate(all="ignore"):  # whatever numbers the samples grow to
            getattr(w, kernel)(*self.kernels[kernel][2])

    def check(self, kernel: str, w: Any) -> None:
        """Run a kernel and compare with what it does to each row on its own."""
        expected = self.expected(kernel, w)
        version = w.archetypes.version
        with w.archetypes.locked():
            self.run(kernel, w)
        assert w.archetypes.version == version
        actual = self.rows_of(w)
        assert all(same(actual[e], rows) for e, rows in expected.items())

    def others(self, kernel: str, row: Any) -> list[Any]:
        """Return the fields of a row that a kernel leaves alone."""
        written = self.written[kernel]
        named = row._asdict().items()
        return [v for name, v in named if (type(row).__name__, name) not in written]

    def test_other_fields_stay(self) -> None:
        for kernel, (_, modules, _) in self.kernels.items():
            w = self.filled(modules)
            before = self.rows_of(w)
            self.run(kernel, w)
            for e, rows in self.rows_of(w).items():
                for row, old in zip(rows, before[e], strict=True):
                    assert same(self.others(kernel, row), self.others(kernel, old))

    def test_whatever_else_they_have(self) -> None:
        for kernel, (query, modules, _) in self.kernels.items():
            w = self.filled(modules)
            refused = getattr(w, query)._NONE
            w.archetypes.clear()
            more = [m for m, s in self.members.items() if s.row not in refused]
            self.created(w, more, IN_CHUNKS)
            self.check(kernel, w)
            self.created(w, modules, IN_CHUNKS)
            self.check(kernel, w)
            w = self.filled(modules)
            for module in sorted(set(self.members) - set(modules)):
                row, entities = self.row_class(module), list(w.entities)
                w.archetypes.add_many(entities[::3], row)
                self.check(kernel, w)
                outside = set(entities) - set(getattr(w, query).rows().entity.tolist())
                before = self.rows_of(w)
                self.run(kernel, w)
                after = self.rows_of(w)
                assert all(same(after[e], before[e]) for e in outside)
                w.archetypes.remove_many(entities[::3], row)

    def test_after_any_change(self) -> None:
        for kernel, (query, modules, _) in self.kernels.items():
            w = self.filled(modules)
            self.check(kernel, w)
            self.created(w, modules, 1)
            self.check(kernel, w)
            w.destroy_many(list(w.entities)[3::2])
            self.check(kernel, w)
            self.created(w, modules, IN_CHUNKS // 2)
            self.check(kernel, w)
            entities = getattr(w, query).rows().entity
            w.archetypes.remove_many(entities[::4], self.row_class(modules[0]))
            self.check(kernel, w)
            w.archetypes.shrink_to_fit()
            self.check(kernel, w)
            w.archetypes.clear()
            self.check(kernel, w)
            self.created(w, modules, 3)
            self.check(kernel, w)

    def test_memory_is_given_back(self) -> None:
        for kernel, (_, modules, _) in self.kernels.items():
            w = self.filled(modules)
            w.archetypes.shrink_to_fit()
            before = w.archetypes.nbytes
            self.run(kernel, w)
            scratch = w.archetypes._kept[kernel]
            assert w.archetypes.nbytes == before + scratch.nbytes
            w.archetypes.shrink_to_fit()
            assert w.archetypes.nbytes == before
            self.run(kernel, w)
            buffers = [weakref.ref(c.buffer.base) for c in w.archetypes.chunks()]
            w.archetypes.clear()
            w.archetypes.shrink_to_fit()
            gc.collect()
            assert not any(buffer() is not None for buffer in buffers)


COUNTS = (0, 3, 41, 1100)
"""None, few, several blocks of numpy, and of compiled code."""


class Call(NamedTuple):
    """One entry of a schedule."""

    holder: str
    """The attribute of the world with the manager whose kernel it is; empty for the world's."""
    kernel: str
    arguments: tuple[str, ...]
    modules: tuple[str, ...]
    """Components of the entities that it runs over."""
    every: int = 0
    """How many ticks apart it happens; 0: always."""
    start: int = 0
    """The first of them."""
    is_table: bool = False
    """True if it writes lines of a table."""

    def run(self, w: Any, arguments: Mapping[str, Any]) -> None:
        """Do what it says."""
        since = w.tick - self.start if self.every else 0
        if self.every and not since % self.every == 0 <= since:
            return
        if self.kernel == "tick":
            w.tick += 1
        elif self.is_table:
            getattr(w.records, self.kernel).write()
        else:
            holder = getattr(w, self.holder) if self.holder else w
            getattr(holder, self.kernel)(*(arguments[key] for key in self.arguments))


class Schedule(NamedTuple):
    """A schedule, with values for its arguments in order."""

    arguments: Mapping[str, Any]
    calls: Sequence[Call]


class ScheduleCases(UnlimitedWorldTests):
    """The schedules of a world."""

    schedules: ClassVar[Mapping[str, Schedule]]

    def add(self, w: Any, schedule: Schedule, count: int) -> None:
        """Add entities, and rows without owners, for each kernel."""
        known = self.subjects if count < 100 else {}
        samples = {module: subject.samples(count) for module, subject in known.items()}
        for modules in dict.fromkeys(call.modules for call in schedule.calls):
            if modules:
                components = {module: samples.get(module, {}) for module in modules}
                w.spawn(count, **components)
        for call in schedule.calls:
            manager: Any = getattr(w, call.holder) if call.holder else None
            if not call.modules and hasattr(manager, "create_many"):
                manager.create_many(count)

    def filled(self, schedule: Schedule, count: int) -> Any:
        """Return a world with entities for each kernel."""
        w = self.world()
        with skipped_if_full():
            self.add(w, schedule, count)
        rng = np.random.default_rng(count)
        for cells in self.cells(w).values():
            if cells.dtype.kind == "f":
                cells[...] = random_cells(cells.dtype, cells.shape, rng, tame=True)
        return w

    def cells(self, w: Any) -> dict[tuple[str, str], NDArray[Any]]:
        """Return the columns of all managers, of the rows in use."""
        cells = {}
        for module in w.MANAGERS:
            data = getattr(w, module).data
            for name in (column.name for column in data.LAYOUT):
                cells[module, name] = getattr(data, f"_{name}_column")[: data.n]
        return cells

    def columns(self, w: Any) -> dict[tuple[str, str], bytes]:
        return {name: cells.tobytes() for name, cells in self.cells(w).items()}

    @pytest.mark.parametrize("count", COUNTS)
    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_as_the_calls(self, count: int, is_shuffled: bool) -> None:
        """Twice, and of a few more rows the second time."""
        for name, schedule in self.schedules.items():
            w = self.filled(schedule, count)
            if is_shuffled:
                shuffle(w, w.MANAGERS)
            other = deepcopy(w)
            with np.errstate(all="ignore"):
                for _ in range(2):
                    messages: list[str] = []
                    with Tuning.override(block_rows=(8, 8)), noted(messages):
                        getattr(w, name)(**schedule.arguments)
                    with noted(messages):
                        for call in schedule.calls:
                            call.run(other, schedule.arguments)
                    assert messages == messages[:1] * 2  # births may be refused
                    assert self.columns(w) == self.columns(other)
                    for call in schedule.calls if count < 100 else ():
                        if call.is_table:
                            self.same_lines(w, other, call.kernel)
                    for each in (w, other):
                        with suppress(CapacityError):
                            self.add(each, schedule, 2)

    def same_lines(self, w: Any, other: Any, table: str) -> None:
        columns, others = (getattr(each.records, table).columns for each in (w, other))
        assert [*columns] == [*others]
        for name, cells in columns.items():
            assert cells.tobytes() == others[name].tobytes()

    def test_what_is_wrong_changes_nothing(self) -> None:
        for name, schedule in self.schedules.items():
            w = self.filled(schedule, 5)
            before = self.columns(w)
            for wrong in schedule.arguments:
                arguments = {**schedule.arguments, wrong: "wrong"}
                refuses((TypeError, ValueError), getattr(w, name), **arguments)
                assert self.columns(w) == before


@contextmanager
def noted(messages: list[str]) -> Iterator[None]:
    """Keep what is raised of entities and rows, as text."""
    try:
        yield
    except EcsError as error:
        messages.append(repr(error))


class Told(NamedTuple):
    """A column of a table, or a table with a line for each row."""

    over: str
    modules: Mapping[str, str]
    """The components that its rows have: the attributes of the world."""
    value: Callable[[Row], Value]
    """A row's value for the column, nothing if the row does not match; of lines whether it has one.
    """
    how: str = ""
    """Reduction of the values of all rows; empty: a line for each."""
    fields: Sequence[str] = ()
    """Fields of a line, behind its entity."""

    @property
    def every(self) -> Mapping[str, str]:
        """All components that it has to do with."""
        return self.modules

    @property
    def kinds(self) -> Sequence[tuple[str, ...]]:
        return [tuple(sorted(self.modules.values()))]


class RecordCases(WorldKernelStepsCases):
    """The tables of a world."""

    kernels: ClassVar[Mapping[str, Case]] = {}
    tables: ClassVar[Mapping[tuple[str, str], Told]]
    """By table and column; lines of rows have none."""

    def places(self, w: Any, expectation: Told) -> list[Row]:
        """Return the visible rows, in order."""
        columns = flat_names(self.whole(w, expectation))
        parts = expectation.every.items()
        seen = {name: spaces.are_seen(getattr(w, of)) for name, of in parts}
        return [
            Row(columns, 0, rows=rows)
            for rows in self.rows_of(w, expectation.over, expectation.modules)
            if all(seen[name][row] for name, row in rows.items())
        ]

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_lines(self, seed: int) -> None:
        """Each table has what it should, of a third of the columns at a time."""
        for (name, column), expectation in [*self.tables.items()][seed::3]:
            w, rng = self.filled(expectation, seed), np.random.default_rng(seed)
            for module in expectation.modules.values():
                randomize(self.subjects[module], getattr(w, module), rng, tame=True)
            w.entities.destroy_many(w.entities.live()[::5])
            w.tick = 7 + seed
            self.check_lines(w, name, column, expectation)
            w.entities.destroy_many(w.entities.live()[1:])
            getattr(w.records, name).clear()
            self.check_lines(w, name, column, expectation)

    def check_lines(self, w: Any, name: str, column: str, expectation: Told) -> None:
        table = getattr(w.records, name)
        table.write()
        places = self.places(w, expectation)
        with np.errstate(all="ignore"):
            values = [expectation.value(row) for row in places]
        assert set(table.tick) <= {w.tick}
        if expectation.how:
            values_found = [row for row in values if row]
            kernel_oracle.compare_reduction(
                table.columns[column][0].item(), values_found, expectation.how
            )
            return
        expected = [row for row, is_in in zip(places, values, strict=True) if is_in[0]]
        assert len(table) == len(expected)
        for field in expectation.fields:
            cells = table.columns[field.partition(".")[2]]
            assert cells.tolist() == [row[field][0].item() for row in expected]
