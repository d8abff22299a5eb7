"""A world of managers of many policies and of archetypes, and what a dict would know of it.

The model is entity → component → the values of its instances. What is added to the world gets a
check of its own in `PARTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from tests.support.world_package import world_package

NIL = 0xFFFF_FFFF
COMPONENTS = {
    "crowd": "instances: many\nlookup: hash\ndestroy: manual",
    "dice": "instances: many\nids: true",
    "grid": "lookup: direct",
    "mesh": "destroy: callback",
    "node": "hierarchy: {orphans: root}",
    "place": "release: true",
    "speed": "lookup: hash\nids: true",
    "worker": "partition: {start: inactive}",
}
CHUNKED = {
    "armor": "x: {type: i32, default: 7}",
    "fuel": 'x: {type: i32, default: 7}\n  shadow: {type: "f64[9]", default: 7}\n  thing: object',
}
"""Components in chunks, of which few rows of fuel fill one."""

IN_MANAGERS = sorted(COMPONENTS)
IN_CHUNKS = sorted(CHUNKED)
NAMES = [*IN_MANAGERS, *IN_CHUNKS]
"""In the order of their bits."""

LISTS = ("crowd", "dice")
GROUP = ("place", "speed")
BUNDLES = {
    "thing": {"grid": 7, "mesh": 4},
    "mover": {"grid": 7, "mesh": 4, "place": 7, "speed": 3},
    "engine": {"fuel": 7, "grid": 1, "mesh": 4},
}
"""The values of the components that a bundle spawns."""
QUERIES: dict[str, dict[str, list[str]]] = {
    "both": {"all": ["place", "speed"]},
    "busy": {"all": ["worker"], "any": ["dice", "crowd"], "none": ["node"]},
    "placed": {"all": ["grid", "place"], "optional": ["dice", "mesh"]},
    "some": {"any": ["node", "dice"], "none": ["mesh"]},
    "thrown": {"all": ["dice", "crowd"], "optional": ["speed"]},
}

Model = dict[int, dict[str, list[int]]]
"""Of each live entity, the values of its instances, by component."""


def _classes(names: Collection[str]) -> str:
    return ", ".join(map(str.capitalize, names))


def schema() -> str:
    clauses = {
        query: ", ".join(f"{key}: [{_classes(names)}]" for key, names in clauses.items())
        for query, clauses in QUERIES.items()
    }
    world = [
        "world: Everything",
        "entity: {index_bits: 7, generation_bits: 20, min_free: 4}",
        "bundles:",
        "  thing: {Grid: {}, Mesh: {x: 4}}",
        "  mover: {thing: {}, Place: {}, Speed: {x: 3}}",
        "  engine: {thing: {}, Fuel: {}, Grid: {x: 1}}",
        f"groups: {{pair: [{_classes(GROUP)}]}}",
        f"archetypes: {{chunk: 1024, components: [{_classes(CHUNKED)}]}}",
        "queries:",
        *(f"  {query}: {{{text}}}" for query, text in clauses.items()),
    ]
    documents = [
        f"component: {name.capitalize()}\nfields: {{x: {{type: i32, default: 7}}}}\n{policies}"
        for name, policies in COMPONENTS.items()
    ]
    documents += [
        f"component: {name.capitalize()}\nfields:\n  {fields}" for name, fields in CHUNKED.items()
    ]
    return "\n---\n".join(["\n".join(world), *documents])


def package() -> Any:
    return world_package(schema(), "everything")


def row_class(name: str) -> Any:
    return getattr(package(), name.capitalize())


def fields(name: str, x: Any) -> dict[str, Any]:
    """The fields by which an instance gets a value; those of fuel all tell which."""
    return {"x": x, "shadow": (x,) * 9, "thing": x} if name == "fuel" else {"x": x}


def columns(name: str, xs: list[int]) -> dict[str, list[Any]]:
    """Return the fields of one instance per value, as columns."""
    return {field: [fields(name, x)[field] for x in xs] for field in fields(name, 0)}


def values(world: Any, name: str, e: int) -> list[int]:
    """The values of an entity's instances, in order of creation."""
    if name in CHUNKED:
        store, row = world.archetypes, row_class(name)
        return [store.get(e, row).x] if store.has(e, row) else []
    manager = getattr(world, name)
    if name in LISTS:
        return [manager.x(row) for row in manager.instances(e)]
    row = manager.lookup(e)
    return [] if row == NIL else [manager.x(row)]


def check_components(world: Any, model: Model) -> None:
    assert list(world.entities) == sorted(model, key=world.entities.index)
    for e, has in model.items():
        for name in NAMES:
            assert values(world, name, e) == has.get(name, []), name
        assert world.components(e) == tuple(row_class(name) for name in NAMES if name in has)
    assert set(world.empty_entities().tolist()) == {e for e, has in model.items() if not has}


def check_signatures(world: Any, model: Model) -> None:
    flags = package().Signature
    for e, signature in zip(model, world.signatures(list(model)).tolist(), strict=True):
        assert signature == world.signature(e)
        assert signature == sum(1 << NAMES.index(name) for name in model[e])
        for name, modules in BUNDLES.items():
            assert world.signature(e).all_of(flags[name.upper()]) == (set(modules) <= set(model[e]))


def matching(
    model: Model, all: Collection[str] = (), any: Collection[str] = (), none: Collection[str] = ()
) -> list[int]:
    """The entities with all, any and none of some components, by the definition."""
    return [
        e
        for e, has in model.items()
        if has.keys() >= set(all)
        and not has.keys() & set(none)
        and (not any or has.keys() & set(any))
    ]


def queried(model: Model, query: str) -> list[int]:
    """The entities of a query, by the definition."""
    return matching(model, **{k: v for k, v in QUERIES[query].items() if k != "optional"})


def check_queries(world: Any, model: Model) -> None:
    for query, clauses in QUERIES.items():
        rows = getattr(world, query).rows()
        assert sorted(rows.entity.tolist()) == sorted(queried(model, query))
        for name in (*clauses.get("all", ()), *clauses.get("optional", ())):
            manager = getattr(world, name)
            for e, row in zip(rows.entity.tolist(), getattr(rows, name).tolist(), strict=True):
                assert row == manager.lookup(e)
            column = getattr(getattr(world, query), name).x.tolist()
            wanted = [model[e].get(name, [7])[0] for e in rows.entity.tolist()]
            assert column == wanted


def check_group(world: Any, model: Model) -> None:
    owners = [getattr(world, name).data.entity[: world.pair.n].tolist() for name in GROUP]
    assert all(owner == owners[0] for owner in owners)
    alive = {e for e in owners[0] if e in model}
    assert alive == {e for e, has in model.items() if has.keys() >= set(GROUP)}
    for name in GROUP:
        column = getattr(world.pair, name).x.tolist()
        assert [x for e, x in zip(owners[0], column, strict=True) if e in model] == [
            model[e][name][0] for e in owners[0] if e in model
        ]


def check_chunks(world: Any, model: Model) -> None:
    """Each entity with something in chunks is in one, with just what it has; values included."""
    seen: list[int] = []
    for chunk in world.archetypes.chunks():
        es = chunk.entity.tolist()
        seen += es
        assert 0 < len(es) == len(chunk) <= chunk.capacity
        for name in IN_CHUNKS:
            assert chunk.has(row_class(name)) == all(name in model[e] for e in es)
            assert chunk.has(row_class(name)) == any(name in model[e] for e in es)
            if chunk.has(row_class(name)):
                assert getattr(chunk, name).x.tolist() == [model[e][name][0] for e in es]
        if chunk.has(row_class("fuel")):
            xs = chunk.fuel.x.tolist()
            assert chunk.fuel.shadow.tolist() == [[x] * 9 for x in xs]
            things = chunk.fuel.thing.tolist()
            assert [7 if thing is None else thing for thing in things] == xs
    wanted = matching(model, any=IN_CHUNKS)
    assert len(world.archetypes) == len(wanted)
    assert sorted(seen) == sorted(wanted)


def check_chunks_asked_for(world: Any, model: Model) -> None:
    armor, fuel = (row_class(name) for name in ("armor", "fuel"))
    for clauses in (
        {"all": ["armor"]},
        {"all": ["armor", "fuel"]},
        {"all": ["armor"], "none": ["fuel"]},
        {"any": ["armor", "fuel"], "none": ["armor"]},
    ):
        classes = {key: [row_class(name) for name in names] for key, names in clauses.items()}
        entities = [
            e for chunk in world.archetypes.chunks(**classes) for e in chunk.entity.tolist()
        ]
        assert sorted(entities) == sorted(matching(model, **clauses))
    for name, row in (("armor", armor), ("fuel", fuel)):
        having = [name in has for has in model.values()]
        assert world.archetypes.has_many(list(model), row).tolist() == having


PARTS: tuple[Callable[[Any, Model], None], ...] = (
    *(check_components, check_signatures, check_queries, check_group, check_chunks),
    check_chunks_asked_for,
)
