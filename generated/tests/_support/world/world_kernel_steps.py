"""Kernels of the world, row by row: what their steps say in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from .. import chance, kernel_borders
from ..kernel_cells import Columns, columns_of, put_columns, random_cells, same_cells
from ..kernel_filling import run, running, used_rows
from ..kernel_inputs import Inputs
from ..kernel_others import Others, handles, link
from ..kernel_rows import Asked, Row
from ..kernels import in_turns
from ..package import CapacityError
from ..subject import Subject
from . import world_kernels

COUNT = 21

Rows: TypeAlias = Mapping[str, int]
"""By component: the row of one of those that a kernel runs over."""
Whole: TypeAlias = Mapping[str, Mapping[str, NDArray[Any]]]
"""By component: all columns of its manager."""


class Case(NamedTuple):
    """A kernel of the world, and what there is to know of it."""

    over: str
    steps: Callable[..., object]
    modules: Mapping[str, str]
    """The components that its rows have: the attributes of the world."""
    arguments: Mapping[str, tuple[Any, ...]]
    is_exact: bool
    has_border: bool
    """Whether there is a condition; then `steps` return whether it holds."""
    leads: Mapping[str, str] = {}
    """Those that it refers or sends to, likewise."""
    drawing: chance.Drawing | None = None
    turns: str = ""

    @property
    def every(self) -> dict[str, str]:
        """All components that it has to do with."""
        return {**self.modules, **self.leads}


class Place(Row):
    """A row of each of several components."""

    def __init__(self, columns: Columns, rows: Mapping[str, int], **told: Any) -> None:
        super().__init__(columns, 0, **told)
        self._rows = rows

    def place(self, name: str) -> int:
        """Return which row of a field's column it is."""
        return self._rows[name.partition(".")[0]]


def flat_names(whole: Whole) -> dict[str, NDArray[Any]]:
    """Return the same columns by the names that steps have for them."""
    return {
        f"{component}.{name}": column
        for component, columns in whole.items()
        for name, column in columns.items()
    }


class Cases:
    """The kernels of a world."""

    world: ClassVar[Any]
    subjects: ClassVar[Mapping[str, Subject]]
    """By the attribute of the world that holds the manager."""
    kernels: ClassVar[Mapping[str, Case]]

    def filled(self, case: Case, seed: int) -> Any:
        """Return a world of entities with all components, behind some that lack one of them."""
        w = self.world()
        modules = {*case.modules.values(), *case.leads.values()}
        owned = sorted(m for m in modules if self.is_owned(w, m))
        try:
            for k, module in enumerate(owned if seed else ()):
                w.spawn(k + 1, **{name: {} for name in owned if name != module})
            if owned:
                w.spawn(COUNT, **{name: {} for name in owned})
            for module in modules.difference(owned):
                getattr(w, module).create_many(COUNT)
        except CapacityError:
            pytest.skip("the handles of this project are too small")
        return w

    def is_owned(self, w: Any, module: str) -> bool:
        """Whether rows belong to entities."""
        return hasattr(getattr(w, module).data, "entity")

    def rows(self, w: Any, case: Case) -> list[Rows]:
        """Return the rows that a kernel runs over, in order."""
        over = getattr(w, case.over)
        if case.over in self.subjects:
            used = used_rows(over)
            rows = used[used < running(over)].tolist()
            return [dict.fromkeys(case.modules, row) for row in rows]
        found = over.rows().entity if hasattr(over, "rows") else over.entity
        managers = [getattr(w, module) for module in case.modules.values()]
        places = [manager.require_many(found).tolist() for manager in managers]
        return [
            dict(zip(case.modules, row, strict=True))
            for row in zip(*places, strict=True)
        ]

    def whole(self, w: Any, case: Case) -> dict[str, dict[str, NDArray[Any]]]:
        """Return copies of all columns of the components."""
        every = {**case.modules, **case.leads}
        return {
            component: columns_of(self.subjects[module], getattr(w, module))
            for component, module in every.items()
        }

    def randomize(
        self, w: Any, case: Case, inputs: Inputs, rng: np.random.Generator
    ) -> None:
        """Fill the fields with random bits, and lead handles to rows."""
        every = {**case.modules, **case.leads}
        pool = handles(getattr(w, module) for module in every.values())
        for module in every.values():
            manager, subject = getattr(w, module), self.subjects[module]
            columns = columns_of(subject, manager)
            for name, column in columns.items():
                if name != "entity" and column.dtype.kind in "biuf":
                    column[...] = random_cells(column.dtype, column.shape, rng)
            put_columns(subject, manager, columns)
            if case.leads:
                link(subject, manager, pool, rng)
        if case.leads:
            inputs.lead(pool)

    def check(self, w: Any, kernel: str, seed: int) -> None:
        """Run a kernel, and its steps row by row: nothing may differ."""
        case, rng = self.kernels[kernel], np.random.default_rng(seed)
        rows = self.rows(w, case)
        inputs = Inputs(case.arguments, rng, len(rows))
        self.randomize(w, case, inputs, rng)
        if case.has_border:
            self.approach(w, case, rows, inputs, rng)
        before, expected = self.whole(w, case), self.whole(w, case)
        stems = self.stems(w, case, rows, flat_names(expected), seed)
        with np.errstate(all="ignore"):
            run(w, kernel, inputs.plain)
            self.act(w, case, rows, expected, inputs, stems)
        found = self.whole(w, case)
        for component, module in case.every.items():
            used = used_rows(getattr(w, module))
            others = np.setdiff1d(used, [row.get(component, -1) for row in rows])
            for name, column in expected[component].items():
                new, old = found[component][name], before[component][name]
                assert same_cells(new[used], column[used], case.is_exact), name
                if component not in case.leads:
                    assert new[others].tobytes() == old[others].tobytes(), name

    def act(
        self,
        w: Any,
        case: Case,
        rows: Sequence[Rows],
        cells: Whole,
        inputs: Inputs,
        stems: Sequence[int],
    ) -> None:
        """Let the steps change copies of all columns."""
        managers = {name: getattr(w, module) for name, module in case.every.items()}
        alive, columns = w.entities.alive, flat_names(cells)
        others = Others(managers, cells, alive, in_turns=bool(case.turns))
        acts = [(k, inputs.cells(k)) for k in range(len(rows))]
        for k, given in in_turns(acts, stems) if case.turns == "random" else acts:
            one = Place(
                columns,
                rows[k],
                stem=stems[k],
                others=others,
                is_heard=all(others.hears_from(*place) for place in rows[k].items()),
            )
            case.steps(one, *given)
        others.deliver()

    def stems(
        self, w: Any, case: Case, rows: Sequence[Rows], columns: Columns, seed: int
    ) -> list[int]:
        """Return what the random numbers of each row have in common in the next call."""
        if (drawing := case.drawing) is None:
            return [0] * len(rows)
        w.seed = seed
        component, module = next(iter(case.modules.items()))
        who = chance.who_of(getattr(w, module), columns, drawing)
        component = drawing.key.partition(".")[0] or component
        chosen = [row[component] for row in rows]
        return chance.stems(seed, drawing.name, 0, who[chosen])

    def approach(
        self,
        w: Any,
        case: Case,
        rows: Sequence[Rows],
        inputs: Inputs,
        rng: np.random.Generator,
    ) -> None:
        """Let the condition turn between some of the rows."""
        whole = self.whole(w, case)
        columns = flat_names(whole)
        places = {
            name: [row[name.partition(".")[0]] for row in rows]
            for name in columns
            if not name.endswith(".entity")
        }
        cells = {name: columns[name][place] for name, place in places.items()}

        def matches(k: int) -> bool:
            return bool(case.steps(Asked(cells, k), *inputs.cells(k)))

        with np.errstate(all="ignore"):
            kernel_borders.approach(cells, range(len(rows)), matches, rng)
        for name, place in places.items():
            columns[name][place] = cells[name]
        for component, module in case.every.items():
            put_columns(self.subjects[module], getattr(w, module), whole[component])

    @pytest.mark.parametrize("seed", range(4))
    def test_as_their_steps_say(self, seed: int) -> None:
        """First of rows in step, then of rows behind others, then of scattered ones."""
        for kernel, case in self.kernels.items():
            w = self.filled(case, seed)
            owned = [m for m in case.modules.values() if self.is_owned(w, m)]
            if seed > 1:
                world_kernels.shuffle(w, case.over, tuple(owned))
                self.destroy_one(w, case, COUNT // 2)
            assert len(self.rows(w, case)) > COUNT // 2
            self.check(w, kernel, seed)
            self.check(w, kernel, seed + 1)
            self.destroy_one(w, case, 0)
            self.check(w, kernel, seed)
            for module in case.every.values():
                world_kernels.grow(module, w)
            self.check(w, kernel, seed)
            if owned:
                self.remove_one(w, case)
                self.check(w, kernel, seed)
                w.spawn(2, **{name: {} for name in owned})
                self.check(w, kernel, seed)

    def remove_one(self, w: Any, case: Case) -> None:
        """Take a component from the owner of the last row."""
        component, row = list(self.rows(w, case)[-1].items())[-1]
        manager = getattr(w, case.modules[component])
        manager.remove(manager.entity(row))

    def destroy_one(self, w: Any, case: Case, k: int) -> None:
        """Let the owner of a row die, or a row that has none."""
        (component, row), *_ = self.rows(w, case)[k].items()
        manager = getattr(w, case.modules[component])
        if hasattr(manager.data, "entity"):
            w.destroy(manager.entity(row))
        else:
            manager.destroy(row)
