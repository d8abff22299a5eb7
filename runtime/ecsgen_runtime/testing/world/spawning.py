"""Spawning when something is in the way: values that move, rows that go, failures."""

from __future__ import annotations

import warnings
from itertools import permutations
from typing import Any
from unittest.mock import patch

import pytest

from ...errors import DuplicateInstanceError, StructureLockedError
from ..subject import Subject, born, handles_with, same
from . import later


def fail(*_: object) -> None:
    """Do what callbacks and managers may do."""
    raise MemoryError


class Cases(later.Cases):
    """A spawn is done as a whole, or not at all."""

    def everything(self) -> dict[str, Any]:
        """Return what a spawn takes to give an entity every component."""
        return {module: {} for module in self.subjects}

    def releasing(self, w: Any) -> list[str]:
        """Return the modules whose rows of dead entities wait, and are announced as they go."""
        return [
            module
            for module, manager in self.managers(w).items()
            if hasattr(manager, "collect") and hasattr(manager, "on_release")
        ]

    def alike(self, subject: Subject, source: Subject) -> tuple[str, str] | None:
        """Return a field of each that the other's columns fit, if there are such."""
        kinds = {(f.dtype, f.shape): f.name for f in source.whole if f.dtype[0] == "f"}
        for field in subject.whole:
            name = kinds.get((field.dtype, field.shape))
            if name is not None:
                return field.name, name
        return None

    def locks(self, w: Any, first: str, module: str) -> bool:
        """Return whether a manager is locked with another, whose rows move with its own."""
        with getattr(w, first).locked():
            try:
                getattr(w, module).clear()
            except StructureLockedError:
                return True
        return False

    def makes_way(self, module: str) -> bool:
        """Return whether a row of the dead goes when its entity has a successor."""
        w = self.world()
        (entity,) = w.spawn(1, **{module: {}}).tolist()
        self.succeed(w, entity, **{module: {}})
        return entity not in getattr(w, module)

    def succeed(self, w: Any, entity: int, /, **components: Any) -> int:
        """Let an entity die, and spawn another of the same index."""
        w.destroy(entity)
        with handles_with(w.entities, MIN_FREE=0):
            successor: int = w.spawn(1, **components).tolist()[0]
        return successor

    def test_own_columns_can_be_spawned(self) -> None:
        for module, subject in self.subjects.items():
            w = self.world()
            manager = getattr(w, module)
            if subject.reserve:  # it does not grow, and two more must fit
                self.spawn(w, min(64, subject.reserve - 2), [module])
            else:
                self.spawn(w, 64, [module])
                self.spawn(w, manager.capacity - len(manager), [module])
            expected = [manager.row(0), manager.row(1)]
            columns = subject.own_columns(manager, slice(0, 2))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                es = w.spawn(2, **{module: columns})
            rows = manager.require_many(es)
            assert same([manager.row(row) for row in rows], expected)

    def test_columns_of_another_can_be_spawned(self) -> None:
        """Also while it grows: the call's own arguments are no views held outside."""
        for (module, subject), (other, source) in permutations(
            self.subjects.items(), 2
        ):
            both = self.alike(subject, source)
            if both is None or source.reserve:
                continue
            w = self.world()
            manager = getattr(w, other)
            self.spawn(w, manager.capacity or 64, [other])
            self.spawn(w, manager.capacity - len(manager), [other])
            column = getattr(manager.data, both[1])[:2]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                w.spawn(2, **{other: {}, module: {both[0]: column}})

    def test_columns_whose_rows_go_can_be_spawned(self) -> None:
        for module, subject in self.subjects.items():
            w = self.world()
            es = self.spawn(w, 3, [module])
            manager = getattr(w, module)
            expected = manager.row(0)
            own = subject.own_columns(manager, slice(0, 1))
            if hasattr(manager, "collect"):
                successor = self.succeed(w, es[0], **{module: own})
                assert same(manager.row(manager.require(successor)), expected)

    def test_columns_of_others_whose_rows_go_can_be_spawned(self) -> None:
        """Others move into their place before the new rows are filled."""
        for (module, subject), (other, source) in permutations(
            self.subjects.items(), 2
        ):
            both = self.alike(subject, source)
            if both is None or not hasattr(source.manager, "collect"):
                continue
            w = self.world()
            es = self.spawn(w, 6, [other])
            column = getattr(getattr(w, other).data, both[1])[:3]
            expected = column.tolist()
            w.destroy_many(es[:3])
            with handles_with(w.entities, MIN_FREE=0):
                es = w.spawn(3, **{other: {}, module: {both[0]: column}})
            manager = getattr(w, module)
            found = getattr(manager.data, both[0])[manager.require_many(es)]
            assert same(found.tolist(), expected)

    def test_values_are_those_given(self) -> None:
        w = self.world()
        for first in self.releasing(w):
            for module in sorted({*self.subjects} - {first}):
                w, subject = self.world(), self.subjects[module]
                (entity,) = w.spawn(1, **{first: {}}).tolist()
                both = {
                    f.name: f.array([f.sample(0), f.sample(1)]) for f in subject.fields
                }

                def swap(_: object, arrays: Any = both) -> None:
                    for array in arrays.values():
                        array[:] = array[::-1].copy()

                getattr(w, first).on_release(swap)
                columns = {name: array[:1] for name, array in both.items()}
                successor = self.succeed(w, entity, **{first: {}, module: columns})
                manager = getattr(w, module)
                row = manager.row(manager.require(successor))
                assert same(row, subject.read(subject.sample(0)))

    def test_arrays_that_callbacks_write_were_copied(self) -> None:
        w = self.world()
        for first in self.releasing(w):
            for module in sorted({*self.subjects} - {first}):
                w, subject = self.world(), self.subjects[module]
                (entity,) = w.spawn(1, **{first: {}}).tolist()
                given = subject.own_arrays(0)
                others = {f.name: f.array([f.sample(1)]) for f in subject.fields}

                def write(_: object, to: Any = given, what: Any = others) -> None:
                    for name, array in to.items():
                        array[:] = what[name]

                getattr(w, first).on_release(write)
                successor = self.succeed(w, entity, **{first: {}, module: given})
                manager = getattr(w, module)
                row = manager.row(manager.require(successor))
                assert same(row, subject.read(subject.sample(0)))

    def test_callbacks_may_create_what_is_spawned(self) -> None:
        """Then the spawn fails, and nothing of it is left, nor of what they created."""
        w = self.world()
        for first in self.releasing(w):
            if not self.makes_way(first):
                continue
            for module in sorted({*self.subjects} - {first}):
                w = self.world()
                manager = getattr(w, module)
                if self.locks(w, first, module) or hasattr(manager, "first"):
                    continue
                (entity,) = w.spawn(1, **{first: {}}).tolist()

                def create(_: object, w: Any = w, m: Any = manager) -> None:
                    m.create_many(w.entities.live())

                getattr(w, first).on_release(create)
                parts: dict[str, Any] = {first: {}, module: {}}
                with pytest.raises(DuplicateInstanceError):
                    self.succeed(w, entity, **parts)
                assert [len(m) for m in self.managers(w).values()] == [0] * len(
                    self.subjects
                )
                assert len(w.entities) == 0

    def test_callbacks_may_use_the_room(self) -> None:
        w = self.world()
        for first in self.releasing(w):
            growing = {m for m, subject in self.subjects.items() if not subject.reserve}
            for module in sorted(growing - {first}):
                w = self.world()
                # Rows are of defaults alone.
                if (
                    self.locks(w, first, module)
                    or not self.subjects[module].takes_repeats
                ):
                    continue
                (entity,) = w.spawn(1, **{first: {}}).tolist()
                manager = getattr(w, module)
                manager.reserve(1)
                others = born(w.entities, manager.capacity)

                def fill(_: object, m: Any = manager, es: Any = others) -> None:
                    m.create_many(es[m.data.n :])

                getattr(w, first).on_release(fill)
                parts: dict[str, Any] = {first: {}, module: {}}
                successor = self.succeed(w, entity, **parts)
                for part in parts:
                    assert successor in getattr(w, part)
                assert manager.data.n <= manager.capacity
                assert manager.entity(manager.require(successor)) == successor

    def test_rows_that_make_way_fail_after_the_spawn(self) -> None:
        w = self.world()
        for module in self.releasing(w):
            if not self.makes_way(module):
                continue
            w = self.world()
            (entity,) = w.spawn(1, **{module: {}}).tolist()
            getattr(w, module).on_release(fail)
            with pytest.raises(ExceptionGroup):
                self.succeed(w, entity, **self.everything())
            (successor,) = w.entities
            assert len(w.components(successor)) == len(self.subjects)

    def test_nothing_is_left_of_who_dies_of_a_collection(self) -> None:
        for module, manager in self.managers(self.world()).items():
            if not (manager._KILLS and hasattr(manager, "collect")):
                continue
            w = self.world()
            es = self.spawn(w, 3, list(self.subjects))
            rows = getattr(w, module).require_many(es)
            getattr(w, module).set_parent(rows[1], rows[0])
            w.destroy(es[0])
            w.collect()
            assert list(w.entities) == [es[2]]
            for each in self.managers(w).values():
                if hasattr(each, "collect"):
                    assert list(each) == [es[2]]

    @pytest.mark.parametrize("method", ["gc", "collect"])
    def test_failing_callbacks_stop_no_sweep(self, method: str) -> None:
        w = self.world()
        for module in self.releasing(w):
            w = self.world()
            w.destroy_many(w.spawn(4, **self.everything()))
            getattr(w, module).on_release(fail)
            with pytest.raises(ExceptionGroup):
                getattr(w, method)()
            left = [len(m) for m in self.managers(w).values() if hasattr(m, "collect")]
            assert max(left) < 4

    @pytest.mark.parametrize("count", [1, 2])
    def test_a_failure_at_the_last_row_leaves_nothing(self, count: int) -> None:
        for module, subject in self.subjects.items():
            w = self.world()
            manager, create = getattr(w, module), subject.manager.create

            def create_others(
                m: Any, *given: Any, create: Any = create, **fields: Any
            ) -> Any:
                return fail() if len(m) == count - 1 else create(m, *given, **fields)

            with (
                patch.object(subject.manager, "create", create_others),
                patch.object(subject.manager, "_append_many", fail),
                pytest.raises(MemoryError),
            ):
                w.spawn(count, **{module: {}})
            assert len(manager) == len(w.entities) == 0
            assert w.entities.create() == self.world().entities.create()

    def test_a_failure_on_the_way_leaves_nothing(self) -> None:
        for subject in self.subjects.values():
            w = self.world()
            managers = self.managers(w).values()
            with (
                patch.object(subject.manager, "_append_many", fail),
                pytest.raises(MemoryError),
            ):
                w.spawn(2, **self.everything())
            assert [len(manager) for manager in managers] == [0] * len(managers)
            assert len(w.entities) == 0
            assert w.entities.create() == self.world().entities.create()

    def test_without_room_nothing_begins(self) -> None:
        for subject in self.subjects.values():
            w = self.world()
            managers = self.managers(w).values()
            with (
                patch.object(subject.manager, "_make_room", fail),
                pytest.raises(MemoryError),
            ):
                w.spawn(2, **self.everything())
            assert [manager.version for manager in managers] == [0] * len(managers)
            assert w.entities.create() == self.world().entities.create()
