"""The rows in an archetype store's chunks."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from _compare_operation import Operation, Operations, each
from _compare_package import snake
from _compare_subject import CALLS
from _timing import Run

ROWS = 1000


def archetypes(old: Any, new: Any) -> Operations:
    """The operations of the archetype stores of both packages."""
    if not hasattr(old, "Archetypes") or not hasattr(new, "Archetypes"):
        return
    for number in range(len(_components(old))):
        yield from _of_component(number)
    yield _operation(
        "create 1,000 of all", "Archetypes", lambda s, es, cs: lambda: s.create(cs, ROWS)
    )
    yield _operation(
        "entities.destroy", "Archetypes", lambda s, es, _: each(s._entities.destroy, es)
    )
    yield _operation(
        "chunks", "Archetypes", lambda s, es, cs: lambda: [c.entity for c in s.chunks(all=cs)]
    )


def _components(package: Any) -> list[Any]:
    """Return the row classes of the components that live in chunks."""
    taken = inspect.signature(package.Archetypes.create).parameters
    found = (getattr(package, name) for name in dir(package))
    kinds = (kind for kind in found if isinstance(kind, type))
    return [kind for kind in kinds if snake(kind.__name__) in taken]


def _operation(
    title: str,
    owner: str,
    run: Callable[[Any, list[int], list[Any]], Run],
    without: int | None = None,
) -> Operation:
    def prepare(package: Any) -> Run:
        store, components = package.Archetypes(package.EntityManager()), _components(package)
        kept = [each for k, each in enumerate(components) if k != without]
        es = store.create(kept, ROWS)
        return run(store, es[:CALLS].tolist(), components)

    return Operation(title, owner, lambda package: lambda: prepare(package))


def _of_component(number: int) -> Operations:
    owner = f"Archetypes[{number}]"

    def one(method: str) -> Callable[[Any, list[int], list[Any]], Run]:
        return lambda s, es, cs: each(getattr(s, method), es, [cs[number]] * len(es))

    def many(method: str) -> Callable[[Any, list[int], list[Any]], Run]:
        return lambda s, es, cs: lambda: getattr(s, method)(es, cs[number])

    for method in ("get", "has", "remove"):
        yield _operation(method, owner, one(method))
    for method in ("has_many", "remove_many"):
        yield _operation(method, owner, many(method))
    yield _operation("add", owner, one("add"), number)
    yield _operation("add_many", owner, many("add_many"), number)
