"""Groups: rows of members in step, whatever happens in whatever order."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.models.group_model import GROUPS, MODULES, NIL, Kind, Rows, check_groups, check_rows
from tests.models.group_model import columns as columns_of
from tests.support.soak import examples
from tests.support.world_package import load, sources, world_package

SCHEMA = """
world: Game
entity: {index_bits: 12, generation_bits: 12, min_free: 0}
groups: {bodies: [Position, Velocity], lit: [Mesh, Light]}
---
component: Position
lookup: hash
fields: {value: "f32[3]", tag: {type: i32, tags: [cold]}}
---
component: Velocity
fields: {value: "f32[3]", speed: i32, name: "str[8]"}
---
component: Mesh
growth: {reserve: 64}
release: true
fields: {k: i32}
---
component: Light
cold: indirect
hierarchy: {orphans: destroy}
fields: {k: i32, far: {type: i32, tags: [cold]}}
"""


def game() -> Any:
    return world_package(SCHEMA, "grouped_game").Game()


def errors() -> Any:
    return importlib.import_module("ecsgen_runtime.base.errors")


def bodies(w: Any, both: int, extra: int = 0) -> Any:
    """Spawn entities: some with the first alone, some with both, some with the second alone."""
    w.spawn(extra, position={"tag": range(-extra, 0)})
    es = w.spawn(both, position={"tag": range(both)}, velocity={"speed": range(both)})
    w.spawn(extra, velocity={"speed": range(-extra, 0)})
    return es


def aligned(w: Any) -> bool:
    n = w.bodies.n
    owners = w.bodies.entity.tolist()
    parts = [manager.data.entity[:n].tolist() for manager in (w.position, w.velocity)]
    values = [w.bodies.position.tag.tolist(), w.bodies.velocity.speed.tolist()]
    return parts == [owners, owners] and values[0] == values[1]


def test_what_does_not_join_does_not_touch_the_mates() -> None:
    w = game()
    bodies(w, 2)
    version = w.position.version
    w.velocity.create(w.entities.create())
    w.velocity.create_many(w.entities.create_many(3))
    w.velocity.destroy(2)
    w.velocity.destroy_many([2, 3])
    assert w.position.version == version
    assert w.bodies.n == 2


def test_the_dead_stay_until_one_of_their_rows_goes() -> None:
    w = game()
    es = bodies(w, 4)
    w.destroy_many(es[1:3])
    assert w.bodies.n == 4
    assert w.position.collect() == 2
    assert w.bodies.entity.tolist() == es[[0, 3]].tolist()
    assert len(w.velocity) == 4
    assert aligned(w)
    assert w.collect() == 2
    assert aligned(w)


def test_a_view_of_a_mate_may_be_given_although_its_rows_move() -> None:
    """The new rows drive out dead ones, which leave the group, before they are filled."""
    for source in ("columns", "entities"):
        w = game()
        dead = bodies(w, 3)
        w.destroy_many(dead)
        es = w.spawn(3, position={"value": [[k] * 3 for k in (1, 2, 3)], "tag": 5})
        assert (es % 4096).tolist() == (dead % 4096).tolist()
        assert w.bodies.n == 3
        view = w.position.data.entity[3:] if source == "entities" else es
        values = w.position.data.value[3:] if source == "columns" else [[1], [2], [3]]
        w.velocity.create_many(view, value=values, speed=5)
        assert w.bodies.entity.tolist() == es.tolist()
        assert w.bodies.velocity.value.tolist() == [[1] * 3, [2] * 3, [3] * 3]
        assert aligned(w)


def test_sorting_by_a_cold_field_that_lies_apart() -> None:
    w = game()
    w.spawn(3, mesh={}, light={"far": [3, 0, 2], "k": [3, 0, 2]})
    w.bodies.sort("position", [])
    w.lit.sort("light", "far")
    assert w.lit.light.k.tolist() == [0, 2, 3]
    assert w.light.data.cold.row.tolist() == [2, 1]


def test_a_manager_on_its_own_belongs_to_no_group() -> None:
    w = game()
    es = bodies(w, 3, extra=1)
    for alone in (copy.deepcopy(w.velocity), pickle.loads(pickle.dumps(w.velocity))):
        assert alone.data.speed.tolist() == w.velocity.data.speed.tolist()
        alone.sort([3, 2, 1, 0])  # the first is the last, which is then destroyed
        alone.destroy(3)
        alone.create(es[0])
    fresh = type(w.velocity)(w.entities)
    fresh.create_many(es)
    fresh.reorder([2, 1, 0])
    assert fresh.data.entity.tolist() == es[::-1].tolist()
    assert w.bodies.n == 3
    assert aligned(w)


def test_a_lock_on_one_locks_all() -> None:
    w = game()
    es = bodies(w, 2, extra=1)
    error = errors().StructureLockedError
    lonely = int(w.position.data.entity[2])
    for locked, other in ((w.position, w.velocity), (w.velocity, w.position)):
        with locked.locked():
            for call in (
                lambda other=other: other.destroy(0),
                lambda other=other: other.destroy_many([0]),
                lambda other=other: other.create(w.entities.create()),
                lambda: w.velocity.create_many([lonely]),
                lambda: w.bodies.sort("velocity", "speed"),
                lambda: w.bodies.reorder([1, 0]),
                lambda: w.spawn(1, velocity={}),
                w.collect,
            ):
                with pytest.raises(error):
                    call()
            w.mesh.create(es[0])  # of another group
            with other.locked():
                pass
        assert w.bodies.n == 2
        assert aligned(w)
        w.mesh.clear()
    w.velocity.create(lonely)
    assert w.bodies.n == 3


def test_no_room_for_the_last_component_changes_nothing() -> None:
    w = game()
    es = w.entities.create_many(70)
    w.light.create_many(es[:66], k=range(66))
    w.mesh.create_many(es[:63], k=range(63))
    before = w.light.data.entity.tolist(), w.light.version, w.mesh.version, w.lit.n
    with pytest.raises(errors().CapacityError):
        w.mesh.create_many(es[63:66])
    with pytest.raises(errors().CapacityError):
        w.spawn(2, light={}, mesh={})
    assert (w.light.data.entity.tolist(), w.light.version, w.mesh.version, w.lit.n) == before
    assert w.mesh.create(es[65], k=65) == 63  # into the last row, by swaps without a spare one
    with pytest.raises(errors().CapacityError):
        w.mesh.create(es[64])
    assert w.lit.light.k.tolist() == w.lit.mesh.k.tolist() == [*range(63), 65]


def test_a_spawn_that_fails_after_joining_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    w = game()
    es = w.spawn(3, light={"k": range(3)}, mesh={"k": range(3)})
    w.spawn(1, light={})

    def fail(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(type(w.velocity), "_append_many", fail)
    with pytest.raises(MemoryError):
        w.spawn(2, light={}, mesh={}, velocity={})
    assert w.lit.entity.tolist() == es.tolist()
    assert w.lit.light.k.tolist() == w.lit.mesh.k.tolist() == [0, 1, 2]
    assert (len(w.light), len(w.mesh), len(w.entities)) == (4, 3, 4)


def test_descendants_leave_the_group_as_well() -> None:
    w = game()
    es = w.spawn(6, mesh={"k": range(6)}, light={"k": range(6)})
    w.light.set_parent_many([1, 2, 4], [0, 1, 3])
    w.light.destroy(0)
    assert sorted(w.lit.light.k.tolist()) == [3, 4, 5]
    assert w.lit.light.k.tolist() == w.lit.mesh.k.tolist()
    assert len(w.mesh) == 6
    row = w.light.lookup(es[4])
    assert w.light.parent(row) == w.light.lookup(es[3])


def test_what_is_released_cannot_be_moved_by_a_mate() -> None:
    w = game()
    es = w.spawn(3, mesh={"k": [1, 2, 3]}, light={})
    seen = []

    def released(rows: Any) -> None:
        w.light.remove(es[0])

    w.mesh.on_release(lambda rows: seen.extend(w.mesh.data.k[rows].tolist()))
    w.mesh.on_release(released)
    with pytest.raises(ExceptionGroup) as caught:
        w.mesh.destroy_many([0, 2])
    assert [type(e) for e in caught.value.exceptions] == [errors().StructureLockedError]
    assert seen == [1, 3]
    assert w.lit.entity.tolist() == [es[1]]
    assert len(w.light) == 3


def test_a_component_outside_of_groups_bears_no_trace_of_them() -> None:
    text = SCHEMA.replace("groups: {bodies: [Position, Velocity], lit: [Mesh, Light]}", "")
    texts = sources(load(text))
    for path in ("position.py", "velocity.py", "mesh.py", "light.py", "world.py"):
        assert not re.search(r"group(?!.*Exception)|(?<!Exception)Group|\bmate", texts[path])


SEEDS = (1, 2, 3, 4)
MATES = {module: members for members in GROUPS.values() for module in members}
modules = st.sampled_from(MODULES)


@cache
def kind(seed: int) -> Kind:
    return Kind(seed)


class Machine(RuleBasedStateMachine):
    """One world. What callbacks do is drawn once, so that a failing run can be repeated."""

    seed = 0

    @initialize(trouble=st.booleans(), data=st.data())
    def start(self, trouble: bool, data: st.DataObject) -> None:
        self.kind = kind(self.seed)
        self.trouble = trouble
        self.serial = 0
        self.model = {module: Rows(p) for module, p in self.kind.policies.items()}
        self.world = self.kind.package.Game()
        self.listen()
        for module in MODULES:
            self.spawn(data.draw(st.integers(0, 5)), [m for m in MODULES if m >= module])

    def manager(self, module: str) -> Any:
        return getattr(self.world, module)

    def listen(self) -> None:
        """Have every release looked at, and some fail."""
        for module, policies in self.kind.policies.items():
            if policies.release:
                self.manager(module).on_release(lambda rows, m=module: self.released(m, rows))

    def released(self, module: str, rows: Any) -> None:
        """Rows about to go are whole, and nothing in the group can move them."""
        manager = self.manager(module)
        owners = manager.data.entity[rows].tolist()
        serials = [self.before[module].get(entity) for entity in owners]
        assert manager.data.k[rows].tolist() == serials
        for mate in MATES.get(module, (module,)):
            with pytest.raises(self.kind.errors.StructureLockedError):
                self.manager(mate).clear()
        if self.trouble and len(rows) % 2:
            raise OSError

    def changed(self, call: Callable[[], Any]) -> Any:
        """Make a call whose callbacks may fail, and see that versions tell of all moves."""
        self.before = {module: dict(rows.serials) for module, rows in self.model.items()}
        managers = [self.manager(module) for module in MODULES]
        before = [(m.version, m.data.entity.tolist()) for m in managers]
        result = None
        try:
            result = call()
        except* OSError:
            assert self.trouble
        for manager, (version, owners) in zip(managers, before, strict=True):
            moved = manager.data.entity.tolist() != owners
            assert manager.version > version if moved else manager.version >= version
        return result

    def serials(self, count: int) -> list[int]:
        self.serial += count
        return list(range(self.serial - count + 1, self.serial + 1))

    def given(self, module: str, serials: list[int]) -> dict[str, Any]:
        columns = columns_of(serials)
        if self.kind.policies[module].cold:
            columns["far"] = [serial if serial % 3 == 0 else 0 for serial in serials]
            columns["tale"] = [[serial] if serial % 3 == 0 else None for serial in serials]
        return columns

    def add(self, module: str, entities: list[int], serials: list[int]) -> None:
        """Add new rows to the model, after those that they evict."""
        rows = self.model[module]
        if self.kind.policies[module].lookup == "sparse":
            mask = (1 << 7) - 1
            indices = {entity & mask for entity in entities}
            rows.drop([e for e in rows.serials if e & mask in indices])
        rows.serials |= dict(zip(entities, serials, strict=True))

    def died(self) -> None:
        """Drop the rows that go with their entities."""
        for module, policies in self.kind.policies.items():
            if policies.destroy == "callback":
                self.drop_dead(module)

    def dead(self, module: str) -> list[int]:
        alive = self.world.entities.alive
        return [entity for entity in self.model[module].serials if not alive(entity)]

    def drop_dead(self, module: str) -> int:
        return len(self.model[module].drop(self.dead(module)))

    def owners(self, data: st.DataObject, module: str) -> list[int]:
        """Draw distinct owners of rows."""
        owners = self.manager(module).data.entity.tolist()
        return data.draw(st.lists(st.sampled_from(owners), unique=True)) if owners else []

    @rule(count=st.integers(0, 9), chosen=st.lists(modules, unique=True, max_size=6))
    def spawn(self, count: int, chosen: list[str]) -> None:
        if len(self.world.entities) + count > 100:
            return
        serials = {module: self.serials(count) for module in chosen}
        values = {module: self.given(module, serials[module]) for module in chosen}
        known = set(self.world.entities)
        entities = self.changed(lambda: self.world.spawn(count, **values))
        if entities is None:  # callbacks of what the new rows drove out failed
            entities = [e for e in self.world.entities if e not in known]
            manager = self.manager(chosen[0]) if chosen else None
            entities.sort(key=lambda e: manager.k(manager.lookup(e)) if manager else e)
        for module in chosen:
            self.add(module, list(map(int, entities)), serials[module])

    @rule(module=modules, data=st.data())
    def create(self, module: str, data: st.DataObject) -> None:
        lacking = [e for e in self.world.entities if e not in self.model[module].serials]
        if not lacking:
            return
        entity = data.draw(st.sampled_from(lacking))
        (serial,) = self.serials(1)
        values = {name: column[0] for name, column in self.given(module, [serial]).items()}
        name = data.draw(st.sampled_from(["create", "ensure"]))
        manager = self.manager(module)
        row = self.changed(lambda: getattr(manager, name)(entity, **values))
        assert row in (None, manager.lookup(entity))
        self.add(module, [entity], [serial])

    @rule(module=modules, data=st.data())
    def create_many(self, module: str, data: st.DataObject) -> None:
        lacking = [e for e in self.world.entities if e not in self.model[module].serials]
        if not lacking:
            return
        entities = data.draw(st.lists(st.sampled_from(lacking), unique=True))
        serials = self.serials(len(entities))
        manager = self.manager(module)
        values = self.given(module, serials)
        rows = self.changed(lambda: manager.create_many(entities, **values))
        if rows is not None:
            assert rows.tolist() == manager.lookup_many(entities).tolist()
        self.add(module, entities, serials)

    @rule(group=st.sampled_from(sorted(GROUPS)), data=st.data())
    def create_for_the_owners_of_a_view(self, group: str, data: st.DataObject) -> None:
        """The argument is a column of a mate, whose rows move meanwhile."""
        first, second = GROUPS[group][:2]
        owners = self.manager(first).data.entity
        fit = self.world.entities.alive_many(owners) & ~self.manager(second).has_many(owners)
        start = data.draw(st.integers(0, len(owners)))
        end = start + int(np.argmin(np.append(fit[start:], False)))
        view = owners[start:end]
        entities = view.tolist()
        serials = self.serials(len(entities))
        values = self.given(second, serials)
        del owners
        self.changed(lambda: self.manager(second).create_many(view, **values))
        self.add(second, entities, serials)

    @rule(module=modules, data=st.data(), by_entity=st.booleans())
    def destroy(self, module: str, data: st.DataObject, by_entity: bool) -> None:
        manager = self.manager(module)
        if not len(manager):
            return
        entity = data.draw(st.sampled_from(manager.data.entity.tolist()))
        if by_entity:
            self.changed(lambda: manager.remove(entity))
        else:
            self.changed(lambda: manager.destroy(manager.lookup(entity)))
        self.model[module].drop([entity])

    @rule(module=modules, data=st.data(), by_entity=st.booleans())
    def destroy_many(self, module: str, data: st.DataObject, by_entity: bool) -> None:
        manager, entities = self.manager(module), self.owners(data, module)
        if by_entity:
            self.changed(lambda: manager.remove_many([*entities, *entities[:1]]))
        else:
            self.changed(lambda: manager.destroy_many(manager.lookup_many(entities)))
        self.model[module].drop(entities)

    @rule(module=modules)
    def clear(self, module: str) -> None:
        self.changed(self.manager(module).clear)
        self.model[module].drop(list(self.model[module].serials))

    @precondition(lambda self: len(self.world.entities) > 0)
    @rule(data=st.data())
    def destroy_entities(self, data: st.DataObject) -> None:
        alive = list(self.world.entities)
        entities = data.draw(st.lists(st.sampled_from(alive), unique=True))
        if len(entities) == 1:
            self.changed(lambda: self.world.destroy(entities[0]))
        else:
            self.changed(lambda: self.world.destroy_many(entities))
        self.died()

    @rule()
    def collect(self) -> None:
        self.changed(self.world.collect)
        for module, policies in self.kind.policies.items():
            if policies.destroy == "gc":
                self.drop_dead(module)

    @rule()
    def gc(self) -> None:
        self.changed(self.world.gc)
        for module in MODULES:
            rows = self.model[module]
            gone = set(rows.serials) - set(self.manager(module).data.entity.tolist())
            assert not gone or self.kind.policies[module].destroy == "gc"
            dead = set(self.dead(module))
            assert rows.drop(gone & dead) == gone

    @rule(group=st.sampled_from(sorted(GROUPS)), data=st.data())
    def sort(self, group: str, data: st.DataObject) -> None:
        module = data.draw(st.sampled_from(GROUPS[group]))
        sorted_group = getattr(self.world, group)
        key = data.draw(st.sampled_from(["k", None]))
        if key is None:
            values = data.draw(
                st.lists(st.integers(0, 3), min_size=sorted_group.n, max_size=sorted_group.n)
            )
            expected = sorted_group.entity[np.argsort(values, kind="stable")].tolist()
            self.changed(lambda: sorted_group.sort(module, values))
            assert sorted_group.entity.tolist() == expected
        else:
            self.changed(lambda: sorted_group.sort(module, key))
            column = getattr(sorted_group, module).k
            assert bool((column[1:] >= column[:-1]).all())

    @rule(group=st.sampled_from(sorted(GROUPS)), data=st.data())
    def reorder(self, group: str, data: st.DataObject) -> None:
        ordered = getattr(self.world, group)
        order = data.draw(st.permutations(range(ordered.n)))
        expected = ordered.entity[order].tolist()
        self.changed(lambda: ordered.reorder(order))
        assert ordered.entity.tolist() == expected

    @rule(module=modules, data=st.data())
    def set_parent(self, module: str, data: st.DataObject) -> None:
        manager, rows = self.manager(module), self.model[module]
        owners = manager.data.entity.tolist()
        if not rows.policies.hierarchy or not owners:
            return
        child = data.draw(st.sampled_from(owners))
        parent = data.draw(st.sampled_from([None, *owners]))
        above = parent
        while above is not None and above != child:
            above = rows.parents.get(above)
        if above == child:
            return
        row = NIL if parent is None else manager.lookup(parent)
        manager.set_parent(manager.lookup(child), row)
        rows.parents.pop(child, None)
        if parent is not None:
            rows.parents[child] = parent

    @rule(module=modules)
    def shrink(self, module: str) -> None:
        self.changed(self.manager(module).shrink_to_fit)

    @rule(module=modules)
    def locks_hold_all(self, module: str) -> None:
        error = self.kind.errors.StructureLockedError
        before = [self.manager(m).version for m in MODULES]
        with self.manager(module).locked():
            for mate in MATES.get(module, (module,)):
                manager = self.manager(mate)
                with pytest.raises(error):
                    manager.clear()
                with pytest.raises(error):
                    manager.create_many([])
        assert before == [self.manager(m).version for m in MODULES]

    @rule(copied=st.sampled_from([copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))]))
    def save_and_load(self, copied: Callable[[Any], Any]) -> None:
        versions = [self.manager(module).version for module in MODULES]
        self.world = copied(self.world)
        assert versions == [self.manager(module).version for module in MODULES]
        self.listen()

    @invariant()
    def rows_agree(self) -> None:
        for module, rows in self.model.items():
            check_rows(self.manager(module), rows)

    @invariant()
    def groups_agree(self) -> None:
        check_groups(self.world, self.model)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_of_any_policies(seed: int) -> None:
    machine = type(f"Machine{seed}", (Machine,), {"seed": seed})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples(15),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
