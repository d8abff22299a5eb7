"""Cases of every world: entities come with instances, and go at once or later."""

from __future__ import annotations

import warnings
from copy import deepcopy
from itertools import permutations
from typing import Any
from unittest.mock import patch

import pytest
from ecsgen_runtime.base.errors import (
    DuplicateInstanceError,
    StaleEntityError,
    StructureLockedError,
)

from .common_cases import check_shown
from .subject import (
    COPIES,
    CopyingCases,
    UnlimitedWorldTests,
    alike,
    create_or_skip,
    handles_with,
    lack,
    raise_error,
    refuses,
    replace_entity,
    same,
)


class SpawningCases(CopyingCases, UnlimitedWorldTests):
    """A world with all its components."""

    def managers(self, w: Any) -> dict[str, Any]:
        return {module: getattr(w, module) for module in self.subjects}

    def lazy(self, w: Any) -> list[Any]:
        """Return the managers that keep rows of dead entities until they are collected."""
        return [m for m in self.managers(w).values() if hasattr(m, "collect")]

    def check_nothing(self, w: Any) -> None:
        """Check that a world is as a new one."""
        assert not any(map(len, (w.entities, *self.managers(w).values())))
        assert w.entities.create() == self.world().entities.create()

    def test_a_manager_for_each_component(self, w: Any) -> None:
        for module, subject in self.subjects.items():
            manager = getattr(w, module)
            assert type(manager) is subject.manager
            assert manager.ensure(w.entities.create()) == manager.data.n - 1

    def test_names_of_its_parts(self, w: Any) -> None:
        cells = {name for name in w.MANAGERS if hasattr(getattr(w, name), "grid")}
        assert {*w.MANAGERS} == {*self.subjects, *self.unowned, *cells}
        for name in (*w.MANAGERS, *w.QUERIES, *w.GROUPS):
            assert name in vars(w)
        assert all(callable(getattr(w, name)) for name in w.BUNDLES)

    def test_its_repr_says_how_much_there_is(self, w: Any) -> None:
        name = type(w).__name__
        managers = {module: getattr(w, module) for module in w.MANAGERS}
        cells = [f"{name} {len(m)}" for name, m in managers.items() if len(m)]
        more = f"; {', '.join(cells)}" if cells else ""
        assert repr(w) == f"<{name}: 0 entities{more}>"
        for module in self.subjects:
            w.spawn(2, **{module: {}})
        each = [*(f"{module} 2" for module in self.subjects), *cells]
        rest = ["…"] if len(each) > 8 else []
        expected = f"{2 * len(self.subjects)} entities; {', '.join([*each[:8], *rest])}"
        if each:
            assert repr(w) == f"<{name}: {expected}>"
        check_shown(w, w._repr_html_().count("<tr>") - 1)

    def test_managers_without_owners_stand_beside(self, w: Any) -> None:
        w.spawn(2, **self.everything())
        for module, subject in self.unowned.items():
            manager = getattr(w, module)
            assert type(manager) is subject.manager
            assert len(manager) == 0
            id = manager.create(**subject.sample(0))
            copy = getattr(deepcopy(w), module)
            assert same(copy.row(copy.resolve(id)), subject.expected(0))
            refuses(TypeError, w.spawn, 1, **{module: {}})

    def test_spawn_gives_what_is_asked_for(self) -> None:
        for module, _, w in self.each():
            es = self.populate(w, 3, [module])
            manager = getattr(w, module)
            assert list(manager) == es.tolist()
            assert w.entities.alive_many(es).all()
            self.check_samples(w, module, es, range(3))
            for other, others in self.managers(w).items():
                assert len(others) == (3 if other == module else 0)

    def test_spawn_takes_rows(self) -> None:
        """One value for all new rows, and nothing at all if one is wrong."""
        for module, subject, w in self.each():
            manager = getattr(w, module)
            for row in (subject.row(), subject.row(**subject.sample(1))):
                rows = manager.require_many(w.spawn(3, **{module: row})).tolist()
                expected = subject.read(row._asdict())
                assert all(same(manager.row(k), expected) for k in rows)
            for field in subject.fields:
                for value, error in field.wrong():
                    with pytest.raises(error):
                        w.spawn(2, **{module: subject.row(**{field.name: value})})
                if field.shape == () and field.refused:  # not an object
                    column = [field.sample(0), field.sample(1)]
                    with pytest.raises((TypeError, ValueError)):
                        w.spawn(2, **{module: subject.row(**{field.name: column})})
            refuses(TypeError, w.spawn, 2, **{module: (1, 2)})
            assert len(manager) == len(w.entities) == 6

    def test_spawn_of_nothing(self, w: Any) -> None:
        assert len(w.spawn(0, **self.everything())) == 0
        es = w.spawn(2)
        assert w.empty_entities().tolist() == es.tolist()
        refuses(ValueError, "-1", w.spawn, -1)
        refuses(TypeError, "'no_such_component'", w.spawn, 1, no_such_component={})

    def test_a_failing_spawn_changes_nothing(self) -> None:
        for module, subject in self.subjects.items():
            bad = [(f.name, *f.wrong()[0]) for f in subject.fields if f.wrong()]
            for name, value, error in (("no_such_field", 0, TypeError), *bad):
                w = self.world()
                everything: dict[str, Any] = {other: {} for other in self.subjects}
                everything[module] = {name: [value, value]}
                refuses(error, w.spawn, 2, **everything)
                self.check_nothing(w)

    def test_empty_entities(self, w: Any) -> None:
        empty = w.spawn(2).tolist()
        for module in self.subjects:
            es = self.populate(w, 2, [module])
            getattr(w, module).remove(es[0])
            empty.append(int(es[0]))
        assert sorted(w.empty_entities().tolist()) == sorted(empty)
        w.destroy(empty[0])
        assert sorted(w.empty_entities().tolist()) == sorted(empty[1:])

    def test_destroying(self, w: Any) -> None:
        es = w.spawn(3, **self.everything())
        w.destroy(es[0])
        refuses(StaleEntityError, w.destroy_many, [es[1], es[1]])
        w.destroy_many([*es[1:], es[1]], repeats=True)
        assert len(w.entities) == 0
        refuses(StaleEntityError, w.destroy, es[0])
        refuses(StaleEntityError, w.destroy_many, es)

    def test_every_lazy_manager_collects(self, w: Any) -> None:
        es = w.spawn(4, **self.everything())
        w.destroy_many(es[:3])
        lazy = self.lazy(w)
        assert w.collect() == 3 * len(lazy)
        assert all(list(m) == [es[3]] for m in lazy)
        assert w.collect() == w.gc() == 0

    def test_every_lazy_manager_picks_at_random(self, w: Any) -> None:
        es = w.spawn(4, **self.everything())
        w.destroy_many(es)
        lazy = self.lazy(w)
        went = w.gc()
        assert went == sum(4 - len(m) for m in lazy)
        assert all(len(m) < 4 for m in lazy)

    @pytest.mark.parametrize("copied", COPIES)
    def test_copies_go_their_own_way(self, w: Any, copied: Any) -> None:
        es = w.spawn(3, **self.everything())
        other = copied(w)
        other.destroy(es[0])
        other.collect()
        w.spawn(1, **self.everything())
        assert (len(w.entities), len(other.entities)) == (4, 2)
        assert w.entities.alive(es[0])
        for manager in self.managers(w).values():
            assert len(manager) == 4
        for manager in self.managers(other).values():
            assert set(es[1:].tolist()) <= set(manager) <= set(es.tolist())

    def locks(self, w: Any, first: str, module: str) -> bool:
        """Return whether a manager is locked with another, whose rows move with its own."""
        with getattr(w, first).locked():
            try:
                getattr(w, module).clear()
            except StructureLockedError:
                return True
        return False

    def test_own_columns_can_be_spawned(self) -> None:
        for module, subject, w in self.each():
            manager = getattr(w, module)
            if subject.reserve:  # it does not grow, and two more must fit
                self.populate(w, min(64, subject.reserve - 2), [module])
            else:
                self.populate(w, 64, [module])
                self.populate(w, manager.capacity - len(manager), [module])
            expected = [manager.row(0), manager.row(1)]
            columns = subject.own_columns(manager, slice(0, 2))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                es = w.spawn(2, **{module: columns})
            rows = manager.require_many(es)
            assert same([manager.row(row) for row in rows], expected)

    def test_columns_whose_rows_go_can_be_spawned(self) -> None:
        for module, subject, w in self.each():
            es = self.populate(w, 3, [module])
            manager = getattr(w, module)
            expected = manager.row(0)
            columns = subject.own_columns(manager, slice(0, 1))
            if hasattr(manager, "collect"):
                successor = replace_entity(w, es[0], **{module: columns})
                assert same(manager.row(manager.require(successor)), expected)

    def test_columns_of_others_whose_rows_go_can_be_spawned(self) -> None:
        """Others move into their place before the new rows are filled."""
        for module, other in permutations(self.subjects, 2):
            both = alike(self.subjects[module], self.subjects[other])
            w = self.world()
            source, manager = getattr(w, other), getattr(w, module)
            if not (both and hasattr(source, "collect")):
                continue
            field, of_other = both[0]
            es = self.populate(w, 6, [other])
            column = getattr(source.data, of_other)[:3]
            expected = column.tolist()
            w.destroy_many(es[:3])
            with handles_with(w.entities, MIN_FREE=0):
                es = w.spawn(3, **{other: {}, module: {field: column}})
            cells = getattr(manager.data, field)[manager.require_many(es)]
            assert same(cells.tolist(), expected)

    def test_callbacks_may_create_what_is_spawned(self) -> None:
        """Then the spawn fails, and nothing of it is left, nor of what they created."""
        for w, first, module, entity in self.announced():
            manager = getattr(w, module)
            if self.locks(w, first, module) or hasattr(manager, "first"):
                continue

            def create(_: object, w: Any = w, m: Any = manager) -> None:
                m.create_many(w.entities.live())

            getattr(w, first).on_release(create)
            parts: dict[str, Any] = {first: {}, module: {}}
            refuses(DuplicateInstanceError, replace_entity, w, entity, **parts)
            assert not any(len(m) for m in (w.entities, *self.managers(w).values()))

    def test_callbacks_may_use_the_room(self) -> None:
        for w, first, module, entity in self.announced():
            subject, manager = self.subjects[module], getattr(w, module)
            if subject.reserve or self.locks(w, first, module):
                continue
            if not subject.takes_repeats:  # rows are of defaults alone
                continue
            manager.reserve(1)
            others = create_or_skip(w.entities, manager.capacity)

            def fill(_: object, m: Any = manager, es: Any = others) -> None:
                m.create_many(es[m.data.n :])

            getattr(w, first).on_release(fill)
            parts: dict[str, Any] = {first: {}, module: {}}
            successor = replace_entity(w, entity, **parts)
            assert all(successor in getattr(w, part) for part in parts)
            assert manager.data.n <= manager.capacity
            assert manager.entity(manager.require(successor)) == successor

    def test_nothing_is_left_of_who_dies_of_a_collection(self) -> None:
        for module, manager in self.managers(self.world()).items():
            if not (manager.DESPAWNS_OWNERS and hasattr(manager, "collect")):
                continue
            w = self.world()
            es = self.populate(w, 3, list(self.subjects))
            rows = getattr(w, module).require_many(es)
            getattr(w, module).set_parent(rows[1], rows[0])
            w.destroy(es[0])
            w.collect()
            assert list(w.entities) == [es[2]]
            assert all(list(each) == [es[2]] for each in self.lazy(w))

    @pytest.mark.parametrize("method", ["gc", "collect"])
    def test_failing_callbacks_stop_no_sweep(self, method: str) -> None:
        for module, _, w in self.each():
            manager = getattr(w, module)
            if not (hasattr(manager, "collect") and hasattr(manager, "on_release")):
                continue
            w.destroy_many(w.spawn(4, **self.everything()))
            manager.on_release(raise_error)
            refuses(ExceptionGroup, getattr(w, method))
            assert max(map(len, self.lazy(w))) < 4

    @pytest.mark.parametrize("count", [1, 2])
    def test_a_failure_at_the_last_row_leaves_nothing(self, count: int) -> None:
        for module, subject, w in self.each():
            create = subject.manager.create

            def create_others(m: Any, *arguments: Any, create: Any = create, **fields: Any) -> Any:
                return lack() if len(m) == count - 1 else create(m, *arguments, **fields)

            with (
                patch.object(subject.manager, "create", create_others),
                patch.object(subject.manager, "_append_many", lack),
                pytest.raises(MemoryError),
            ):
                w.spawn(count, **{module: {}})
            self.check_nothing(w)

    @pytest.mark.parametrize("step", ["_ensure_capacity", "_append_many"])
    def test_a_failure_on_the_way_leaves_nothing(self, step: str) -> None:
        for _, subject, w in self.each():
            with patch.object(subject.manager, step, lack):
                refuses(MemoryError, w.spawn, 2, **self.everything())
            if step == "_ensure_capacity":  # then nothing began
                assert not any(m.version for m in self.managers(w).values())
            self.check_nothing(w)
