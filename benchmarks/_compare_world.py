"""The world: entities, spawning, dying, queries, groups and the world's kernels."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from _compare_kernels import ORDINARY, called, kernels_of
from _compare_operation import Operation, Operations, each
from _compare_package import methods
from _compare_subject import CALLS
from _timing import Prepare, Run, always

OF_A_WORLD = {*ORDINARY, "empty_entities"}
SPREAD = 40
"""Entities of each kind in a filled world."""


def entities(counts: tuple[int, ...]) -> Operations:
    """The operations of the entity manager."""

    def operation(title: str, run: Callable[[Any, Any], Run], count: int = CALLS) -> Operation:
        def prepare(package: Any) -> Run:
            manager = package.EntityManager()
            return run(manager, manager.create_many(count))

        return Operation(title, "EntityManager", lambda package: lambda: prepare(package))

    yield operation("create", lambda m, _: lambda: [m.create() for _ in range(CALLS)])
    for method in ("destroy", "alive", "require", "index", "generation"):
        yield operation(method, lambda m, es, name=method: each(getattr(m, name), es.tolist()))  # type: ignore[misc]
    for count in counts:
        yield operation(
            f"create_many, {count:,}", lambda m, _, k=count: lambda: m.create_many(k), 10  # type: ignore[misc]
        )
        for method in ("destroy_many", "alive_many", "require_many"):
            yield operation(
                f"{method}, {count:,}",
                lambda m, es, name=method: lambda: getattr(m, name)(es),  # type: ignore[misc]
                count,
            )


def worlds(old: Any, new: Any) -> Operations:
    """The operations of the worlds of both packages."""
    if not hasattr(old, "World") or not hasattr(new, "World"):
        return
    has = {*methods(old.World)} & {*methods(new.World)}
    parts = [name for name in _parts(old) if name in _parts(new)]
    yield Operation("make a world", "World", lambda package: always(lambda: package.World()))
    for name in sorted(has):
        if name.startswith("spawn"):
            yield from _spawning(name, parts if name == "spawn" else [])
    yield from _of_the_filled(has)
    for name in _named(old, "Query"):
        yield from _query(name)
    for name in _named(old, "Group"):
        yield from _group(name)
    for kernel in kernels_of(old.World, OF_A_WORLD):
        yield Operation("world kernel", f"World.{kernel}", lambda p, k=kernel: called(filled(p), k))  # type: ignore[misc]


def _parts(package: Any) -> list[str]:
    """Return the components that `spawn` can give."""
    taken = inspect.signature(package.World.spawn).parameters.values()
    return [one.name for one in taken if one.kind is one.KEYWORD_ONLY]


def _named(package: Any, kind: str) -> list[str]:
    world = package.World()
    names = (name for name in dir(world) if not name.startswith("_"))
    return [name for name in names if type(getattr(world, name)).__name__.endswith(kind)]


def filled(package: Any) -> Any:
    """Return a world in which each component is what some entities lack, and some alone have."""
    world, parts = package.World(), _parts(package)
    for part in parts:
        world.spawn(SPREAD, **{other: {} for other in parts if other != part})
        world.spawn(SPREAD // 4, **{part: {}})
    return world


def _spawning(method: str, parts: list[str]) -> Operations:
    def spawn(count: int, given: dict[str, Any]) -> Callable[[Any], Prepare]:
        def prepare(package: Any) -> Run:
            call = getattr(package.World(), method)
            return lambda: [call(count, **given) for _ in range(20 if count < 100 else 1)]

        return lambda package: lambda: prepare(package)

    for count in (1, 1000):
        yield Operation(f"{method}, {count:,}", "World", spawn(count, {}))
        for part in parts:
            yield Operation(f"{method}, {count:,}", f"World.{part}", spawn(count, {part: {}}))


def _of_the_filled(has: set[str]) -> Operations:
    def operation(title: str, run: Callable[[Any, Any], Run]) -> Operation:
        def prepare(package: Any) -> Run:
            world = filled(package)
            everyone = world.entities.live()
            return run(world, np.random.default_rng(0).permutation(everyone))

        return Operation(title, "World", lambda package: lambda: prepare(package))

    for method in ("destroy", "signature", "components"):
        if method in has:
            yield operation(
                method,
                lambda w, es, name=method: each(getattr(w, name), es[:CALLS].tolist()),  # type: ignore[misc]
            )
    for method in ("destroy_many", "signatures"):
        if method in has:
            yield operation(
                method,
                lambda w, es, name=method: lambda: getattr(w, name)(es[:CALLS]),  # type: ignore[misc]
            )
    for method in ("gc", "collect", "empty_entities"):
        if method in has:
            yield operation(f"{method}, some dead", lambda w, es, name=method: _after(w, es, name))  # type: ignore[misc]


def _after(world: Any, everyone: Any, method: str) -> Run:
    world.entities.destroy_many(everyone[:CALLS])
    return lambda: getattr(world, method)()


def _query(name: str) -> Operations:
    def operation(title: str, run: Callable[[Any, Any], Run]) -> Operation:
        def stage(package: Any) -> Prepare:
            world = filled(package)
            return always(run(world, getattr(world, name)))

        return Operation(title, f"World.{name}", stage)

    yield operation("query, length", lambda _, q: lambda: [len(q) for _ in range(CALLS)])
    yield operation("query, rows again", lambda _, q: lambda: [q.rows() for _ in range(CALLS)])
    yield operation("query, rows anew", lambda w, q: lambda: _anew(w, q.rows))
    yield operation("query, iterate", lambda _, q: lambda: sum(1 for _ in q))


def _anew(world: Any, rows: Callable[[], object]) -> None:
    """Find a query's rows after each of some structural changes."""
    for part in world.READ_ONLY[1:]:
        create = getattr(getattr(world, part), "create", None)
        if create is not None and "entity" in inspect.signature(create).parameters:
            entity = world.entities.create()
            create(entity)
            rows()
            world.destroy(entity)
            return


def _group(name: str) -> Operations:
    def operation(title: str, run: Callable[[Any, list[Any], Any], Run]) -> Operation:
        def prepare(package: Any) -> Run:
            world = package.World()
            group = getattr(world, name)
            members = [part for part in _parts(package) if hasattr(type(group), part)]
            world.spawn(1000, **{member: {} for member in members})
            es = np.random.default_rng(0).permutation(world.entities.live())
            return run(world, [getattr(world, member) for member in members], es)

        return Operation(title, f"World.{name}", lambda package: lambda: prepare(package))

    def last_joins(world: Any, members: list[Any], _: Any) -> Run:
        ready = world.entities.create_many(CALLS)
        for member in members[:-1]:
            member.create_many(ready)
        return each(members[-1].create, ready.tolist())

    def some(es: Any) -> list[int]:
        found: list[int] = es[:CALLS].tolist()
        return found

    yield operation("group, one joins", last_joins)
    yield operation("group, one leaves", lambda _, ms, es: each(ms[0].remove, some(es)))
    yield operation("group, many leave", lambda _, ms, es: lambda: ms[0].remove_many(es[:CALLS]))
    yield operation("group, reorder", lambda w, _, __: _reordered(getattr(w, name)))
    yield operation("group, length", lambda w, _, __: _lengths(getattr(w, name)))


def _reordered(group: Any) -> Run:
    order = np.random.default_rng(1).permutation(len(group))
    return lambda: group.reorder(order)


def _lengths(group: Any) -> Run:
    return lambda: [len(group) for _ in range(CALLS)]
