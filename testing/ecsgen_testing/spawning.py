"""Cases of every world: its parts, and entities that come with instances."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from .subject import Object, UnlimitedWorldTests, refuses, same, skipped_if_full


class SpawningCases(UnlimitedWorldTests):
    """A world with all its components."""

    def managers(self, w: Any) -> dict[str, Any]:
        return {module: getattr(w, module) for module in self.subjects}

    def lazy(self, w: Any) -> list[Any]:
        """Return the managers that keep rows of dead entities until they are collected."""
        return [m for m in self.managers(w).values() if hasattr(m, "collect")]

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
            come = self.with_required([module])
            for other, others in self.managers(w).items():
                assert len(others) == (3 if other in come else 0)

    def test_spawn_takes_rows(self) -> None:
        """One value for all new rows, and nothing at all if one is wrong."""
        for module, subject, w in self.each():
            manager = getattr(w, module)
            for row in (subject.row(), subject.row(**subject.sample(1))):
                with skipped_if_full():
                    rows = manager.require_many(w.spawn(3, **{module: row})).tolist()
                expected = subject.read(row._asdict())
                assert all(same(manager.row(k), expected) for k in rows)
            for field in subject.fields:
                for value, error in field.wrong():
                    with pytest.raises(error):
                        w.spawn(2, **{module: subject.row(**{field.name: value})})
                if field.shape == () and not isinstance(field, Object):
                    column = [field.sample(0), field.sample(1)]
                    with pytest.raises((TypeError, ValueError)):
                        w.spawn(2, **{module: subject.row(**{field.name: column})})
            refuses(TypeError, w.spawn, 2, **{module: (1, 2)})
            assert len(manager) == len(w.entities) == 6

    def test_a_failing_spawn_changes_nothing(self) -> None:
        for module, subject in self.subjects.items():
            bad = [(f.name, *f.wrong()[0]) for f in subject.fields if f.wrong()]
            for name, value, error in (("no_such_field", 0, TypeError), *bad):
                w = self.world()
                everything: dict[str, Any] = {other: {} for other in self.subjects}
                everything[module] = {name: [value, value]}
                refuses(error, w.spawn, 2, **everything)
                assert not any(map(len, (w.entities, *self.managers(w).values())))
                assert w.entities.create() == self.world().entities.create()

    def test_every_lazy_manager_collects(self, w: Any) -> None:
        es = w.spawn(4, **self.everything())
        w.destroy_many(es[:3])
        lazy = self.lazy(w)
        assert w.collect() == 3 * len(lazy)
        assert all(list(m) == [es[3]] for m in lazy)
        assert w.collect() == w.gc() == 0
