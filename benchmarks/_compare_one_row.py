"""One row at a time, for any manager."""

from __future__ import annotations

from typing import Any

from _compare_operation import Operation, Operations, each
from _compare_subject import CALLS, LIVE, Subject
from _timing import Prepare, Run, always

READS_ENTITY = ("lookup", "has", "require", "__contains__", "first", "count")
READS_ID = ("resolve", "__contains__")
MAKERS = ("create", "ensure")


def one_row(name: str, has: set[str], fields: tuple[str, ...]) -> Operations:
    """The operations on one row of a manager with these methods and fields."""
    yield Operation("make a manager", name, lambda package: _made(package, name))
    owned = "lookup" in has
    for maker in MAKERS:
        if maker in has:
            yield _creation(f"{maker}, no fields", name, maker, slice(0))
            yield _creation(f"{maker}, one field", name, maker, slice(1))
            yield _creation(f"{maker}, all fields", name, maker, slice(None))
    for method in READS_ENTITY if owned else READS_ID:
        if method in has or method == "__contains__":
            yield _read(method, name, found=True)
            if method != "require":
                yield _read(f"{method}, a miss", name, found=False)
    for method in _of_a_row(has, fields):
        yield _of_rows(method, name)
    for field in fields:
        yield _of_rows("accessor", f"{name}.{field}", field)
        yield _setter(name, field)
        yield _column(name, field)
    yield from _removals(name, has)


def _made(package: Any, name: str) -> Prepare:
    kind = getattr(package, name)
    arguments = [(package.EntityManager(),)] if "lookup" in dir(kind) else [()]
    return always(lambda: [kind(*each) for each in arguments * 20])


def _creation(title: str, name: str, maker: str, which: slice) -> Operation:
    def stage(package: Any) -> Prepare:
        def prepare() -> Run:
            subject = Subject(package, name, ready=CALLS)
            make = getattr(subject.manager, maker)
            fields = dict([*subject.values().items()][which])
            if not fields:
                return each(make, subject.ready.tolist()) if subject.owned else _repeat(make, {})
            if not subject.owned:
                return _repeat(make, fields)
            ready = subject.ready.tolist()
            return lambda: [make(entity, **fields) for entity in ready]

        return prepare

    return Operation(title, name, stage)


def _repeat(make: Any, fields: dict[str, Any]) -> Run:
    return lambda: [make(**fields) for _ in range(CALLS)]


def _read(title: str, name: str, found: bool) -> Operation:
    method = title.partition(",")[0]

    def stage(package: Any) -> Prepare:
        subject = Subject(package, name, ready=CALLS)
        handles = subject.some
        if not found:
            handles = subject.ready.tolist()
        return always(each(getattr(subject.manager, method), handles))

    return Operation(title, name, stage)


def _of_a_row(has: set[str], fields: tuple[str, ...]) -> list[str]:
    known = ("entity", "row", "parent", "first_child", "next_sibling", "previous_sibling")
    more = ("children", "next", "previous", "id_of", "is_active")
    return [name for name in (*known, *more) if name in has and name not in fields]


def _of_rows(title: str, owner: str, method: str = "") -> Operation:
    name = owner.partition(".")[0]

    def stage(package: Any) -> Prepare:
        subject = Subject(package, name)
        return always(each(getattr(subject.manager, method or title), subject.rows().tolist()))

    return Operation(title, owner, stage)


def _setter(name: str, field: str) -> Operation:
    def stage(package: Any) -> Prepare:
        subject = Subject(package, name)
        rows = subject.rows().tolist()
        value = getattr(subject.manager, field)(rows[0])
        return always(each(getattr(subject.manager, f"set_{field}"), rows, [value] * len(rows)))

    return Operation("setter", f"{name}.{field}", stage)


def _column(name: str, field: str) -> Operation:
    def stage(package: Any) -> Prepare:
        subject = Subject(package, name)
        data = subject.manager.data
        getattr(data, field)  # AttributeError: it lies elsewhere
        return always(lambda: [getattr(data, field) for _ in range(CALLS)])

    return Operation("data column, read", f"{name}.{field}", stage)


def _removals(name: str, has: set[str]) -> Operations:
    if "remove" in has:
        yield _change("remove", name, lambda subject: each(subject.manager.remove, subject.some))
        yield _change("remove, a miss", name, lambda s: each(s.manager.remove, s.ready.tolist()))
        yield _change("destroy, a row in the middle", name, _destroy_found)
    if "destroy_id" in has:
        ids = _ids_of_some
        yield _change("resolve", name, lambda s: each(s.manager.resolve, ids(s)))
        yield _change("destroy_id", name, lambda s: each(s.manager.destroy_id, ids(s)))
    yield _change("destroy, the last row", name, _destroy_last)
    yield _change("destroy, the first row", name, _destroy_first)
    if "gc" in has:
        yield _change("gc, few dead", name, _gc)
    if "collect" in has:
        yield _change("collect, nobody dead", name, lambda s: each(_called, [s.manager.collect]))
    if "gc" not in has and "lookup" in has:
        yield _change("entities.destroy", name, lambda s: each(s.entities.destroy, s.some))
    if "activate" in has:
        yield _change("deactivate", name, lambda s: each(_toggled, [s.manager] * CALLS, range(9)))


def _change(title: str, name: str, run: Any) -> Operation:
    """An operation that needs a fresh subject each time."""
    return Operation(title, name, lambda package: lambda: run(Subject(package, name, LIVE, CALLS)))


def _called(function: Any) -> None:
    for _ in range(CALLS):
        function()


def _toggled(manager: Any, row: int) -> None:
    manager.activate(manager.deactivate(row))


def _destroy_found(subject: Subject) -> Run:
    destroy, lookup, some = subject.manager.destroy, subject.manager.lookup, subject.some
    return lambda: [destroy(lookup(handle)) for handle in some]


def _ids_of_some(subject: Subject) -> list[int]:
    found: list[int] = subject.manager.id_of_many(subject.rows()).tolist()
    return found


def _destroy_last(subject: Subject) -> Run:
    rows = range(LIVE - 1, LIVE - 1 - CALLS, -1)
    return each(subject.manager.destroy, rows)


def _destroy_first(subject: Subject) -> Run:
    # A row is its entity's index where the lookup is direct: then the first of all goes only once.
    direct = "reorder" not in dir(subject.manager)
    return each(subject.manager.destroy, range(CALLS) if direct else [0] * CALLS)


def _gc(subject: Subject) -> Run:
    subject.entities.destroy_many(subject.handles[: CALLS // 10])
    return each(_called, [subject.manager.gc])
