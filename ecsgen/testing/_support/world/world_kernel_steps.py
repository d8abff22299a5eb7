"""Kernels of the world, entity by entity: what their steps say in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from .. import chance, kernel_borders, kernel_cells, kernels
from ..kernel_inputs import Inputs
from ..package import CapacityError
from ..subject import Subject
from . import world_kernels

COUNT = 21


class Case(NamedTuple):
    """A kernel of the world, and what there is to know of it."""

    over: str
    steps: Callable[..., object]
    modules: tuple[str, ...]
    """Those that entities must have, as attributes of the world."""
    fields: Mapping[str, tuple[str, str]]
    """By the name that steps have for it: the module and the field."""
    arguments: Mapping[str, tuple[Any, ...]]
    is_exact: bool
    has_border: bool
    """Whether there is a condition; then `steps` return whether it holds."""
    drawing: chance.Drawing | None = None


class Cases:
    """The kernels of a world."""

    world: ClassVar[Any]
    subjects: ClassVar[Mapping[str, Subject]]
    """By the attribute of the world that holds the manager."""
    kernels: ClassVar[Mapping[str, Case]]

    def filled(self, case: Case, seed: int) -> Any:
        """Return a world of entities with all modules, behind some that lack one of them."""
        w = self.world()
        try:
            for k, module in enumerate(case.modules if seed else ()):
                rest = [name for name in case.modules if name != module]
                w.spawn(k + 1, **{name: {} for name in rest})
            w.spawn(COUNT, **{name: {} for name in case.modules})
        except CapacityError:
            pytest.skip("the handles of this project are too small")
        return w

    def entities(self, w: Any, case: Case) -> NDArray[np.uint64]:
        """Return the entities that a kernel runs over."""
        over = getattr(w, case.over)
        if case.over in self.subjects:
            owners = over.data.entity[: kernels.running(over)]
            return np.asarray(owners[owners != 0], np.uint64)
        found = over.rows().entity if hasattr(over, "rows") else over.entity.copy()
        return np.asarray(found, np.uint64)

    def cells(self, w: Any, case: Case, es: NDArray[np.uint64]) -> dict[str, Any]:
        """Return copies of the entities' fields, by the names that steps have for them."""
        found = {}
        for text, (module, field) in case.fields.items():
            manager = getattr(w, module)
            columns = kernel_cells.columns_of(self.subjects[module], manager)
            found[text] = columns[field][manager.require_many(es)]
        return found

    def randomize(self, w: Any, case: Case, rng: np.random.Generator) -> None:
        """Fill the fields with random bits, in the rows of others as well."""
        for module, field in case.fields.values():
            if field == "entity":
                continue
            data = getattr(w, module).data
            for name in self.subjects[module].split.get(field, (field,)):
                column = getattr(data, name)
                column[...] = kernel_cells.random_cells(column.dtype, column.shape, rng)

    def check(self, w: Any, kernel: str, seed: int) -> None:
        """Run a kernel, and its steps entity by entity: nothing may differ."""
        case, rng = self.kernels[kernel], np.random.default_rng(seed)
        self.randomize(w, case, rng)
        es = self.entities(w, case)
        inputs = Inputs(case.arguments, rng, len(es))
        if case.has_border:
            self.approach(w, case, es, inputs, rng)
        expected, before = self.cells(w, case, es), self.whole(w, case)
        with np.errstate(all="ignore"):
            stems = self.stems(w, case, es, expected, seed)
            kernels.run(w, kernel, inputs.plain)
            for k in range(len(es)):
                case.steps(kernels.Row(expected, k, -1, stems[k]), *inputs.cells(k))
        found = self.cells(w, case, es)
        for text, column in expected.items():
            assert kernel_cells.same_cells(found[text], column, case.is_exact), text
        for (module, name), column in self.whole(w, case).items():
            manager = getattr(w, module)
            others = np.zeros(len(column), np.bool_)
            others[kernels.used_rows(manager)] = True
            others[manager.require_many(es)] = False
            old = before[module, name][others]
            assert column[others].tobytes() == old.tobytes(), (module, name)

    def stems(
        self, w: Any, case: Case, es: NDArray[np.uint64], cells: Any, seed: int
    ) -> list[int]:
        """Return what the random numbers of each entity have in common in the next call."""
        drawing = case.drawing
        if drawing is None:
            return [0] * len(es)
        w.seed = seed
        who = cells[drawing.key] if drawing.key else es
        return chance.stems(seed, drawing.name, 0, who)

    def approach(
        self,
        w: Any,
        case: Case,
        es: NDArray[np.uint64],
        inputs: Inputs,
        rng: np.random.Generator,
    ) -> None:
        """Let the condition turn between some of the entities."""
        cells = self.cells(w, case, es)

        def matches(k: int) -> bool:
            return bool(case.steps(kernels.Asked(cells, k, -1), *inputs.cells(k)))

        with np.errstate(all="ignore"):
            kernel_borders.approach(cells, range(len(es)), matches, rng)
        for text, (module, field) in case.fields.items():
            manager, subject = getattr(w, module), self.subjects[module]
            columns = kernel_cells.columns_of(subject, manager)
            columns[field][manager.require_many(es)] = cells[text]
            kernel_cells.put_columns(subject, manager, columns)

    def whole(self, w: Any, case: Case) -> dict[tuple[str, str], NDArray[Any]]:
        """Return copies of all columns of the modules."""
        return {
            (module, name): column
            for module in case.modules
            for name, column in kernel_cells.columns_of(
                self.subjects[module], getattr(w, module)
            ).items()
        }

    @pytest.mark.parametrize("seed", range(4))
    def test_as_their_steps_say(self, seed: int) -> None:
        """First of rows in step, then of rows behind others, then of scattered ones."""
        for kernel, case in self.kernels.items():
            w = self.filled(case, seed)
            if seed > 1:
                world_kernels.shuffle(w, case.over, case.modules)
                w.destroy(self.entities(w, case)[COUNT // 2])
            assert len(self.entities(w, case)) > COUNT // 2
            self.check(w, kernel, seed)
            self.check(w, kernel, seed + 1)
            w.destroy(self.entities(w, case)[0])
            self.check(w, kernel, seed)
            getattr(w, case.modules[-1]).remove(self.entities(w, case)[-1])
            self.check(w, kernel, seed)
            w.spawn(2, **{name: {} for name in case.modules})
            self.check(w, kernel, seed)
