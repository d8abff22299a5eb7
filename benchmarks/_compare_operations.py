"""Operations of a package: every method whose arguments are known by their names, on new subjects.

A parameter called `entity`, `row` or `id` is given one value after the other, one called
`entities`, `rows` or `ids` an array. Methods of numbers and vectors are kernels and reductions.
"""

from __future__ import annotations

import inspect
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from _timing import Prepare, Run

CALLS, LIVE = 200, 1000
"""Calls per run for one row each, and the rows of their subjects."""
SINGLE = ("entity", "row", "id", "e")
MANY = ("entities", "rows", "ids", "es", "order", "count", "n", "components")
VECTORS = ([0.5, 0.25], [0.5, 0.25, 1.0], [0.5, 0.25, 1.0, 0.125])

Subject: TypeAlias = tuple[Any, dict[str, Any]]
"""An object, and what its methods take by the parameter's name; lists are for single calls."""
Maker: TypeAlias = Callable[[Any, str, int], Subject]
"""Makes a subject of a package for a method and a number of rows."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that both packages can do: `name` of an `owner`, a manager or one of its fields."""

    name: str
    owner: str
    stage: Callable[[Any], Prepare]

    @property
    def title(self) -> str:
        return f"{self.owner}: {self.name}"


def operations(old: Any, new: Any, counts: tuple[int, ...]) -> Iterator[Operation]:
    """Yield what both packages can do."""
    yield from of_class(old, new, "EntityManager", entity_manager, counts)
    for name in managers(old):
        if name in managers(new):
            of_component = partial(component_manager, name)
            yield from of_class(old, new, name, of_component, counts)
            yield from of_values(name, of_component, counts)
    for name, make in (("Archetypes", archetypes), ("World", world)):
        if hasattr(old, name) and hasattr(new, name):
            yield from of_class(old, new, name, make, (LIVE,))
    for name in members(old):
        if name in members(new):
            yield from of_member(name)


def managers(package: Any) -> list[str]:
    """Return the names of the component managers' classes."""
    names = (name for name in dir(package) if name.endswith("Manager"))
    return sorted(name for name in names if name != "EntityManager")


def methods(cls: type) -> dict[str, list[inspect.Parameter]]:
    """Return what a class's public methods must be given."""
    named = {name: getattr(cls, name) for name in dir(cls) if not name.startswith("_")}
    return {
        name: [
            parameter
            for parameter in [*inspect.signature(method).parameters.values()][1:]
            if parameter.default is parameter.empty
            and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        for name, method in named.items()
        if inspect.isfunction(method)
    }


def of_class(
    old: Any, new: Any, owner: str, make: Maker, counts: tuple[int, ...]
) -> Iterator[Operation]:
    """Yield an operation for each method that both have, bulk calls and kernels for each count."""
    known = methods(getattr(new, owner))
    fields = getattr(getattr(old, owner.removesuffix("Manager"), None), "_fields", ())
    for method, parameters in methods(getattr(old, owner)).items():
        if method not in known:
            continue
        first = parameters[0].name if parameters else ""
        if first in SINGLE:
            field = method.removeprefix("set_")
            kind = "accessor" if field == method else "setter"
            title, name = (kind, f"{owner}.{field}") if field in fields else (method, owner)
            yield Operation(title, name, partial(single, make, method, parameters))
        elif first in MANY:
            for count in counts:
                stage = partial(bulk, make, method, parameters, count)
                yield Operation(f"{method}, {count:,}", owner, stage)
        elif all(each.annotation in ("float", "ArrayLike") for each in parameters):
            for count in counts:
                stage = partial(kernel, make, method, parameters, count)
                yield Operation(f"kernel or reduction, {count:,}", f"{owner}.{method}", stage)


def single(make: Maker, method: str, parameters: list[inspect.Parameter], package: Any) -> Prepare:
    """Prepare calls for one row after the other."""

    def prepare() -> Run:
        target, arguments = make(package, method, LIVE)
        call, columns = getattr(target, method), [arguments[each.name] for each in parameters]
        return lambda: deque(map(call, *columns), maxlen=0)

    return prepare


def bulk(
    make: Maker, method: str, parameters: list[inspect.Parameter], count: int, package: Any
) -> Prepare:
    """Prepare one call for many rows."""

    def prepare() -> Run:
        target, arguments = make(package, method, count)
        call = getattr(target, method)
        return partial(call, *(arguments[each.name] for each in parameters))

    return prepare


def kernel(
    make: Maker, method: str, parameters: list[inspect.Parameter], count: int, package: Any
) -> Prepare:
    """Prepare a call with the first vectors that the method takes."""
    for vector in VECTORS:
        values = [0.5 if each.annotation == "float" else vector for each in parameters]
        try:
            getattr(make(package, method, min(count, 10))[0], method)(*values)
        except ValueError:
            continue
        return lambda: partial(getattr(make(package, method, count)[0], method), *values)
    raise ValueError(f"no arguments found for {method}")


def of_values(owner: str, make: Maker, counts: tuple[int, ...]) -> Iterator[Operation]:
    """Yield creations with all fields, reads of columns, and passes over a manager."""

    def stage(count: int, run: Callable[[Any, dict[str, Any]], Run]) -> Callable[[Any], Prepare]:
        return lambda package: lambda: run(*make(package, "create", count))

    def create(manager: Any, arguments: dict[str, Any]) -> Run:
        entities, values = arguments.get("entity"), values_of(manager)
        if entities is None:
            return lambda: [manager.create(**values) for _ in range(CALLS)]
        return lambda: [manager.create(entity, **values) for entity in entities]

    def create_many(manager: Any, arguments: dict[str, Any]) -> Run:
        owners = arguments.get("entities", arguments["count"])
        columns = columns_of(values_of(manager), arguments["count"])
        return partial(manager.create_many, owners, **columns)

    yield Operation("create, all fields", owner, stage(LIVE, create))
    for count in counts:
        yield Operation(f"create_many, arrays, {count:,}", owner, stage(count, create_many))
        passes = stage(count, lambda manager, _: lambda: sum(1 for _ in manager))
        yield Operation(f"iterate, {count:,}", owner, passes)
        copies = stage(count, lambda manager, _: lambda: pickle.loads(pickle.dumps(manager)))
        yield Operation(f"pickle and load, {count:,}", owner, copies)


def values_of(manager: Any) -> dict[str, Any]:
    """Return a value for each field that `create` takes: those of the first row."""
    taken = inspect.signature(manager.create).parameters
    return {name: value for name, value in manager.row(0)._asdict().items() if name in taken}


def columns_of(values: dict[str, Any], count: int) -> dict[str, Any]:
    """Return an array of values for each field; any Python object as it is."""
    arrays = {name: np.array(value) for name, value in values.items()}
    return {
        name: (
            values[name]
            if array.dtype == object
            else np.broadcast_to(array, (count, *array.shape)).copy()
        )
        for name, array in arrays.items()
    }


def entity_manager(package: Any, method: str, count: int) -> Subject:
    """Return an entity manager with entities."""
    manager = package.EntityManager()
    entities = manager.create_many(count)
    return manager, {"e": entities[:CALLS].tolist(), "es": entities, "n": count}


def component_manager(name: str, package: Any, method: str, count: int) -> Subject:
    """Return a component manager with rows, and as many entities without any for creation."""
    kind, entities = getattr(package, name), package.EntityManager()
    if is_owned := bool(inspect.signature(kind).parameters):
        manager, handles = kind(entities), entities.create_many(2 * count)
        manager.create_many(handles[:count])
        ready = method.startswith(("create", "ensure"))
        handles = (
            handles[count:] if ready else np.random.default_rng(0).permutation(handles[:count])
        )
    else:
        manager = kind()
        manager.create_many(count)
        handles = np.empty(0, np.uint64)
    if method in ("collect", "gc"):
        entities.destroy_many(handles[: max(1, count // 10)])
    if method.startswith(("activate", "deactivate")):
        change = manager.deactivate_many if method[0] == "a" else manager.activate_many
        change(np.arange(count))
    rows = np.arange(count)[::-1]  # those that are destroyed one after the other
    arguments = {"rows": rows[: -(-count // 2)], "row": rows[:CALLS].tolist(), "count": count}
    arguments |= {"order": np.random.default_rng(1).permutation(count)}
    arguments |= {"parent": (rows[:CALLS] // 3).tolist(), "parents": arguments["rows"] // 3}
    if is_owned:
        arguments |= {"entities": handles, "entity": handles[:CALLS].tolist()}
    if hasattr(manager, "id_of_many"):
        ids = manager.id_of_many(np.random.default_rng(2).permutation(count))
        arguments |= {"ids": ids, "id": ids[:CALLS].tolist()}
    if method.startswith("set_") and hasattr(manager, method.removeprefix("set_")):
        arguments["value"] = [getattr(manager, method.removeprefix("set_"))(0)] * CALLS
    return manager, arguments


def archetypes(package: Any, method: str, count: int) -> Subject:
    """Return a store with entities of all components in chunks, for `add` without the last one."""
    store = package.Archetypes(package.EntityManager())
    taken = inspect.signature(store.create).parameters.values()
    fields = [each.annotation for each in taken if each.kind is each.KEYWORD_ONLY]
    components = [getattr(package, text.split(" | ")[1]) for text in fields]  # F | Row | None
    entities = store.create(components[: -1 if method.startswith("add") else None], count)
    singles = {"entity": entities[:CALLS].tolist(), "component": components[-1:] * CALLS}
    many = {"entities": entities, "component": components[-1]}
    return store, {"components": components, "n": count} | (
        many if method.endswith("_many") else singles
    )


def world(package: Any, method: str, count: int) -> Subject:
    """Return a world where each component is what some entities lack, and some alone have."""
    filled = package.World()
    taken = inspect.signature(filled.spawn).parameters.values()
    parts = [each.name for each in taken if each.kind is each.KEYWORD_ONLY]
    spread = max(1, count // 25)
    for part in parts:
        filled.spawn(spread, **{other: {} for other in parts if other != part})
        filled.spawn(-(-spread // 4), **{part: {}})
    entities = np.random.default_rng(0).permutation(filled.entities.live())
    if method in ("collect", "gc", "empty_entities"):
        filled.entities.destroy_many(entities[:CALLS])
    singles = {"entity": entities[:CALLS].tolist(), "entities": entities[:CALLS], "n": count}
    return filled, singles


def members(package: Any) -> list[str]:
    """Return the names of a world's queries and groups."""
    if not hasattr(package, "World"):
        return []
    empty = package.World()
    names = (name for name in dir(empty) if not name.startswith("_"))
    return [n for n in names if type(getattr(empty, n)).__name__.endswith(("Query", "Group"))]


def of_member(name: str) -> Iterator[Operation]:
    """Yield the operations of a query or a group: in a new world, so that rows are found anew."""

    def operation(title: str, run: Callable[[Any], Run]) -> Operation:
        def stage(package: Any) -> Prepare:
            return lambda: run(getattr(world(package, "", LIVE)[0], name))

        return Operation(title, f"World.{name}", stage)

    yield operation("length", lambda member: lambda: [len(member) for _ in range(CALLS)])
    yield operation("rows", lambda member: member.rows)
    yield operation("iterate", lambda member: lambda: sum(1 for _ in member))
