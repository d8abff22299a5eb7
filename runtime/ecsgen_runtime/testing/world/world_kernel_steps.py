"""Kernels of the world, row by row: what their steps say in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from ...errors import CapacityError
from .. import chance, kernel_inputs, spaces
from ..kernel_inputs import (
    Columns,
    Inputs,
    choose_members,
    columns_of,
    put_columns,
    random_cells,
    run,
    running,
    same_cells,
    used_rows,
)
from ..kernel_rows import Asked, Others, handles, link
from ..kernels import in_turns
from ..spaces import Crowd, Members, Rows
from ..subject import Roomy
from . import world_kernels
from .world_kernel_case import Case as Case
from .world_kernel_case import Place, Whole, flat_names

COUNT = 21


class Cases(Roomy):
    """The kernels of a world."""

    world: ClassVar[Any]
    kernels: ClassVar[Mapping[str, Case]]

    def filled(self, case: Case, seed: int) -> Any:
        """Return a world of entities with all components, behind some that lack one of them."""
        w = self.world()
        try:
            for kind in case.kinds:
                count = COUNT if kind == case.kinds[0] else COUNT // 2
                owned = [module for module in kind if self.is_owned(w, module)]
                for k, module in enumerate(owned if seed else ()):
                    w.spawn(k + 1, **{name: {} for name in owned if name != module})
                if owned:
                    w.spawn(count, **{name: {} for name in owned})
                for module in set(kind).difference(owned):
                    getattr(w, module).create_many(count)
        except CapacityError:
            pytest.skip("the handles of this project are too small")
        for module in case.every.values():
            self.part(getattr(w, module))
        return w

    def part(self, manager: Any) -> None:
        """Let most rows be active, and some inactive, where there is such a thing."""
        if hasattr(manager, "activate_many"):
            manager.activate_many(np.arange(manager.data.n))
            manager.deactivate_many(np.arange(0, manager.data.n, 7))

    def is_owned(self, w: Any, module: str) -> bool:
        """Whether rows belong to entities."""
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
        found = over.rows().entity if hasattr(over, "rows") else over.entity
        managers = [getattr(w, module) for module in modules.values()]
        places = [manager.require_many(found).tolist() for manager in managers]
        return [
            dict(zip(modules, row, strict=True)) for row in zip(*places, strict=True)
        ]

    def whole(self, w: Any, case: Case) -> dict[str, dict[str, NDArray[Any]]]:
        """Return copies of all columns of the components."""
        return {
            component: columns_of(self.subjects[module], getattr(w, module))
            for component, module in case.every.items()
        }

    def randomize(
        self, w: Any, case: Case, inputs: Inputs, rng: np.random.Generator
    ) -> None:
        """Fill the fields with random bits, and lead handles to rows."""
        every = case.every.values()
        pool = handles(getattr(w, module) for module in every)
        for module in every:
            manager, subject = getattr(w, module), self.subjects[module]
            columns = columns_of(subject, manager)
            for name, column in columns.items():
                if name != "entity" and column.dtype.kind in "biuf":
                    column[...] = random_cells(column.dtype, column.shape, rng)
            choose_members(subject, columns, rng)
            put_columns(subject, manager, columns)
            if case.leads:
                link(subject, manager, pool, rng)
        if case.leads:
            inputs.lead(pool)

    def gather(
        self, w: Any, case: Case, inputs: Inputs, rng: np.random.Generator
    ) -> float:
        """Let some be near others, and return the radius."""
        if not case.near:
            return 0.0
        radius = case.near
        if isinstance(radius, str):
            radius = inputs.one_of(radius, (1, 5, 20))
        component, _, name = case.place.partition(".")
        subject = self.subjects[case.every[component]]
        spaces.gather(subject, self.holder(w, case), name, radius, rng)
        return radius

    def holder(self, w: Any, case: Case) -> Any:
        """Return the manager of the places."""
        return getattr(w, case.every[case.place.partition(".")[0]])

    def crowd(
        self, w: Any, case: Case, columns: Columns, radius: float
    ) -> Crowd | None:
        """Return who is near, if that is asked."""
        if not radius:
            return None
        component, manager = case.place.partition(".")[0], self.holder(w, case)
        others, names = case.asked or case.modules, None
        if case.among:
            names = columns[f"{component}.entity"]
        members = {
            one[component]: one
            for one in self.rows_of(w, case.among or case.over, others)
            if all(row < running(getattr(w, others[of])) for of, row in one.items())
        }
        return Crowd(
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
        stems = self.stems(w, case, rows, flat_names(expected), seed)
        with np.errstate(all="ignore"):
            crowd = self.crowd(w, case, flat_names(expected), radius)
            run(w, kernel, inputs.plain)
            self.act(w, case, rows, expected, inputs, stems, crowd)
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
        crowd: Crowd | None,
    ) -> None:
        """Let the steps change copies of all columns."""
        managers = {name: getattr(w, module) for name, module in case.every.items()}
        alive, columns = w.entities.alive, flat_names(cells)
        turns = bool(case.turns)
        others = Others(managers, cells, alive, in_turns=turns, crowd=crowd)
        acts = [(k, inputs.cells(k)) for k in range(len(rows))]
        for k, given in in_turns(acts, stems) if case.turns == "random" else acts:
            one = Place(
                columns,
                rows[k],
                stem=stems[k],
                crowd=crowd,
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
            kernel_inputs.approach(cells, range(len(rows)), matches, rng)
        for name, place in places.items():
            columns[name][place] = cells[name]
        for component, module in case.every.items():
            put_columns(self.subjects[module], getattr(w, module), whole[component])

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
            with pytest.raises(ValueError, match="radius"):
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
