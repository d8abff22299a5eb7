"""Groups: rows of members in step, whatever happens in whatever order."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.handles import NIL
from ecsgen_testing.common_cases import INTERRUPTED
from ecsgen_testing.subject import refuses
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from tests.support.state_machines import package_with_tests, run_machine
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


def test_members_have_no_order_of_their_own() -> None:
    w = game()
    es = bodies(w, 3)
    for member in (w.position, w.velocity):
        for call in (member.sort, member.reorder):
            refuses(errors().StructureLockedError, r"bodies\.sort", call, [2, 1, 0])
    for arguments in (("position", "no_field"), ("position", [1, 2]), ("no_member", [1, 2, 3])):
        refuses(ValueError, "no_|shape", w.bodies.sort, *arguments)
    refuses(ValueError, "permutation", w.bodies.reorder, [0, 1, 1])
    refuses(AttributeError, "position is its", setattr, w.bodies, "position", 3)
    assert w.bodies.entity.tolist() == es.tolist()


def test_columns_of_a_mate_are_read_before_its_rows_move() -> None:
    w = game()
    es = bodies(w, 4)
    w.destroy(es[0])
    (new,) = w.spawn(1)  # evicts the dead entity's row
    (row,) = w.velocity.create_many([new], speed=w.position.data.tag[:1])
    assert w.velocity.speed(row) == 0
    w.position.ensure(new)
    assert w.bodies.n == 4


@pytest.mark.parametrize("name", ["position", "velocity"])
def test_all_members_break_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    w = game()
    bodies(w, 3)
    manager, members = getattr(w, name), (w.position, w.velocity)
    broken = [*members, *(member.data for member in members)]
    with monkeypatch.context() as patch:
        patch.setattr(type(manager.data), "_version", INTERRUPTED, raising=False)
        refuses(ZeroDivisionError, manager.destroy, 2)
    for part in broken:
        refuses(errors().BrokenManagerError, getattr, part, "n")


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


CHANGES: dict[str, Callable[[Any, Any], object]] = {
    "sorted": lambda w, es: w.bodies.sort("velocity", [2, 1, 3]),
    "reordered": lambda w, es: w.bodies.reorder([2, 0, 1]),
    "one joins": lambda w, es: w.velocity.create(es[3]),
    "some join": lambda w, es: w.velocity.create_many(es[3:]),
    "one leaves the first": lambda w, es: w.position.remove(es[2]),
    "some leave the first": lambda w, es: w.position.remove_many(es[1:3]),
    "one leaves the second": lambda w, es: w.velocity.remove(es[2]),
    "some leave the second": lambda w, es: w.velocity.remove_many(es[1:3]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_group_counts_in_all_members(change: str) -> None:
    """Also where no row moves: the last ones leave, and who joins is behind them already."""
    w = game()
    es = [*bodies(w, 3), *w.spawn(2, position={})]
    versions = w.position.version, w.velocity.version
    CHANGES[change](w, es)
    assert (w.position.version, w.velocity.version) == (versions[0] + 1, versions[1] + 1)


def test_a_swap_in_full_buffers_needs_no_spare_row() -> None:
    w = game()
    es = bodies(w, 62, extra=1)
    (late,) = w.spawn(1, position={"tag": 62})
    for member in (w.position, w.velocity):
        member.shrink_to_fit()
    w.velocity.create(late, speed=62)
    assert w.bodies.entity.tolist() == [*es, late]
    assert w.bodies.velocity.speed.tolist() == [*range(63)]
    assert w.position.data.tag.tolist() == [*range(63), -1]
    assert aligned(w)


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


FIELDS = "k: i32, thing: object, at: {type: 'f32[2]', split: true}, pair: 'i16[2]'"
FAR = "far: {type: i32, tags: [cold]}, tale: {type: object, tags: [cold]}"
GROUPS = {"pairs": ("alpha", "beta"), "triples": ("delta", "gamma", "mu")}


def member(name: str, random: Random) -> str:
    """Return a member's document, with policies that it may have, at random."""
    fields = FIELDS
    keys = [
        f"lookup: {random.choice(['sparse', 'sparse', 'hash'])}",
        f"ids: {str(random.random() < 0.5).lower()}",
    ]
    destroy = random.choice(["gc", "gc", "callback", "manual"])
    keys.append(f"destroy: {destroy}")
    if destroy == "callback" or random.random() < 0.4:
        keys.append("release: true")
    if random.random() < 0.5:
        keys.append("hierarchy: {orphans: root}")
    if random.random() < 0.4:
        keys.append("cold: indirect")
        fields += f", {FAR}"
    if random.random() < 0.25:
        keys.append("growth: {reserve: 128}")
    return "\n".join([f"component: {name.title()}", f"fields: {{{fields}}}", *keys, ""])


def schema(seed: int) -> str:
    """Return a world with two groups."""
    random = Random(seed)
    members = (f"{g}: [{', '.join(m.title() for m in ms)}]" for g, ms in GROUPS.items())
    head = (
        "world: Game\n"
        "entity: {index_bits: 7, generation_bits: 12, min_free: 1}\n"
        f"groups: {{{', '.join(members)}}}\n"
    )
    names = [name for members in GROUPS.values() for name in members]
    return "---\n".join([head, *(member(name, random) for name in names)])


def watched(base: Any) -> Any:
    """Return a group's machine of generated tests, with more that can happen and be seen."""

    class Machine(base):  # type: ignore[misc]  # known when it is built
        w: Any

        def __init__(self) -> None:
            super().__init__()
            self.parents: dict[str, dict[int, int]] = {module: {} for module in self.members}
            self.ids: dict[str, dict[int, int]] = {module: {} for module in self.members}
            self.listen()

        def listen(self) -> None:
            """Have every release looked at."""
            for module, manager in zip(self.members, self.managers(self.w), strict=True):
                if hasattr(manager, "on_release"):
                    manager.on_release(partial(self.released, module))

        def released(self, module: str, rows: Any) -> None:
            """Rows about to go are whole, and nothing in the group can move them."""
            manager, subject = getattr(self.w, module), self.members[module]
            ks = [self.rows[module][entity] for entity in manager.data.entity[rows].tolist()]
            assert [repr(manager.row(row)) for row in rows] == [
                repr(subject.expected(k)) for k in ks
            ]
            self.check_locked()

        def check_locked(self) -> None:
            for mate in self.managers(self.w):
                for call in (mate.clear, partial(mate.create_many, [])):
                    with pytest.raises(errors().StructureLockedError):
                        call()

        @rule(copied=st.sampled_from([copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))]))
        def copy(self, copied: Callable[[Any], Any]) -> None:
            versions = [manager.version for manager in self.managers(self.w)]
            self.w = copied(self.w)
            assert versions == [manager.version for manager in self.managers(self.w)]
            self.listen()

        @rule(data=st.data(), kind=st.sampled_from(["lock", "shrink", "reorder", "clear"]))
        def others(self, data: st.DataObject, kind: str) -> None:
            """One rule, so that those of rows that come and go have more turns."""
            module, group = self.member(data), self.grouped(self.w)
            manager = getattr(self.w, module)
            if kind == "lock":
                with manager.locked():
                    self.check_locked()
            elif kind == "shrink":
                manager.shrink_to_fit()
            elif kind == "reorder":
                order = data.draw(st.permutations(range(group.n)))
                expected = group.entity[order].tolist()
                group.reorder(order)
                assert group.entity.tolist() == expected
            elif not data.draw(st.integers(0, 4)):
                manager.clear()
                self.rows[module].clear()

        @rule(data=st.data())
        def create_for_the_owners_of_a_view(self, data: st.DataObject) -> None:
            """The argument is a column of a mate, whose rows move meanwhile."""
            (first, second), entities = list(self.members)[:2], self.w.entities
            manager = getattr(self.w, second)
            owners = getattr(self.w, first).data.entity
            fit = entities.alive_many(owners) & ~manager.has_many(owners)
            start = data.draw(st.integers(0, len(owners)))
            view = owners[start : start + int(np.argmin(np.append(fit[start:], False)))]
            es = view.tolist()
            del owners
            manager.create_many(view, **self.samples(second, range(self.k, self.k + len(es))))
            self.know([second], es)

        @rule(data=st.data())
        def set_parent(self, data: st.DataObject) -> None:
            module = self.member(data)
            manager, parents = getattr(self.w, module), self.parents[module]
            owners = list(manager)
            if not hasattr(manager, "set_parent") or not owners:
                return
            child = data.draw(st.sampled_from(owners))
            parent = data.draw(st.sampled_from([None, *owners]))
            above = parent
            while above is not None and above != child:
                above = parents.get(above)
            if above is None:
                row = NIL if parent is None else manager.lookup(parent)
                manager.set_parent(manager.lookup(child), row)
                parents.pop(child, None)
                parents |= {} if parent is None else {child: parent}

        @invariant()
        def links_and_ids_agree(self) -> None:
            for module, manager in zip(self.members, self.managers(self.w), strict=True):
                owners = list(manager)
                held, rows = set(owners), list(range(len(owners)))
                links = self.parents[module] = {
                    c: p for c, p in self.parents[module].items() if {c, p} <= held
                }
                if hasattr(manager, "parent"):
                    expected = [links.get(entity) for entity in owners]
                    above = [manager.parent(row) for row in rows]
                    assert [None if row == NIL else owners[row] for row in above] == expected
                    for row in rows:
                        children = {owners[child] for child in manager.children(row)}
                        assert children == {c for c, p in links.items() if p == owners[row]}
                if hasattr(manager, "id_of"):
                    known = self.ids[module] = {
                        e: self.ids[module].get(e, manager.id_of(row))
                        for row, e in enumerate(owners)
                    }
                    assert manager.resolve_many(list(known.values())).tolist() == rows

    return Machine


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
@pytest.mark.parametrize("group", GROUPS)
def test_groups_of_any_policies(seed: int, group: str) -> None:
    package = package_with_tests(schema(seed), f"groups_{seed}")
    tests = importlib.import_module(f"{package.__name__}.tests.test_world")
    run_machine(watched(getattr(tests, f"_{group.title()}GroupMachine")), seed, 40)
