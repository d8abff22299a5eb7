"""Wrong arguments, and arguments whose conversion changes the manager meanwhile."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from ecsgen_testing.subject import refuses

import generated as g
from generated import NIL, EntityManager, StaleEntityError, StaleIdError, StaleInstanceError
from tests.support.manager_state import made
from tests.support.policies_package import MANAGERS, attached, package
from tests.support.world_package import world_package

Act = Callable[[], object]

OWNED = (
    "Particle",  # sparse
    "PointMass",  # hash
    "Tile",  # direct, ids
    "StatusEffect",  # sparse, many
    "SoundSource",  # hash, many
    "SceneNode",  # hierarchy, callbacks
    "Villager",  # cold rows of their own
)
PACKED = tuple(name for name in OWNED if name != "Tile")


class Hostile:
    """A number that does something when asked for its value."""

    def __init__(self, number: int, act: Act) -> None:
        self._number = number
        self._act = act

    def __index__(self) -> int:
        self._act()
        return self._number

    def __float__(self) -> float:
        self._act()
        return float(self._number)


def hostile(number: int, act: Act) -> Any:
    """Return a number that does something when asked for its value."""
    return Hostile(number, act)


class HostileArray:
    """An array that does something when asked for its elements."""

    def __init__(self, values: Any, act: Act) -> None:
        self._values = np.asarray(values)
        self._act = act

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        self._act()
        return self._values


def filled(name: str, count: int = 4) -> tuple[Any, EntityManager, list[int]]:
    """Return a manager of a few instances, the entity manager, the owners."""
    entities, m, owners = made(getattr(g, f"{name}Manager"), count)
    return m, entities, owners.tolist()


def pool(count: int = 4) -> tuple[g.SparkManager, list[int]]:
    """Return a manager of a few rows without owners, and their ids."""
    m = g.SparkManager()
    return m, m.create_many(count).tolist()


def check(m: Any) -> None:
    """Rows, owners and map agree."""
    owners = m.data.entity
    assert len(owners) == m.data.n >= len(m) == np.count_nonzero(owners)
    for row, owner in enumerate(owners.tolist()):
        if owner:
            assert m.lookup(owner) != NIL
            assert owners[m.lookup(owner)] == owner
            assert m.entity(row) == owner


def field(m: Any) -> str:
    """Return a field of numbers."""
    names = "life mass height strength gain energy volume local pitch heat"
    return next(name for name in names.split() if hasattr(m, name))


def hostile_value(m: Any, act: Act) -> Any:
    """Return a value of that field, of which one number does something when asked for itself."""
    value = hostile(1, act)
    return [[value] * 4] * 4 if field(m) == "local" else value


def create(m: Any, entity: int, value: Any, many: bool) -> None:
    """Create one instance by the one or the other call."""
    if many:
        m.create_many([entity], **{field(m): [value]})
    else:
        m.create(entity, **{field(m): value})


ROW = ("destroy", "row", "entity", "activate", "deactivate", "is_active", "id_of", "children")
ROWS = ("destroy_many", "activate_many", "deactivate_many", "id_of_many")
ROW_CALLS: list[tuple[str, Callable[[Any], tuple[Any, ...]]]] = [
    *((name, lambda row: (row,)) for name in ROW),
    *((name, lambda row: ([0, row],)) for name in ROWS),
    ("set_parent", lambda row: (2, row)),
    ("set_parent", lambda row: (row, 2)),
    ("set_parent_many", lambda row: ([2], row)),
    ("set_parent_many", lambda row: ([2], [row])),
    ("set_parent_many", lambda row: ([row], [2])),
]
"""Methods, and what they are given with a row."""


@pytest.mark.parametrize("name", [*OWNED, "Spark"])
def test_rows_are_looked_at_after_they_are_converted(name: str) -> None:
    def new() -> Any:
        return pool()[0] if name == "Spark" else filled(name)[0]

    m = new()
    number, value = field(m), getattr(m, field(m))(0)
    calls = [*ROW_CALLS, (number, lambda row: (row,)), (f"set_{number}", lambda row: (row, value))]
    for method, arguments in calls:
        m = new()
        if hasattr(m, method):
            refuses(StaleInstanceError, getattr(m, method), *arguments(hostile(1, m.clear)))
            assert len(m) == m.data.n == getattr(m, "n_active", 0) == 0


@pytest.mark.parametrize("name", OWNED)
@pytest.mark.parametrize("many", [False, True])
def test_rows_are_looked_at_after_values_are_converted(name: str, many: bool) -> None:
    m, _, _ = filled(name)
    value = hostile_value(m, m.clear)
    if many:
        setattr(m.data, field(m), [value] if field(m) == "local" else value)
    else:
        refuses(StaleInstanceError, getattr(m, f"set_{field(m)}"), 2, value)
    assert len(m) == 0
    check(m)


@pytest.mark.parametrize("name", [name for name in OWNED if name != "SceneNode"])
def test_a_column_that_grows_while_it_is_assigned(name: str) -> None:
    m, entities, _ = filled(name)
    more = entities.create_many(100)
    value = hostile(9, lambda: m.has(more[0]) or m.create_many(more))
    refuses(ValueError, "broadcast", setattr, m.data, field(m), [value, 1, 1, 1])
    setattr(m.data, field(m), hostile(9, lambda: m.reserve(1000)))
    assert set(getattr(m.data, field(m)).tolist()) == {9}
    check(m)


@pytest.mark.parametrize("name", OWNED)
@pytest.mark.parametrize("call", ["lookup_many", "remove_many", "has_many", "remove", "lookup"])
def test_entities_are_looked_up_after_they_are_converted(name: str, call: str) -> None:
    m, _, owners = filled(name)
    asked = hostile(owners[2], m.clear)
    result = getattr(m, call)([asked] if call.endswith("many") else asked)
    expected = {"lookup_many": [NIL], "has_many": [False], "lookup": NIL}.get(call, 0)
    assert np.asarray(result).tolist() == expected
    assert len(m) == 0
    check(m)


@pytest.mark.parametrize("name", OWNED)
@pytest.mark.parametrize("many", [False, True])
def test_an_entity_that_dies_of_a_value_gets_nothing(name: str, many: bool) -> None:
    m, entities, _ = filled(name)
    entity = entities.create()
    value = hostile_value(m, lambda: entities.destroy(entity) if entity in entities else None)
    refuses(StaleEntityError, create, m, entity, value, many)
    assert len(m) == 4
    check(m)


@pytest.mark.parametrize("name", ["Particle", "PointMass", "Tile", "SceneNode", "Villager"])
@pytest.mark.parametrize("many", [False, True])
def test_an_instance_that_a_value_makes_is_the_only_one(name: str, many: bool) -> None:
    m, entities, _ = filled(name)
    entity = entities.create()
    value = hostile_value(m, lambda: m.ensure(entity))
    refuses(g.DuplicateInstanceError, create, m, entity, value, many)
    assert len(m) == 5
    check(m)


@pytest.mark.parametrize("name", OWNED)
def test_values_that_make_the_manager_grow(name: str) -> None:
    m, entities, _ = filled(name)
    more = entities.create_many(100)
    entity, other = entities.create(), entities.create()
    value = hostile_value(m, lambda: m.has(more[0]) or m.create_many(more))
    m.create(entity, **{field(m): value})
    m.create_many([hostile(other, m.shrink_to_fit)], **{field(m): [value]})
    assert len(m) == 106
    assert entity in m
    assert other in m
    check(m)


@pytest.mark.parametrize("name", OWNED)
@pytest.mark.parametrize("call", ["create", "ensure", "create_many"])
def test_an_entity_that_dies_of_being_asked(name: str, call: str) -> None:
    m, entities, owners = filled(name)
    entity = entities.create()
    asked = hostile(entity, lambda: entities.destroy(entity) if entity in entities else None)
    refuses(StaleEntityError, getattr(m, call), [asked] if call == "create_many" else asked)
    assert len(m) == len(owners)
    check(m)


@pytest.mark.parametrize("name", OWNED)
def test_a_list_of_entities_that_shrinks_meanwhile(name: str) -> None:
    m, entities, _ = filled(name)
    wanted: list[Any] = entities.create_many(2).tolist()
    value = hostile_value(m, wanted.clear)
    handles = list(wanted)
    m.create_many(wanted, **{field(m): [value] * 2})
    assert m.has_many(handles).all()
    check(m)


@pytest.mark.parametrize("name", OWNED)
def test_a_dead_entity_counts_for_more_than_bad_values(name: str) -> None:
    m, entities, _ = filled(name)
    entity = entities.create()
    entities.destroy(entity)
    bad: dict[str, Any] = {field(m): "bad"}
    refuses(StaleEntityError, m.create, entity, **bad)
    refuses(StaleEntityError, "at position 0", m.create_many, [entity], **bad)
    with m.locked(), pytest.raises(StaleEntityError):
        m.create_many([entity], **bad)
    with pytest.raises((TypeError, ValueError)):
        m.create(entities.create(), **bad)


@pytest.mark.parametrize("name", PACKED)
def test_the_number_of_rows_is_asked_for_after_an_order_and_a_key(name: str) -> None:
    m, _, _ = filled(name)
    refuses(ValueError, "permutation", m.reorder, [3, 2, 1, hostile(0, m.clear)])
    m, _, _ = filled(name)
    refuses(ValueError, "a key of shape", m.sort, HostileArray([3, 2, 1, 0], m.clear))
    m, _, _ = filled(name)

    class Comparing(int):
        def __lt__(self, other: object) -> bool:
            m.clear()
            return True

    with pytest.raises(ValueError, match="a key of shape"):
        m.sort(np.array([Comparing(k) for k in range(4)], object))
    assert len(m) == 0
    check(m)


@pytest.mark.parametrize("name", PACKED)
def test_a_key_of_objects_has_nan_last(name: str) -> None:
    m, _, owners = filled(name, 5)
    m.sort(np.array([2.5, float("nan"), 1, float("nan"), -1], object))
    assert m.data.entity.tolist() == [owners[k] for k in (4, 2, 0, 1, 3)]
    version = m.version
    for key in ([1, None, 2, 3, 4], [1, "2", 3, 4, 5], [1, 2j, 3j, 4, 5]):
        refuses(TypeError, "need an order", m.sort, np.array(key, object))
    assert m.version == version
    check(m)


def test_a_key_of_objects_is_sorted_inside_each_part() -> None:
    m, _ = pool(6)
    m.deactivate_many([3, 4, 5])
    ids = m.id_of_many(np.arange(6))
    m.sort(np.array([float("nan"), 2, 1, 9, float("nan"), 7], object))
    assert m.id_of_many(np.arange(6)).tolist() == ids[[2, 1, 0, 5, 3, 4]].tolist()


def test_ids_are_looked_up_after_they_are_converted() -> None:
    m, ids = pool()
    assert m.resolve_many([hostile(ids[1], m.clear)]).tolist() == [NIL]
    m, ids = pool()
    refuses(StaleIdError, m.destroy_id_many, [hostile(ids[1], m.clear)])
    m, ids = pool()
    refuses(StaleIdError, m.destroy_id, hostile(ids[1], m.clear))
    m, _, _ = filled("Tile")
    id = m.id_of(1)
    assert m.resolve_many([hostile(id, m.clear)]).tolist() == [NIL]


def test_rows_without_owners_come_after_values_are_converted() -> None:
    m, _ = pool()
    m.create(heat=hostile(1, m.clear))
    m.create_many(hostile(2, m.clear), heat=[1, hostile(1, m.clear)])
    assert m.n_active == len(m) == 2
    with pytest.raises(ValueError, match="broadcast"):
        m.data.active.heat = [hostile(1, m.clear), 2.0]


def test_entities_asked_for_their_state() -> None:
    entities = EntityManager()
    victim = entities.create()
    assert not entities.alive_many([hostile(victim, lambda: entities.destroy(victim))])[0]
    assert not g.ParticleManager(entities).has(victim)


MASKED = np.ma.array([0, 1, 2, 3], mask=[False, True, False, False])


@pytest.mark.parametrize("name", OWNED)
def test_masked_elements_are_no_rows(name: str) -> None:
    m, _, owners = filled(name)
    names = ("destroy_many", "reorder", "sort", "activate_many", "id_of_many")
    calls = [partial(getattr(m, call), MASKED) for call in names if hasattr(m, call)]
    calls.append(partial(m.destroy_many, np.ma.array([True] * 4, mask=[True] * 4)))
    if hasattr(m, "set_parent_many"):
        calls.append(partial(m.set_parent_many, [0], MASKED[1:2]))
    for call in calls:
        refuses(TypeError, "may not have masked elements", call)
    assert m.data.entity.tolist() == owners
    m.destroy_many(np.ma.array([0, 1]))
    assert len(m) == 2
    check(m)


@pytest.mark.parametrize("name", OWNED)
def test_objects_that_are_all_bools_are_a_mask(name: str) -> None:
    m, _, owners = filled(name, 2)
    m.destroy_many(np.array([True, False], object))
    assert [*m] == [owners[1]]
    m.destroy_many(np.empty(0, object))
    assert [*m] == [owners[1]]
    with pytest.raises(ValueError, match="mask of length 3"):
        m.destroy_many(np.array([True, np.False_, False], object))
    check(m)


QUERIED = """
component: One
fields: {x: i64, pair: "f32[2]", serial: {type: i64, unique: true}, thing: object}
---
component: Two
fields: {y: i64}
---
component: Chunked
fields: {z: i64}
---
component: Other
fields: {a: i8, b: i8}
---
world: Asking
queries: {both: {all: [One, Two]}, ones: {all: [One]}, some: {all: [One], optional: [Two]}}
archetypes: {chunk: 1024, components: [Chunked, Other]}
"""
Asking: Any = world_package(QUERIED, "hostile_queries").Asking


def asking() -> Any:
    w = Asking()
    es = w.entities.create_many(6)
    w.one.create_many(es, x=range(6), serial=range(6))
    w.two.create_many(es[[4, 1, 3, 5]])
    return w


@pytest.mark.filterwarnings("ignore::Warning")  # the buffer that values are compared with is held
@pytest.mark.parametrize("query", ["both", "ones", "some"])
@pytest.mark.parametrize("name", ["x", "pair", "serial"])
def test_rows_of_a_query_are_looked_at_after_values_are_converted(query: str, name: str) -> None:
    def assign(w: Any, act: Act) -> None:
        columns = getattr(w, query).one
        count = len(getattr(w, query))
        values: list[Any] = [hostile(100, act), *range(101, 100 + count)]
        setattr(columns, name, [[v, v] for v in values] if name == "pair" else values)

    w = asking()
    assign(w, lambda: w.one.reserve(w.one.capacity + 1))
    column = getattr(w, query).one
    assert getattr(column, name).reshape(-1).tolist()[-1] == 99 + len(getattr(w, query))
    for act in ("clear", "remove"):
        w = asking()
        before = getattr(w.one.data, name).tolist()
        second = int(w.one.data.entity[1])
        done = w.one.clear if act == "clear" else lambda w=w, e=second: w.one.remove(e)
        refuses(ValueError, "broadcast", assign, w, done)
        left = getattr(w.one.data, name).tolist()
        assert left == ([] if act == "clear" else [before[0], before[5], *before[2:5]])
        check(w.one)


def test_objects_of_a_query_are_replaced_before_they_end() -> None:
    class Thing:
        def __del__(self) -> None:
            seen.append(list(w.some.one.thing))

    for query in ("both", "ones"):
        w, seen = asking(), list[Any]()
        w.one.set_thing(1, Thing())
        getattr(w, query).one.thing = [None] * len(getattr(w, query))
        assert seen == [[None] * 6]


def test_rows_of_a_chunk_are_looked_at_after_values_are_converted() -> None:
    w = Asking()
    kinds = {kind.__name__: kind for kind in w.archetypes.numbers}
    w.archetypes.create([kinds["Chunked"]], 3)
    (chunk,) = w.archetypes.chunks()

    def act() -> None:
        if chunk.n:
            w.archetypes.clear()
            w.archetypes.create([kinds["Other"]], 100, other={"a": 1, "b": 2})

    with pytest.raises(ValueError, match="broadcast"):
        chunk.chunked.z = [hostile(-1, act), -1, -1]
    for other in w.archetypes.chunks():
        assert set(other.entity.tolist()) <= set(w.entities)
        assert set(other.other.a.tolist()) == {1}
        assert set(other.other.b.tolist()) == {2}


@pytest.mark.parametrize("name", [n for n in MANAGERS if hasattr(getattr(package, n), "lookup")])
@pytest.mark.parametrize("argument", [3, None, "entities"])
def test_managers_take_the_entity_manager(name: str, argument: object) -> None:
    with pytest.raises(
        TypeError, match=f"{name} takes the EntityManager .*{type(argument).__name__}"
    ):
        getattr(package, name)(argument)


@pytest.mark.parametrize("name", MANAGERS)
def test_columns_are_not_replaced(name: str) -> None:
    m = attached(name, package.EntityManager())
    data = m.data
    message = f"{name}.data is its {type(data).__name__} and can't be replaced"
    with pytest.raises(AttributeError, match=message):
        m.data = None
    with pytest.raises(AttributeError, match=message):
        del m.data
    assert m.data is data


OF_NOBODY = [n for n in MANAGERS if not hasattr(getattr(package, n), "lookup")]


@pytest.mark.parametrize("name", OF_NOBODY)
def test_entities_have_no_rows_of_nobody(name: str) -> None:
    w, row = package.World(), getattr(package, name.removesuffix("Manager"))
    (module,) = [k for k, kind in w.MANAGER_CLASSES.items() if kind.__name__ == name]
    x = w[w.create()]
    message = rf": its rows have no entities, {module}\.create_many makes them$"
    calls = [partial(w.spawn, 2, **{module: {}}), partial(w.create, row()), partial(x.add, row())]
    for call in (*calls, partial(x.remove, row), partial(w.get, x.entity, row)):
        refuses(TypeError, message, call)
    refuses(AttributeError, message, getattr, x, module)
    assert (len(w), len(x)) == (1, 0)


def test_spawns_and_bundles_say_why_a_component_is_none_of_theirs() -> None:
    text = "component: Trip\nowner: none\nfields: {far: f32}\n---\nworld: Road\n---\n"
    text += "component: Mile\ngrid: {shape: [3]}\n"
    road: Any = world_package(text, "road_of_nobody").Road()
    refuses(TypeError, "^spawn has no component 'trip': its rows have no", road.spawn, 3, trip={})
    refuses(
        TypeError, "^spawn has no component 'mile': its rows are the cells", road.spawn, 1, mile={}
    )
    refuses(TypeError, "spawn has no component 'trap'", road.spawn, 3, trap={})
    assert len(road.spawn(3)) == 3
    w: Any = g.Game()
    for name, reason in (("spark", ": its rows have no entities"), ("static", "; ")):
        message = f"^spawn_hero has no component '{name}'{reason}"
        refuses(TypeError, message, w.spawn_hero, 1, **{name: {}})
    message = "^SparkRef is no component that entities of Game can have$"
    refuses(TypeError, message, w.get, w.create(), type(w.spark[w.spark.create()]))


def test_copies_of_views_of_entities() -> None:
    w: Any = g.Game()
    x = w[w.create(g.CelestialBody(gm=2))]
    assert copy.copy(x).celestial_body.gm == 2


def own(base: type[Any], **body: object) -> type[Any]:
    """A subclass of a manager."""
    return type("Mine", (base,), {"__slots__": (), **body})


REMOVING = {"destroy", "destroy_many", "destroy_id", "destroy_id_many", "clear"}
REMOVING |= {"remove_many", "collect", "gc"}


@pytest.mark.parametrize("name", MANAGERS)
def test_what_managers_have_is_not_overridden(name: str) -> None:
    """Public methods and properties, for bulk calls and C go other ways; steps inside as well."""
    kind = getattr(package, name)
    names = [n for n in dir(kind) if not n.startswith("_")]
    assert {"create", "create_many", "destroy_many", "version", "data"} <= {*names}
    operators = {"__len__", "__iter__", "__getitem__", "__contains__"} & {*dir(kind)}
    names += [*operators, "_destroy_row", "_append_many", "_init_empty"]
    hint = "" if hasattr(kind, "on_release") else "with `release: true` in the schema, "
    for taken in names:
        told_of = f"; {hint}on_release is told of all rows that go$" if taken in REMOVING else ""
        with pytest.raises(
            TypeError, match=rf"^Mine: {name} has '{taken}' .* another name{told_of}"
        ):
            own(kind, **{taken: lambda self, *_: None})
    with pytest.raises(TypeError, match=f"^Mine: {name} has 'create' "):
        own(kind, create=property(lambda self: None))


@pytest.mark.parametrize("name", MANAGERS)
def test_names_of_ones_own(name: str) -> None:
    kind = getattr(package, name)
    free = {"heaviest": lambda self: len(self), "_helper": 3, "__repr__": lambda self: "mine"}
    mine = own(kind, _repr_html_=lambda self: "", **free)
    child = own(mine, heaviest=lambda self: 7)
    entities = package.EntityManager()
    m = child(entities) if hasattr(kind, "lookup") else child()
    assert (m.heaviest(), m._helper, repr(m), m._repr_html_()) == (7, 3, "mine", "")
    m._mark_broken()
    refuses(package.BrokenManagerError, len, m)


def test_mixins_override_no_more_than_classes() -> None:
    class Loud:
        __slots__ = ()

        def remove(self, entity: int) -> int:
            raise NotImplementedError

    kind: type[Any] = g.EnergyManager
    with pytest.raises(TypeError, match=r"^Mine: EnergyManager has 'remove' "):
        type("Mine", (Loud, kind), {"__slots__": ()})
    quiet: Any = type("Mine", (kind, Loud), {"__slots__": ()})
    assert quiet(g.EntityManager()).remove(1) == 0


@pytest.mark.parametrize("wrong", [None, "body", [1, 2], {"a": 1}, g.Kin, int])
def test_what_is_no_component(wrong: Any) -> None:
    w = package.World()
    x = w[w.create()]
    shown = getattr(wrong, "__name__", repr(wrong))
    for call in (partial(w.get, x.entity), x.remove):
        refuses(TypeError, rf"^{re.escape(shown)} is no component that entities", call, wrong)
    for call in (partial(w.archetypes.get, x.entity), partial(w.archetypes.add, x.entity)):
        refuses(TypeError, rf"^archetypes hold .*, not {re.escape(shown)}$", call, wrong)
    refuses(TypeError, r"^archetypes hold .*, not Kin$", w.archetypes.add, x.entity, g.Kin())
