"""Entities one at a time: made from rows, read, and shown with their components."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import pytest

from ...errors import (
    DuplicateInstanceError,
    MissingInstanceError,
    StaleEntityError,
    StructureLockedError,
)
from ..subject import Roomy, Subject, same


class Cases(Roomy):
    """`world[entity]`, and what worlds do with rows of one entity."""

    world: ClassVar[Any]
    view: ClassVar[Any]

    def row(self, subject: Subject, k: int = 0) -> Any:
        """Return the k-th sample as a row."""
        return subject.row(**subject.sample(k))

    def state(self, w: Any) -> list[Any]:
        """Return what a failed call must not have changed."""
        managers = [getattr(w, module) for module in self.subjects]
        return [list(w), [(list(m), m.version) for m in managers]]

    def test_worlds_contain_live_entities(self) -> None:
        w = self.world()
        es = w.spawn(3).tolist()
        w.destroy(es[1])
        assert (len(w), list(w)) == (2, [es[0], es[2]])
        assert es[0] in w
        for absent in (es[1], 0, -1, 2**64, "text", 1.5, None):
            assert absent not in w

    def test_creating_from_rows(self) -> None:
        w = self.world()
        rows = [self.row(subject) for subject in self.subjects.values()]
        e = w.create(*rows)
        assert type(e) is int
        assert w.components(e) == tuple(s.row for s in self.subjects.values())
        for subject in self.subjects.values():
            assert same(w.get(e, subject.row), subject.read(subject.sample(0)))
        bare = w.create()
        assert w.components(bare) == ()
        for subject in self.subjects.values():
            assert w.get(bare, subject.row) is None

    def test_classes_and_rows_are_told_apart(self) -> None:
        w = self.world()
        e = w.create()
        for subject in self.subjects.values():
            name = subject.row.__name__
            with pytest.raises(TypeError, match=f"{name} is a class: give a row"):
                w.create(subject.row)
            with pytest.raises(TypeError, match=f"wanted the class {name}, not a row"):
                w.get(e, self.row(subject))
        assert len(w) == 1

    def test_a_row_twice(self) -> None:
        for module, subject in self.subjects.items():
            if not subject.takes_repeats:
                continue  # two rows of defaults
            w = self.world()
            rows = [self.row(subject, 0), self.row(subject, 1)]
            if not hasattr(subject.manager, "instances"):
                before = self.state(w)
                with pytest.raises(DuplicateInstanceError, match=subject.label):
                    w.create(*rows)
                assert self.state(w) == before
                continue
            manager = getattr(w, module)
            found = [manager.row(row) for row in manager.instances(w.create(*rows))]
            assert same(found, [subject.read(subject.sample(k)) for k in (0, 1)])

    def test_a_failing_creation_changes_nothing(self) -> None:
        w = self.world()
        x = w[w.create()]
        before = self.state(w)
        for subject in self.subjects.values():
            others = [self.row(o) for o in self.subjects.values() if o is not subject]
            for field in subject.fields:
                named = f"{subject.label}.{field.name}"
                for value, error in field.wrong():
                    bad = subject.row(**{**subject.sample(0), field.name: value})
                    with pytest.raises(error, match=named):
                        w.create(*others, bad)
                    with pytest.raises(error, match=named):
                        x.add(*others, bad)
        assert self.state(w) == before
        assert w.create() == x.entity + 1

    def test_classes_that_entities_cannot_have(self) -> None:
        w = self.world()
        e = w.create()
        wrong = [(), (1, 2), *(self.row(s) for s in self.unowned.values())]
        for row in wrong:
            with pytest.raises(TypeError, match="no component"):
                w.create(row)
            with pytest.raises(TypeError, match="no component"):
                w[e].add(row)
            with pytest.raises(TypeError, match="no component"):
                w.get(e, type(row))
            with pytest.raises(TypeError, match="no component"):
                w[e].remove(type(row))
            assert type(row) not in w[e]
        assert list(w) == [e]

    def test_dead_entities_have_no_views(self) -> None:
        w = self.world()
        e = w.create(*(self.row(subject) for subject in self.subjects.values()))
        x = w[e]
        w.destroy(e)
        calls: list[Any] = [lambda: w[e], lambda: len(x), lambda: list(x), x.add]
        calls += [x.destroy, lambda: tuple in x]
        for module, subject in self.subjects.items():
            calls.append(lambda module=module: getattr(x, module))
            calls.append(lambda row=subject.row: w.get(e, row))
            calls.append(lambda row=subject.row: x.remove(row))
        for call in calls:
            with pytest.raises(StaleEntityError):
                call()
        assert x.entity == e
        assert "dead" in repr(x)

    def test_components_are_attributes(self) -> None:
        for module, subject in self.subjects.items():
            w = self.world()
            x = w[w.create(self.row(subject, 1))]
            assert type(x) is self.view
            found = getattr(x, module)
            assert found.entity == x.entity
            assert same(getattr(w, module).row(found.row), w.get(x.entity, subject.row))
            assert (list(x), len(x)) == ([subject.row], 1)
            assert subject.row in x
            assert repr(w.get(x.entity, subject.row)) in repr(x)
            for other in self.subjects.keys() - {module}:
                with pytest.raises(MissingInstanceError):
                    getattr(x, other)
        w = self.world()
        x = w[w.create()]
        for name in ("no_such_component", *self.unowned):
            with pytest.raises(AttributeError, match=name):
                getattr(x, name)

    def test_adding_and_removing(self) -> None:
        for module, subject in self.subjects.items():
            w = self.world()
            x = w[w.create()]
            others = [self.row(s) for s in self.subjects.values() if s is not subject]
            x.add(self.row(subject, 1))
            assert same(w.get(x.entity, subject.row), subject.read(subject.sample(1)))
            if not hasattr(subject.manager, "instances"):
                before = self.state(w)
                with pytest.raises(DuplicateInstanceError):
                    x.add(*others, self.row(subject))
                assert self.state(w) == before
            bare = w[w.create()]
            with getattr(w, module).locked(), pytest.raises(StructureLockedError):
                bare.add(*others, self.row(subject, 2))
            assert len(bare) == 0
            assert len(x) == 1
            assert (x.remove(subject.row), x.remove(subject.row)) == (1, 0)
            assert len(x) == 0
            x.destroy()
            assert x.entity not in w

    def test_adding_everything_at_once(self) -> None:
        w = self.world()
        x = w[w.create()]
        x.add(*map(self.row, self.subjects.values()))
        assert tuple(x) == tuple(s.row for s in self.subjects.values())
        for subject in self.subjects.values():
            assert same(w.get(x.entity, subject.row), subject.read(subject.sample(0)))

    def test_managers_of_ones_own(self) -> None:
        world = type(self.world())
        for module, plain in world._KINDS.items():
            body = {"__slots__": (), "_own_size": lambda m: len(m)}
            own = type("Own", (plain,), body)
            kind: Any = type("World", (world,), {}, managers={module: own})
            w = kind()
            assert type(getattr(w, module)) is own
            assert getattr(w, module)._own_size() == 0
            assert type(getattr(deepcopy(w), module)) is own
            assert type(getattr(world(), module)) is plain

    def test_managers_of_ones_own_are_checked(self) -> None:
        world = type(self.world())
        wrong: list[Any] = [{"no_such_component": object}, 3]
        wrong += [{module: object} for module in world._KINDS]
        wrong += [{module: len} for module in world._KINDS]
        for managers in wrong:
            with pytest.raises(TypeError):
                type("World", (world,), {}, managers=managers)
        for plain in world._KINDS.values():
            for taken in ("create", "data", "__len__"):
                with pytest.raises(
                    TypeError, match=f"has '{taken}' and does not always"
                ):
                    type("Own", (plain,), {taken: len})
