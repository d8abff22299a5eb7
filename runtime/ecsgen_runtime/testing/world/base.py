"""The world: spawning, destroying and looking at whole entities."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any, ClassVar

import pytest

from ...errors import CapacityError, StaleEntityError
from ...handles import EntityArray
from ..reflection import check_shown
from ..subject import Roomy, same


class Cases(Roomy):
    """A world with all its components."""

    world: ClassVar[Any]

    def managers(self, w: Any) -> dict[str, Any]:
        """Return the managers of a world."""
        return {module: getattr(w, module) for module in self.subjects}

    def spawn(self, w: Any, count: int, modules: list[str]) -> EntityArray:
        """Spawn entities with samples of some components."""
        components = {
            module: self.subjects[module].samples(count) for module in modules
        }
        try:
            es: EntityArray = w.spawn(count, **components)
        except CapacityError:
            pytest.skip(
                f"the handles of this project are too small for {count} entities"
            )
        return es

    def test_a_manager_for_each_component(self) -> None:
        w = self.world()
        for module, subject in self.subjects.items():
            manager = getattr(w, module)
            assert type(manager) is subject.manager
            assert manager.ensure(w.entities.create()) == manager.data.n - 1

    def test_names_of_its_parts(self) -> None:
        w = self.world()
        assert {*w.MANAGERS} == {*self.subjects, *self.unowned}
        for name in (*w.MANAGERS, *w.QUERIES, *w.GROUPS):
            assert name in vars(w)
        assert all(callable(getattr(w, name)) for name in w.BUNDLES)

    def test_its_repr_says_how_much_there_is(self) -> None:
        w = self.world()
        name = type(w).__name__
        assert repr(w) == f"<{name}: 0 entities>"
        for module in self.subjects:
            w.spawn(2, **{module: {}})
        each = [f"{module} 2" for module in self.subjects]
        more = ["…"] if len(each) > 8 else []
        expected = f"{2 * len(each)} entities; {', '.join([*each[:8], *more])}"
        if each:
            assert repr(w) == f"<{name}: {expected}>"
        check_shown(w, w._repr_html_().count("<tr>") - 1)

    def test_parts_are_not_replaced(self) -> None:
        for w in (self.world(), deepcopy(self.world())):
            for name, part in list(vars(w).items()):
                with pytest.raises(AttributeError, match=type(part).__name__):
                    setattr(w, name, part)
                with pytest.raises(AttributeError, match=type(part).__name__):
                    delattr(w, name)
            w._turns = 0
            w._turns += 1
            assert deepcopy(w)._turns == 1
            del w._turns
            assert not hasattr(w, "_turns")

    def test_managers_without_owners_stand_beside(self) -> None:
        w = self.world()
        w.spawn(2, **{module: {} for module in self.subjects})
        for module, subject in self.unowned.items():
            manager = getattr(w, module)
            assert type(manager) is subject.manager
            assert len(manager) == 0
            id = manager.create(**subject.sample(0))
            copy = getattr(deepcopy(w), module)
            assert same(copy.row(copy.resolve(id)), subject.read(subject.sample(0)))
            with pytest.raises(TypeError):
                w.spawn(1, **{module: {}})

    def test_spawn_gives_what_is_asked_for(self) -> None:
        for module, subject in self.subjects.items():
            w = self.world()
            es = self.spawn(w, 3, [module])
            manager = getattr(w, module)
            assert list(manager) == es.tolist()
            assert w.entities.alive_many(es).all()
            for row in range(3):
                assert same(manager.row(row), subject.read(subject.sample(row)))
            for other, others in self.managers(w).items():
                assert len(others) == (3 if other == module else 0)

    def test_spawn_of_everything_with_defaults(self) -> None:
        w = self.world()
        es = w.spawn(2, **{module: {} for module in self.subjects})
        assert len(w.entities) == 2
        for module, manager in self.managers(w).items():
            assert list(manager) == es.tolist()
            assert same(manager.row(1), self.subjects[module].read({}))

    def test_spawn_takes_rows(self) -> None:
        """One value for all new rows, and nothing at all if one is wrong."""
        for module, subject in self.subjects.items():
            w = self.world()
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
            with pytest.raises(TypeError):
                w.spawn(2, **{module: (1, 2)})
            assert len(manager) == len(w.entities) == 6

    def test_spawn_of_nothing(self) -> None:
        w = self.world()
        assert len(w.spawn(0, **{module: {} for module in self.subjects})) == 0
        es = w.spawn(2)
        assert w.empty_entities().tolist() == es.tolist()
        with pytest.raises(ValueError, match="-1"):
            w.spawn(-1)
        with pytest.raises(TypeError, match="'no_such_component'"):
            w.spawn(1, no_such_component={})

    def test_a_failing_spawn_changes_nothing(self) -> None:
        for module, subject in self.subjects.items():
            bad: list[tuple[str, Any, type[Exception]]] = [
                ("no_such_field", 0, TypeError)
            ]
            bad += [(f.name, *f.wrong()[0]) for f in subject.fields if f.wrong()]
            for name, value, error in bad:
                w = self.world()
                everything: dict[str, Any] = {other: {} for other in self.subjects}
                everything[module] = {name: [value, value]}
                with pytest.raises(error):
                    w.spawn(2, **everything)
                assert len(w.entities) == 0
                assert [len(manager) for manager in self.managers(w).values()] == [
                    0
                ] * len(self.subjects)
                assert w.entities.create() == self.world().entities.create()

    def test_components_of_an_entity(self) -> None:
        w = self.world()
        (everything,) = w.spawn(1, **{module: {} for module in self.subjects}).tolist()
        rows = tuple(subject.row for subject in self.subjects.values())
        assert w.components(everything) == rows
        (nothing,) = w.spawn(1).tolist()
        assert w.components(nothing) == ()
        for module, subject in self.subjects.items():
            (entity,) = w.spawn(1, **{module: {}}).tolist()
            assert w.components(entity) == (subject.row,)

    def test_empty_entities(self) -> None:
        w = self.world()
        empty = w.spawn(2).tolist()
        for module in self.subjects:
            es = self.spawn(w, 2, [module])
            getattr(w, module).remove(es[0])
            empty.append(int(es[0]))
        assert sorted(w.empty_entities().tolist()) == sorted(empty)
        w.destroy(empty[0])
        assert sorted(w.empty_entities().tolist()) == sorted(empty[1:])

    def test_destroying(self) -> None:
        w = self.world()
        es = w.spawn(3, **{module: {} for module in self.subjects})
        w.destroy(es[0])
        w.destroy_many(es[1:])
        assert len(w.entities) == 0
        with pytest.raises(StaleEntityError):
            w.destroy(es[0])
        with pytest.raises(StaleEntityError):
            w.destroy_many(es)

    def test_every_lazy_manager_collects(self) -> None:
        w = self.world()
        es = w.spawn(4, **{module: {} for module in self.subjects})
        w.destroy_many(es[:3])
        lazy = [m for m in self.managers(w).values() if hasattr(m, "collect")]
        assert w.collect() == 3 * len(lazy)
        assert all(list(m) == [es[3]] for m in lazy)
        assert w.collect() == w.gc() == 0

    def test_every_lazy_manager_picks_at_random(self) -> None:
        w = self.world()
        es = w.spawn(4, **{module: {} for module in self.subjects})
        w.destroy_many(es)
        lazy = [m for m in self.managers(w).values() if hasattr(m, "gc")]
        went = w.gc()
        assert went == sum(4 - len(m) for m in lazy)
        assert all(len(m) < 4 for m in lazy)

    @pytest.mark.parametrize(
        "copied", [deepcopy, lambda w: pickle.loads(pickle.dumps(w))]
    )
    def test_copies_go_their_own_way(self, copied: Any) -> None:
        w = self.world()
        es = w.spawn(3, **{module: {} for module in self.subjects})
        other = copied(w)
        other.destroy(es[0])
        other.collect()
        w.spawn(1, **{module: {} for module in self.subjects})
        assert (len(w.entities), len(other.entities)) == (4, 2)
        assert w.entities.alive(es[0])
        for manager in self.managers(w).values():
            assert len(manager) == 4
        for manager in self.managers(other).values():
            assert set(es[1:].tolist()) <= set(manager) <= set(es.tolist())
