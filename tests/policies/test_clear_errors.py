"""Calls with the wrong thing say what the right one is."""

from __future__ import annotations

import copy
import re
from functools import partial
from typing import Any

import pytest

import generated as g
from tests.support.policies_package import MANAGERS, attached, package
from tests.support.world_package import world_package


@pytest.mark.parametrize("name", MANAGERS)
def test_room_for_less_than_nothing(name: str) -> None:
    m = attached(name, package.EntityManager())
    with pytest.raises(ValueError, match=rf"{name}: can't reserve -1 rows"):
        m.reserve(-1)


@pytest.mark.parametrize("name", [n for n in MANAGERS if hasattr(getattr(package, n), "lookup")])
@pytest.mark.parametrize("given", [3, None, "entities"])
def test_managers_take_the_entity_manager(name: str, given: object) -> None:
    with pytest.raises(TypeError, match=f"{name} takes the EntityManager .*{type(given).__name__}"):
        getattr(package, name)(given)


@pytest.mark.parametrize("name", MANAGERS)
def test_there_are_no_rows(name: str) -> None:
    m = attached(name, package.EntityManager())
    with pytest.raises(IndexError, match=f"{name}: row 0 is not in use; there are no rows"):
        m.row(0)


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


def component_of(name: str) -> str:
    """The attribute of the world that is a manager."""
    return {kind.__name__: str(k) for k, kind in package.World._KINDS.items()}[name]


@pytest.mark.parametrize("name", OF_NOBODY)
def test_entities_have_no_rows_of_nobody(name: str) -> None:
    w, row = package.World(), getattr(package, name.removesuffix("Manager"))
    module, x = component_of(name), w[w.create()]
    message = rf": its rows have no entities, {module}\.create_many makes them$"
    calls = [partial(w.spawn, 2, **{module: {}}), partial(w.create, row()), partial(x.add, row())]
    for call in (*calls, partial(x.remove, row), partial(w.get, x.entity, row)):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(AttributeError, match=message):
        getattr(x, module)
    assert (len(w), len(x)) == (1, 0)


def test_a_world_of_nobody_and_bundles() -> None:
    text = "component: Trip\nowner: none\nfields: {far: f32}\n---\nworld: Road\n"
    module: Any = world_package(text, "road_of_nobody")
    w = module.Road()
    with pytest.raises(TypeError, match=r"^spawn has no component 'trip': its rows have no"):
        w.spawn(3, trip={"far": 2})
    with pytest.raises(TypeError, match="spawn has no component 'trap'"):
        w.spawn(3, trap={})
    assert len(w.spawn(3)) == 3
    game: Any = g.Game()
    with pytest.raises(
        TypeError, match=r"spawn_hero has no component 'spark': its rows have no entities"
    ):
        game.spawn_hero(1, spark={})
    with pytest.raises(TypeError, match=r"^spawn_hero has no component 'static'; "):
        game.spawn_hero(1, static={})
    with pytest.raises(
        TypeError, match=r"^SparkRef is no component that entities of Game can have$"
    ):
        game.get(game.create(), type(game.spark[game.spark.create()]))


def test_copies_of_views_of_entities() -> None:
    w: Any = g.Game()
    x = w[w.create(g.CelestialBody(gm=2))]
    assert copy.copy(x).celestial_body.gm == 2


# --- managers of one's own --------------------------------------------------------------------


def own(base: type[Any], **body: object) -> type[Any]:
    """A subclass of a manager."""
    return type("Mine", (base,), {"__slots__": (), **body})


@pytest.mark.parametrize("name", MANAGERS)
def test_what_managers_have_is_not_overridden(name: str) -> None:
    """Public methods and properties, for bulk calls and C go other ways; steps inside as well."""
    kind = getattr(package, name)
    names = [n for n in dir(kind) if not n.startswith("_")]
    assert {"create", "create_many", "destroy_many", "version", "data"} <= {*names}
    operators = {"__len__", "__iter__", "__getitem__", "__contains__"} & {*dir(kind)}
    names += [*operators, "_destroy_row", "_append_many", "_start"]
    for taken in names:
        with pytest.raises(TypeError, match=rf"^Mine: {name} has '{taken}' .* another name"):
            own(kind, **{taken: lambda self, *_: None})
    with pytest.raises(TypeError, match=f"^Mine: {name} has 'create' "):
        own(kind, create=property(lambda self: None))


@pytest.mark.parametrize("name", MANAGERS)
def test_ways_out_of_overriding_what_removes_rows(name: str) -> None:
    kind = getattr(package, name)
    told = "on_release is told of all rows that go"
    if not hasattr(kind, "on_release"):
        told = "with `release: true` in the schema, " + told
    removing = {"destroy_many", "destroy_id", "destroy_id_many", "remove_many", "collect", "gc"}
    for removes in ["destroy", "clear", *(removing & {*dir(kind)})]:
        with pytest.raises(TypeError, match=rf"has '{removes}' .* another name; {told}$"):
            own(kind, **{removes: lambda self, *_: None})


@pytest.mark.parametrize("name", MANAGERS)
def test_names_of_ones_own(name: str) -> None:
    kind = getattr(package, name)
    free = {"heaviest": lambda self: len(self), "_helper": 3, "__repr__": lambda self: "mine"}
    mine = own(kind, _repr_html_=lambda self: "", **free)
    child = own(mine, heaviest=lambda self: 7)
    entities = package.EntityManager()
    m = child(entities) if hasattr(kind, "lookup") else child()
    assert (m.heaviest(), m._helper, repr(m), m._repr_html_()) == (7, 3, "mine", "")
    m._break()
    with pytest.raises(package.BrokenManagerError):
        len(m)


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
        with pytest.raises(TypeError, match=rf"^{re.escape(shown)} is no component that entities"):
            call(wrong)
    for call in (partial(w.archetypes.get, x.entity), partial(w.archetypes.add, x.entity)):
        with pytest.raises(TypeError, match=rf"^archetypes hold .*, not {re.escape(shown)}$"):
            call(wrong)
    with pytest.raises(TypeError, match=r"^archetypes hold .*, not Kin$"):
        w.archetypes.add(x.entity, g.Kin())
