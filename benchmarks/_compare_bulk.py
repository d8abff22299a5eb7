"""Many rows at once, for any manager."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from _compare_operation import Operation, Operations
from _compare_subject import Subject
from _timing import Run

READS = ("lookup_many", "has_many", "require_many", "count_many")


def bulk(name: str, has: set[str], count: int) -> Operations:
    """The operations on `count` rows of a manager with these methods."""

    def reading(title: str, run: Callable[[Subject], Run], live: int = count) -> Operation:
        def stage(package: Any) -> Callable[[], Run]:
            made = run(Subject(package, name, live))
            return lambda: made

        return Operation(f"{title}, {count:,}", name, stage)

    def changing(title: str, run: Callable[[Subject], Run], live: int = count) -> Operation:
        def stage(package: Any) -> Callable[[], Run]:
            return lambda: run(Subject(package, name, live, count))

        return Operation(f"{title}, {count:,}", name, stage)

    yield changing("create_many, no fields", lambda s: _create_many(s, count, {}), 100)
    yield changing("create_many, arrays", lambda s: _create_many(s, count, s.columns(count)), 100)
    for method in READS:
        if method in has:
            yield reading(method, lambda s, m=method: _on_handles(s, m))  # type: ignore[misc]
    yield reading("iterate", lambda s: lambda: sum(1 for _ in s.manager))
    yield reading("pickle and load", lambda s: lambda: pickle.loads(pickle.dumps(s.manager)))
    twice = 2 * count
    yield changing("destroy_many", lambda s: _on_rows(s, "destroy_many", count), twice)
    yield changing("destroy_many, a mask", _destroy_mask, count)
    yield changing("clear", lambda s: lambda: s.manager.clear())
    if "remove_many" in has:
        yield changing("remove_many", lambda s: _on_handles(s, "remove_many", count), twice)
    if "reorder" in has:
        yield changing("reorder", lambda s: _permuted(s, "reorder"))
        yield changing("sort by a key", lambda s: _permuted(s, "sort"))
    if "collect" in has:
        yield changing("collect, a tenth dead", _collect)
    elif "lookup" in has:
        yield changing("entities.destroy_many", _on_despawn, twice)
    yield from _by_policy(has, count, reading, changing)


Maker = Callable[[str, Callable[[Subject], Run]], Operation]


def _by_policy(has: set[str], count: int, reading: Maker, changing: Maker) -> Operations:
    if "id_of_many" in has:
        yield reading("id_of_many", lambda s: _on_rows(s, "id_of_many", count))
        yield reading("resolve_many", lambda s: _on_ids(s, "resolve_many"))
        yield changing("destroy_id_many", lambda s: _on_ids(s, "destroy_id_many"))
    if "activate_many" in has:
        yield changing("activate_many", lambda s: _toggle(s, True))
        yield changing("deactivate_many", lambda s: _toggle(s, False))
    if "set_parent_many" in has:
        yield changing("set_parent_many", _attach)
        yield changing("levels of a tree", lambda s: _of_tree(s, s.manager.levels))
        yield changing("set_parent, in a tree", _attach_singly)
        yield changing("children, in a tree", _children)
        yield changing("destroy a third of a tree", _destroy_tree)
    if "instances" in has:
        yield changing("create_many, three each", _create_three)
        yield changing("instances, first, next, count", _walk_three)
        yield changing("remove_many, three each", _remove_three)
        yield changing("destroy singly, three each", _destroy_three)


def _create_many(subject: Subject, count: int, columns: dict[str, Any]) -> Run:
    create, new = subject.manager.create_many, subject.new(count)
    return lambda: create(new, **columns)


def _on_handles(subject: Subject, method: str, count: int | None = None) -> Run:
    call, handles = getattr(subject.manager, method), subject.handles[:count]
    return lambda: call(handles)


def _on_rows(subject: Subject, method: str, count: int) -> Run:
    call, rows = getattr(subject.manager, method), subject.rows(count)
    return lambda: call(rows)


def _on_ids(subject: Subject, method: str) -> Run:
    manager = subject.manager
    call, ids = getattr(manager, method), manager.id_of_many(subject.rows(len(subject.handles)))
    return lambda: call(ids)


def _destroy_mask(subject: Subject) -> Run:
    mask = np.random.default_rng(1).random(subject.manager.data.n) < 0.1
    return lambda: subject.manager.destroy_many(mask)


def _permuted(subject: Subject, method: str) -> Run:
    call, order = getattr(subject.manager, method), np.random.default_rng(2).permutation
    rows = order(len(subject.manager))
    return lambda: call(rows)


def _collect(subject: Subject) -> Run:
    subject.entities.destroy_many(subject.handles[: max(1, len(subject.handles) // 10)])
    return lambda: subject.manager.collect()


def _on_despawn(subject: Subject) -> Run:
    gone = subject.handles[: len(subject.handles) // 2]
    return lambda: subject.entities.destroy_many(gone)


def _toggle(subject: Subject, on: bool) -> Run:
    manager = subject.manager
    everyone = np.arange(len(manager))
    (manager.deactivate_many if on else manager.activate_many)(everyone)
    rows = np.random.default_rng(3).permutation(everyone)[: (len(everyone) + 1) // 2]
    call = manager.activate_many if on else manager.deactivate_many
    return lambda: call(rows)


def _tree(subject: Subject) -> tuple[Any, Any]:
    """Return rows and parents for a tree in which everyone has three children."""
    rows = np.arange(1, len(subject.manager))
    return rows, (rows - 1) // 3


def _attach(subject: Subject) -> Run:
    rows, parents = _tree(subject)
    return lambda: subject.manager.set_parent_many(rows, parents)


def _attach_singly(subject: Subject) -> Run:
    attach, (rows, parents) = subject.manager.set_parent, _tree(subject)
    pairs = list(zip(rows.tolist(), parents.tolist(), strict=True))[:1000]
    return lambda: [attach(row, parent) for row, parent in pairs]


def _of_tree(subject: Subject, call: Callable[[], object]) -> Run:
    _attach(subject)()
    return call


def _children(subject: Subject) -> Run:
    _attach(subject)()
    children = subject.manager.children
    return lambda: [children(row) for row in range(min(300, len(subject.manager)))]


def _destroy_tree(subject: Subject) -> Run:
    _attach(subject)()
    return lambda: subject.manager.destroy(1)


def _three(subject: Subject) -> Any:
    return np.repeat(subject.ready, 3)


def _create_three(subject: Subject) -> Run:
    owners = _three(subject)
    return lambda: subject.manager.create_many(owners)


def _walk_three(subject: Subject) -> Run:
    manager = subject.manager
    manager.create_many(_three(subject))
    some = subject.ready[:100].tolist()

    def run() -> None:
        for entity in some:
            for _ in manager.instances(entity):
                pass
            manager.next(manager.first(entity))
            manager.count(entity)

    return run


def _remove_three(subject: Subject) -> Run:
    subject.manager.create_many(_three(subject))
    return lambda: subject.manager.remove_many(subject.ready)


def _destroy_three(subject: Subject) -> Run:
    manager = subject.manager
    manager.create_many(_three(subject))
    destroy, first, some = manager.destroy, manager.first, subject.ready[:100].tolist()
    return lambda: [destroy(first(entity)) for entity in some for _ in range(3)]
