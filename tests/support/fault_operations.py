"""Operations of managers, groups, archetypes and entity managers, for tests that let them fail."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from tests.support.fault_injection import Operation, Scene
from tests.support.policies_package import ENTITIES, HEIR, filled, package, populate

SIZES = {"few": 20, "full": 64, "roomy": 20}
HIGH = ENTITIES[190]
FRESH = ENTITIES[150:]


def value_of(m: Any, name: str) -> Any:
    """Return a value for a field that is not its default, or None if none is found."""
    checker, _ = m.CONVERTERS[name]
    several = [1, 2, 3], [[1, 0], [0, 1]], [True, False], np.ones(checker.shape)
    for value in (7, 2.5, True, "ab", b"ab", *several):
        try:
            checker.to_cell(value)
        except (TypeError, ValueError, OverflowError):
            continue
        return value
    return None


def values_of(m: Any) -> dict[str, Any]:
    values = {name: value_of(m, name) for name in m.CONVERTERS}
    return {name: value for name, value in values.items() if value is not None}


def manager_scenes(name: str) -> Iterator[Scene]:
    """Return a manager of few rows and one without room for another."""
    for size, rows in SIZES.items():
        entities, m = filled(name, rows)
        spare = iter(ENTITIES[100:150])
        while m.data.n < rows:
            m.create(next(spare)) if hasattr(m, "lookup") else m.create()
        if size == "roomy" and m.capacity < 1000:
            m.reserve(500)
        saved = pickle.dumps((entities, m))
        yield Scene(f"{name} {size}", saved, list, _listen)


def _living(m: Any) -> list[int]:
    """Return who is alive: where orphans die, some are not."""
    return [entity for entity in ENTITIES if m._entities.alive(entity)]


def _listen(world: Any) -> None:
    for part in world if isinstance(world, tuple) else vars(world).values():
        if hasattr(part, "on_release"):
            part.on_release(lambda rows: rows.sum())


def manager_operations(name: str) -> dict[str, Operation]:
    """Return all that changes a manager, by title; the managers are (entities, manager)."""
    kind = getattr(package, name)
    m = filled(name, 20)[1]
    values = values_of(m)
    operations: dict[str, Operation] = {}

    def add(title: str, act: Callable[[Any], object], needs: str = "") -> None:
        if hasattr(kind, needs or title.split()[0]):
            operations[title] = lambda managers: act(managers[1])

    if hasattr(kind, "lookup"):
        _owned_operations(add, values)
        operations["destroy entity"] = lambda managers: managers[0].destroy(_living(managers[1])[9])
        operations["destroy entities"] = lambda managers: managers[0].destroy_many(
            _living(managers[1])[9:14]
        )
    else:
        add("create", lambda m: m.create())
        add("create of values", lambda m: m.create(**values))
        add("create_many", lambda m: m.create_many(7))
        add("create_many of values", lambda m: m.create_many(70, **columns(m, 70, values)))
    _row_operations(add)
    _id_operations(add)
    for field, value in values.items():
        add(f"set_{field}", partial(_set, field, value))
        if hasattr(m.data, field):
            add(f"data.{field} =", partial(_assign, field, value), "create")
    return operations


def _set(name: str, value: Any, m: Any) -> None:
    getattr(m, f"set_{name}")(_used(m)[1], value)


def _assign(name: str, value: Any, m: Any) -> None:
    setattr(m.data, name, value)


def columns(m: Any, count: int, values: dict[str, Any]) -> dict[str, Any]:
    """Return values for so many rows, of which every other has the defaults."""
    values_by_field = dict(values)
    for name, value in values.items():
        checker, default = m.CONVERTERS[name]
        is_number = checker.shape == () and not isinstance(value, (str, bytes, bool))
        if checker.dtype is None or is_number:
            usual = None if checker.dtype is None else default
            values_by_field[name] = [value if k % 2 else usual for k in range(count)]
    return values_by_field


def _used(m: Any) -> list[int]:
    return [int(row) for row in m.data._used_rows()]


def _owned_operations(add: Any, values: dict[str, Any]) -> None:
    several = [FRESH[0], FRESH[3], HIGH, HEIR]
    many = [*FRESH[10:40], HIGH, HEIR]
    add("create", lambda m: m.create(FRESH[0]))
    add("create of values", lambda m: m.create(FRESH[0], **values))
    add("create high", lambda m: m.create(HIGH))
    add("create heir", lambda m: m.create(HEIR, **values))
    add("ensure", lambda m: m.ensure(FRESH[1], **values))
    add("create_many", lambda m: m.create_many(several))
    add("create_many alike", lambda m: m.create_many(many, **values))
    add("create_many of values", lambda m: m.create_many(many, **columns(m, len(many), values)))
    add(
        "create_many again",
        lambda m: m.create_many([*FRESH[:5], *_living(m)[10:20], *FRESH[:5]]),
        needs="first",
    )
    add("remove", lambda m: m.remove(ENTITIES[1]))
    add("remove_many", lambda m: m.remove_many(ENTITIES[:11]))


def _row_operations(add: Any) -> None:
    add("destroy first", lambda m: m.destroy(_used(m)[0]))
    add("destroy middle", lambda m: m.destroy(_used(m)[8]))
    add("destroy last", lambda m: m.destroy(_used(m)[-1]))
    add("destroy_many", lambda m: m.destroy_many(_used(m)[3:12:2]))
    add("destroy_many of many", lambda m: m.destroy_many(_used(m)[1:-1:2]))
    add("destroy_many of one", lambda m: m.destroy_many(_used(m)[2:3]))
    for title in ("gc", "collect", "clear", "shrink_to_fit", "levels"):
        add(title, methodcaller(title))
    add("sort by key", lambda m: m.sort(np.arange(len(m))[::-1] % 7))
    add("reorder", lambda m: m.reorder(_turned(m)))
    add("reserve", lambda m: m.reserve(m.capacity + 64 if m.capacity < 1000 else 10))
    add("activate", lambda m: m.activate(m.n_active + 1))
    add("deactivate", lambda m: m.deactivate(0))
    add("activate_many", lambda m: m.activate_many(_used(m)[2::2]))
    add("deactivate_many", lambda m: m.deactivate_many(_used(m)[::2]))
    add("set_parent", lambda m: m.set_parent(_leaf(m), 0))
    add("set_parent NIL", lambda m: m.set_parent(_child(m), package.NIL))
    add("set_parent_many", lambda m: m.set_parent_many([1, 5, 7], [_leaf(m), 0, package.NIL]))
    add("set_parent_many NIL", lambda m: m.set_parent_many(_used(m)[1::3], package.NIL))


def _turned(m: Any) -> Any:
    bound = getattr(m, "n_active", 0)
    return np.concatenate((np.arange(bound)[::-1], np.arange(bound, len(m))[::-1]))


def _leaf(m: Any) -> int:
    return next(
        r for r in reversed(_used(m)) if m.first_child(r) == package.NIL and r not in (0, 1, 5, 7)
    )


def _child(m: Any) -> int:
    return next(r for r in _used(m) if m.parent(r) != package.NIL)


def _id_operations(add: Any) -> None:
    add("destroy_id", lambda m: m.destroy_id(m.id_of(_used(m)[4])))
    add("destroy_id_many", lambda m: m.destroy_id_many([m.id_of(r) for r in _used(m)[2:9]]))


def group_scene() -> Scene:
    """Return a world with three members of a group, rows inside it and outside."""
    w = package.Many()
    owners = w.entities.create_many(200)
    for k, m in enumerate((w.left, w.right, w.third)):
        populate(m, owners[k * 3 :], 24, np.random.default_rng(k))
    w.entities.destroy(int(owners[9]))
    w.entities.create()
    while w.left.data.n < 64:
        w.left.create(int(owners[60 + w.left.data.n]))
    saved = pickle.dumps(w)
    return Scene("Group", saved, lambda w: [w.entities, w.left, w.right, w.third], _listen)


def group_operations() -> dict[str, Operation]:
    """Return what rows joining and leaving a group is made of."""
    operations_by_title: dict[str, Operation] = {
        "sort": lambda w: w.trio.sort("left", "k"),
        "reorder": lambda w: w.trio.reorder(np.arange(w.trio.n)[::-1]),
        "spawn": lambda w: w.spawn(5, left={"k": range(5)}, right={"heat": 3}, third={}),
        "spawn many": lambda w: w.spawn(80, left={}, right={"heat": range(80)}, third={}),
        "destroy entities": lambda w: w.destroy_many(ENTITIES[12:16]),
        "collect": lambda w: w.left.collect(),
    }
    for name in ("left", "right", "third"):
        for title, act in _member_operations(name).items():
            operations_by_title[f"{name} {title}"] = act
    return operations_by_title


def _member_operations(name: str) -> dict[str, Operation]:
    """Return what changes one member of the group."""
    of = attrgetter(name)
    others = [attrgetter(other) for other in ("left", "right", "third") if other != name]

    def lacking(w: Any) -> list[int]:
        living = [e for e in ENTITIES if e != ENTITIES[9] and not of(w).has(e)]
        return [e for e in living if all(other(w).has(e) for other in others)]

    return {
        "joins": lambda w: of(w).create(lacking(w)[0]) if lacking(w) else None,
        "join": lambda w: of(w).create_many([*lacking(w), *FRESH[:2]]),
        "leaves": lambda w: of(w).destroy(1),
        "leave": lambda w: of(w).destroy_many([0, 3, 4, len(of(w)) - 2]),
        "remove": lambda w: of(w).remove_many(ENTITIES[14:22]),
        "clear": lambda w: of(w).clear(),
    }


def archetype_scene() -> Scene:
    """Return a world with rows of several archetypes in small chunks."""
    w = package.Many()
    a = w.archetypes
    a.create([package.Health], 30, health={"points": range(30)})
    a.create([package.Health, package.Armor], 20)
    a.create([package.Weapon, package.Burning], 70)
    a.create([], 40)
    w.entities.create_many(40)
    saved = pickle.dumps(w)
    return Scene("Archetypes", saved, lambda w: [w.entities, w.archetypes])


def archetype_operations() -> dict[str, Operation]:
    """Return what moves rows between archetypes."""
    p, e = package, ENTITIES
    return {
        "create": lambda w: w.archetypes.create([p.Health, p.Armor], 5, health={"points": 3}),
        "create many": lambda w: w.archetypes.create([p.Weapon], 300),
        "create new kind": lambda w: w.archetypes.create([p.Burning, p.Armor], 3),
        "add": lambda w: w.archetypes.add(e[3], p.Armor, points=3),
        "add first": lambda w: w.archetypes.add(e[130], p.Weapon),
        "add new kind": lambda w: w.archetypes.add(e[3], p.Burning),
        "add_many": lambda w: w.archetypes.add_many(e[2:9], p.Armor),
        "add_many mixed": lambda w: w.archetypes.add_many(
            [*e[2:9], *e[60:66], *e[130:133]], p.Armor
        ),
        "remove": lambda w: w.archetypes.remove(e[32], p.Health),
        "remove last": lambda w: w.archetypes.remove(e[2], p.Health),
        "remove_many": lambda w: w.archetypes.remove_many([*e[2:9], *e[33:40]], p.Health),
        "destroy": lambda w: w.entities.destroy(e[60]),
        "destroy many": lambda w: w.entities.destroy_many([*e[5:9], *e[60:70], *e[35:37]]),
        "set": lambda w: w.archetypes.set(e[60], p.Weapon, damage=3.0),
        "clear": lambda w: w.archetypes.clear(),
        "shrink": lambda w: w.archetypes.shrink_to_fit(),
        "spawn": lambda w: w.spawn(5, health={"points": range(5)}, armor={}, left={}),
        "spawn many": lambda w: w.spawn(
            300, weapon={}, right={"heat": 4}, rare={}, guest={}, branch={}
        ),
    }


def entity_scenes() -> Iterator[Scene]:
    """Return entity managers with indices that wait, and without."""
    for free in (0, 30):
        entities = package.EntityManager()
        es = entities.create_many(64)
        entities.destroy_many(es[64 - free :])
        yield Scene(f"EntityManager {free} free", pickle.dumps((entities,)), list)


def entity_operations() -> dict[str, Operation]:
    """Return what an entity manager can do."""

    def with_listener(entities: Any) -> Any:
        entities.on_destroy(lambda es: es.sum())
        return entities

    return {
        "create": lambda w: w[0].create(),
        "create_many": lambda w: w[0].create_many(20),
        "create_many more": lambda w: w[0].create_many(200),
        "reserve": lambda w: w[0].reserve(1000),
        "destroy": lambda w: w[0].destroy(ENTITIES[5]),
        "destroy_many": lambda w: w[0].destroy_many(ENTITIES[3:30]),
        "destroy_many turned": lambda w: w[0].destroy_many(ENTITIES[30:3:-1]),
        "destroy told": lambda w: with_listener(w[0]).destroy(ENTITIES[5]),
        "destroy_many told": lambda w: with_listener(w[0]).destroy_many(ENTITIES[3:30]),
    }
