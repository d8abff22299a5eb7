"""Groups, case by case: who joins and leaves, what may be given, what is refused."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
from typing import Any

import numpy as np
import pytest

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
    return importlib.import_module("ecsgen_runtime.errors")


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


def test_who_has_all_is_in_front() -> None:
    w = game()
    es = bodies(w, 3, extra=2)
    assert w.bodies.n == len(w.bodies) == 3
    assert w.bodies.entity.tolist() == es.tolist()
    assert w.bodies.position.n == 3
    assert aligned(w)
    assert [e in w.bodies for e in w.entities] == [False, False, True, True, True, False, False]
    assert "nobody" not in w.bodies
    assert not w.bodies.entity.flags.writeable


def test_columns_are_slices_that_can_be_assigned_to() -> None:
    w = game()
    bodies(w, 3, extra=2)
    part = w.bodies.velocity
    assert np.shares_memory(part.value, w.velocity.data.buffer)
    assert part.value.base is not None
    assert part.value.flags.c_contiguous
    part.value = [1, 2, 3]
    part.value *= 2
    part.speed = [7, 8, 9]
    part.name = "fast"
    w.bodies.position.value += part.value * 0.5
    assert w.velocity.data.value.tolist() == [[2, 4, 6]] * 3 + [[0, 0, 0]] * 2
    assert w.velocity.data.speed.tolist() == [7, 8, 9, -2, -1]
    assert w.velocity.data.name.tolist() == [b"fast"] * 3 + [b""] * 2
    assert w.bodies.position.value.tolist() == [[1, 2, 3]] * 3
    assert w.position.data.value[3:].tolist() == [[0, 0, 0]] * 2
    with pytest.raises(ValueError, match=r"Velocity\.speed"):
        part.speed = [1, 2]


@pytest.mark.parametrize("call", ["create", "ensure"])
def test_the_last_missing_component_joins(call: str) -> None:
    w = game()
    bodies(w, 2, extra=2)
    first, _, last = (int(w.position.data.entity[k]) for k in (2, 0, 3))
    versions = w.position.version, w.velocity.version
    row = getattr(w.velocity, call)(last, speed=-1)
    assert row == w.velocity.lookup(last) == 2
    assert w.position.lookup(last) == 2
    assert (w.position.version, w.velocity.version) == (versions[0] + 1, versions[1] + 1)
    assert w.bodies.n == 3
    assert aligned(w)
    rows = w.velocity.create_many([first], speed=-2)
    assert rows.tolist() == [3]
    assert aligned(w)


def test_rows_that_are_returned_are_where_they_are_now() -> None:
    w = game()
    bodies(w, 1, extra=3)
    lonely = w.position.data.entity[1:].tolist()
    fresh = w.entities.create_many(2).tolist()
    es = [fresh[0], lonely[2], lonely[0], fresh[1]]
    rows = w.velocity.create_many(es, speed=[10, -3, -2, 11])
    assert rows.tolist() == w.velocity.lookup_many(es).tolist()
    assert w.velocity.data.speed[rows].tolist() == [10, -3, -2, 11]
    assert w.bodies.entity.tolist()[1:] == [lonely[2], lonely[0]]
    assert aligned(w)


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


@pytest.mark.parametrize("module", ["position", "velocity"])
def test_leaving_moves_the_mates_alike(module: str) -> None:
    w = game()
    es = bodies(w, 5, extra=2)
    manager, mate = getattr(w, module), w.velocity if module == "position" else w.position
    version = mate.version
    manager.destroy(1)
    assert mate.version == version + 1
    assert len(mate) == 7
    assert w.bodies.entity.tolist() == es[[0, 4, 2, 3]].tolist()
    assert aligned(w)
    assert manager.remove(es[1]) == 0
    manager.destroy_many([0, 2, 5])
    assert w.bodies.entity.tolist() == es[[3, 4]].tolist()
    assert aligned(w)
    manager.clear()
    assert w.bodies.n == 0
    assert len(mate) == 7


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
    for given in ("columns", "entities"):
        w = game()
        dead = bodies(w, 3)
        w.destroy_many(dead)
        es = w.spawn(3, position={"value": [[k] * 3 for k in (1, 2, 3)], "tag": 5})
        assert (es % 4096).tolist() == (dead % 4096).tolist()
        assert w.bodies.n == 3
        view = w.position.data.entity[3:] if given == "entities" else es
        values = w.position.data.value[3:] if given == "columns" else [[1], [2], [3]]
        w.velocity.create_many(view, value=values, speed=5)
        assert w.bodies.entity.tolist() == es.tolist()
        assert w.bodies.velocity.value.tolist() == [[1] * 3, [2] * 3, [3] * 3]
        assert aligned(w)


def test_sorting_a_group_sorts_all_members() -> None:
    w = game()
    bodies(w, 4, extra=2)
    w.bodies.velocity.speed = [3, 1, 2, 0]
    w.bodies.position.tag = [3, 1, 2, 0]
    behind = w.position.data.tag[4:].tolist(), w.velocity.data.speed[4:].tolist()
    versions = w.position.version, w.velocity.version
    w.bodies.sort("velocity", "speed")
    assert w.bodies.velocity.speed.tolist() == [0, 1, 2, 3]
    assert aligned(w)
    assert (w.position.version, w.velocity.version) == (versions[0] + 1, versions[1] + 1)
    w.bodies.sort("position", [1.0, np.nan, 0.5, 1.0])
    assert w.bodies.position.tag.tolist() == [2, 0, 3, 1]
    assert aligned(w)
    w.bodies.reorder([3, 2, 1, 0])
    assert w.bodies.position.tag.tolist() == [1, 3, 0, 2]
    assert aligned(w)
    assert (w.position.data.tag[4:].tolist(), w.velocity.data.speed[4:].tolist()) == behind


def test_sorting_by_a_cold_field_that_lies_apart() -> None:
    w = game()
    w.spawn(3, mesh={}, light={"far": [3, 0, 2], "k": [3, 0, 2]})
    w.bodies.sort("position", [])
    w.lit.sort("light", "far")
    assert w.lit.light.k.tolist() == [0, 2, 3]
    assert w.light.data.cold.row.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("mass", "speed"), ValueError),
        (("velocity", "value"), ValueError),
        (("velocity", "none"), ValueError),
        (("velocity", [1, 2]), ValueError),
        (("velocity", [[1], [2], [3]]), ValueError),
        (("velocity",), TypeError),
    ],
)
def test_keys_that_no_group_is_sorted_by(arguments: Any, error: type) -> None:
    w = game()
    bodies(w, 3, extra=1)
    before = w.bodies.entity.tolist(), w.velocity.version
    with pytest.raises(error):
        w.bodies.sort(*arguments)
    with pytest.raises(ValueError, match="permutation"):
        w.bodies.reorder([0, 1, 1])
    with pytest.raises(ValueError, match="permutation"):
        w.bodies.reorder([0, 1, 2, 3])
    assert (w.bodies.entity.tolist(), w.velocity.version) == before


def test_members_are_not_sorted_on_their_own() -> None:
    w = game()
    bodies(w, 2)
    version = w.velocity.version
    for call, given in ((w.velocity.sort, "speed"), (w.velocity.reorder, [1, 0])):
        with pytest.raises(errors().EcsError, match=r"bodies\.sort"):
            call(given)
    assert w.velocity.version == version


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


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda w: pickle.loads(pickle.dumps(w))])
def test_copies_of_a_world_have_groups_of_their_own(copied: Any) -> None:
    w = game()
    es = bodies(w, 3, extra=1)
    other = copied(w)
    assert other.bodies.position._data is other.position.data
    assert other.bodies.entity.tolist() == es.tolist()
    other.velocity.destroy(0)
    other.bodies.sort("velocity", [1, 0])
    assert (other.bodies.n, w.bodies.n) == (2, 3)
    assert aligned(other)
    assert w.bodies.entity.tolist() == es.tolist()
    w.velocity.destroy(0)
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
    made = sources(load(text))
    for path in ("position.py", "velocity.py", "mesh.py", "light.py", "world.py"):
        assert not re.search(r"group(?!.*Exception)|(?<!Exception)Group|\bmate", made[path])
