"""Change readers: what they say is the difference of two states, whatever happened in between."""

from __future__ import annotations

import copy
import pickle
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables import changes as tables_changes
from ecsgen_testing.subject import refuses
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from tests.support.policies_package import COMBINATIONS, ROOT
from tests.support.state_machines import machine_of, package_with_tests, run_machine
from tests.support.world_package import world_package

MORE = (ROOT / "tests" / "more_policies.yaml").read_text("utf-8")


@cache
def policies() -> ModuleType:
    combinations = COMBINATIONS.partition("---\nworld:")[0]
    world = "world: Changing\ngroups: {trio: [Left, Right, Third]}\n"
    return package_with_tests(f"{MORE}\n---\n{combinations}---\n{world}", "changing_package")


COMPONENTS = [
    *(line.split()[1] for line in f"{MORE}\n{COMBINATIONS}".splitlines() if "component:" in line)
]


class Model:
    """A reader, and what it is to say: rows by what tells them apart, as bytes."""

    def __init__(self, manager: Any) -> None:
        self.fields = readable(manager)
        self.reader = manager.changes(*self.fields)
        self.rows = state(manager, self.fields)

    def check(self, manager: Any) -> None:
        """Compare what the reader says with the difference of two states."""
        then, now = self.rows, state(manager, self.fields)
        self.rows, changes = now, self.reader.read()
        assert changes.added.tolist() == sorted(now[key][0] for key in now.keys() - then.keys())
        gone = sorted((then[key][0], key) for key in then.keys() - now.keys())
        assert changes.removed.tolist() == [key for _, key in gone]
        for name in self.fields:
            differing = {
                now[key][0]: then[key][1][name]
                for key in now.keys() & then.keys()
                if now[key][1][name] != then[key][1][name]
            }
            assert changes.changed(name).tolist() == sorted(differing)
            before, last = changes.before(name), changes.last(name)
            assert [cell.tobytes() for cell in before] == [differing[r] for r in sorted(differing)]
            assert [cell.tobytes() for cell in last] == [then[key][1][name] for _, key in gone]
        assert bool(changes) == (
            len(changes.added) + len(changes.removed) > 0
            or any(len(changes.changed(name)) for name in self.fields)
        )
        row_bytes = 8 + sum(columns(manager, name).strides[0] for name in self.fields)
        assert self.reader.nbytes <= 2 * row_bytes * manager.data.n


def readable(manager: Any) -> list[str]:
    """Return the fields that readers can have."""
    cold = {field.name for field in manager.FIELDS if "cold" in field.tags}
    indirect = cold if hasattr(manager.data, "cold") else set()
    fields = [f.name for f in manager.FIELDS if f.type != "object" and f.name not in indirect]
    return [*fields, "entity"] if hasattr(manager.data, "entity") else fields


def columns(manager: Any, name: str) -> Any:
    """Return a field as one array, split or not."""
    if hasattr(manager.data, name):
        return getattr(manager.data, name)
    ends = [f"{name}_{end}" for end in "xyzw" if hasattr(manager.data, f"{name}_{end}")]
    return np.stack([getattr(manager.data, column) for column in ends], axis=1)


def state(manager: Any, fields: list[str]) -> dict[int, tuple[int, dict[str, bytes]]]:
    """Return each row of a living entity, by id or else by entity: where it is, and its cells."""
    cells = {name: columns(manager, name) for name in fields}
    rows = {}
    owned = hasattr(manager, "lookup")
    for row in range(manager.data.n):
        if owned:
            owner = int(manager.data.entity[row])
            if owner == 0 or not manager._entities.alive(owner):
                continue
        key = manager.id_of(row) if hasattr(manager, "id_of") else owner
        rows[key] = row, {name: column[row].tobytes() for name, column in cells.items()}
    return rows


def with_readers(machine: Any) -> Any:
    """Return a component's state machine that has two readers beside its own model."""

    class Reading(machine):  # type: ignore[misc]  # of generated tests
        models: tuple[Any, Model, Model] | None = None

        def both(self) -> tuple[Model, Model]:
            """Return the readers of the manager as it is now: a copy has its own."""
            m = self.manager
            if self.models is None or self.models[0] is not m:
                self.models = m, Model(m), Model(m)
            return self.models[1:]

        @invariant()
        def one_reads_all_the_time(self) -> None:
            self.both()[0].check(self.manager)

        @rule(times=st.integers(1, 2))
        def the_other_reads_now_and_then(self, times: int) -> None:
            for _ in range(times):
                self.both()[1].check(self.manager)

    return Reading


@pytest.mark.parametrize("component", COMPONENTS)
def test_readers_agree_with_a_naive_model(component: str) -> None:
    module = "".join(f"_{c.lower()}" if c.isupper() else c for c in component).strip("_")
    machine = machine_of(policies(), module)
    if machine.subject.manager.ALLOWS_MANY and not hasattr(machine.subject.manager, "id_of"):
        with pytest.raises(TypeError, match="ids: true"):
            machine.subject.manager(policies().EntityManager()).changes()
        return
    run_machine(with_readers(machine))


SCHEMA = """
component: Place
fields: {at: "f32[3]", way: {type: "f64[2]", split: true}, name: "str[5]", tall: f64}
---
component: Many
instances: many
fields: {a: i32}
---
component: Chest
fields: {gold: i64, thing: object, note: {type: i64, tags: [cold]}}
cold: indirect
release: true
---
component: Log
owner: none
fields: {line: i32}
---
component: Ground
grid: {shape: [3, 4]}
fields: {grass: f32}
---
component: Inner
fields: {b: f64}
destroy: callback
---
component: Outer
fields: {d: f64}
---
world: Little
groups: {pair: [Outer, Inner]}
"""


@pytest.fixture(scope="module")
def package() -> Any:
    return world_package(SCHEMA, "little_changes")


def filled_places(package: Any, n: int = 6) -> tuple[Any, Any]:
    w = package.World()
    es = w.spawn(n, place={"tall": np.arange(n)})
    return w, es


def test_a_reader_begins_with_the_rows_of_now(package: Any) -> None:
    w, es = filled_places(package)
    r = w.place.changes("tall", "at", "way")
    first = r.read()
    assert isinstance(r, package.ChangeReader)
    assert isinstance(first, package.Changes)
    assert not first
    assert first.added.tolist() == first.removed.tolist() == []
    w.place[es[2]].tall = 20.0
    w.place.data.at[3, 1] = -0.0
    w.place.data.way_y[4] = np.nan
    c = r.read()
    assert c
    assert [c.changed(name).tolist() for name in ("tall", "at", "way")] == [[2], [3], [4]]
    assert c.before("tall").tolist() == [2.0]
    assert c.before("at").tolist() == [[0, 0, 0]]
    assert c.before("at").dtype == np.float32
    assert c.before("way").tolist() == [[0, 0]]
    assert c.last("way").shape == (0, 2)
    assert repr(c) == "<Changes: 0 added, 0 removed; tall 1 changed, at 1 changed, way 1 changed>"
    w.place.data.way_y[4] = np.nan  # the same bits
    assert not r.read()


def test_a_row_of_the_dead_is_gone_before_it_is_collected(package: Any) -> None:
    w, es = filled_places(package)
    r = w.place.changes("tall", "entity")
    w.destroy(es[0])
    w.place.create_many(w.spawn(2))
    c = r.read()
    assert c.removed.tolist() == c.last("entity").tolist() == [es[0]]
    assert w.place.data.entity[c.added].tolist() == w.place.data.entity[-2:].tolist()
    w.collect()
    assert not r.read()
    assert repr(r) == "<ChangeReader of PlaceManager: tall, entity; 7 rows>"


def test_what_no_reader_can_have_is_named(package: Any) -> None:
    w, _ = filled_places(package)
    for manager, field, message in [
        (w.place, "tal", "Place has no field 'tal'; did you mean 'tall'"),
        (w.place, "way_x", "Place has no field 'way_x'"),
        (w.chest, "thing", "Chest.thing is an object"),
        (w.chest, "note", "Chest.note lies in a buffer of its own"),
        (w.log, "entity", "Log has no field 'entity'"),
    ]:
        refuses(ValueError, message, manager.changes, field)
    for question in ("changed", "before", "last"):
        with pytest.raises(ValueError, match="not asked for 'at': it was asked for tall"):
            getattr(w.place.changes("tall").read(), question)("at")
    refuses(TypeError, "ids: true", w.many.changes, "a")


def test_readers_are_neither_copied_nor_pickled(package: Any) -> None:
    w, _ = filled_places(package)
    for reader in (w.place.changes("tall"), w.entities.changes()):
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            refuses(TypeError, "Reader can't be copied or pickled", copied, reader)
    again = copy.deepcopy(w)  # managers know no readers
    assert len(again.place) == 6


def test_reading_goes_on_while_locked_and_in_callbacks(package: Any) -> None:
    w, es = filled_places(package)
    w.chest.create_many(es, gold=np.arange(6))
    r, seen = w.chest.changes("gold"), []
    w.chest.on_release(lambda rows: seen.append(r.read().removed.tolist()))
    with w.chest.locked():
        w.chest.data.gold = 9
        assert r.read().before("gold").tolist() == [0, 1, 2, 3, 4, 5]
    w.chest.remove(es[1])
    assert seen == [[]]
    assert r.read().removed.tolist() == [es[1]]
    w.entities.destroy(es[2])
    w.collect()
    assert seen[1:] == [[es[2]]]  # dead, and still there
    assert not r.read()


def test_cells_of_a_grid_change_and_never_go(package: Any) -> None:
    w = package.World()
    r = w.ground.changes("grass")
    w.ground.data.grass[5] = 1.0
    c = r.read()
    assert c.changed("grass").tolist() == [5]
    assert not len(c.added)
    assert not len(c.removed)


def test_a_reader_that_fails_is_as_it_was(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    w, es = filled_places(package)
    r = w.place.changes("tall", "at")
    w.place.data.tall[1] = 11.0
    w.place.data.at[2] = 1
    w.destroy(es[0])
    w.place.create(w.entities.create())
    w.collect()

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(tables_changes, "Changes", fail)
        refuses(MemoryError, r.read)
    c = r.read()
    assert c.removed.tolist() == [es[0]]
    assert len(c.added) == 1
    assert c.before("tall").tolist() == [1.0]
    assert c.before("at").tolist() == [[0, 0, 0]]
    assert not r.read()


def test_entities_have_readers(package: Any) -> None:
    w = package.World()
    es = w.entities.create_many(5)
    r = w.entities.changes()
    assert not r.read()
    w.entities.destroy_many(es[[3, 1]])
    (new,) = w.entities.create_many(1)
    gone = w.entities.create()
    w.entities.destroy(gone)
    c = r.read()
    assert c
    assert c.added.tolist() == [new]
    assert c.removed.tolist() == [es[1], es[3]]
    assert repr(c) == "<Changes: 1 added, 2 removed>"
    assert not r.read()
    assert r.nbytes >= 5 * 8


def test_moves_of_a_group_are_no_change(package: Any) -> None:
    w = package.World()
    es = w.spawn(4, outer={"d": [3, 1, 2, 0]})
    r, s = w.outer.changes("d"), w.inner.changes("b")
    w.inner.create_many(es[1:3], b=[1, 2])
    assert w.outer.data.entity.tolist() != es.tolist()
    assert not r.read()
    assert w.inner.data.entity[s.read().added].tolist() == es[1:3].tolist()
    w.destroy(es[1])
    assert s.read().removed.tolist() == r.read().removed.tolist() == [es[1]]
