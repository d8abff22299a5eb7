"""Makes proxies of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ..handles import NIL, Instance
from ..per_class import with_own_code
from .proxy import ProxyT, rows_changed

new_proxy: Final = object.__new__


_OWN: Final[dict[type[Any], Any]] = {}


def _own(loop: Any, kind: type[Any]) -> Any:
    """Return a loop with code of its own for each class of proxies, as `per_class` has it."""
    found = _OWN.get(kind)
    if found is None:
        found = _OWN[kind] = with_own_code(loop)
    return found


def following(
    kind: type[ProxyT],
    manager: Any,
    find: Callable[[Any], Instance],
    owners: list[Any],
    rows: list[Instance],
) -> Iterator[ProxyT]:
    """Iterate over proxies of the present rows, which `find` finds by their owners.

    Those that go before their turn are skipped.
    """
    version = manager.data._version
    pairs = list(zip(owners, rows, strict=True))
    loop: Iterator[ProxyT]
    loop = _own(_following, kind)(kind, manager, find, pairs, version)
    return loop


def _following(
    kind: type[ProxyT],
    manager: Any,
    find: Callable[[Any], Instance],
    pairs: Iterable[tuple[Any, Instance]],
    version: int,
) -> Iterator[ProxyT]:
    data = manager.data
    for owner, row in pairs:
        now = data._version
        if now != version:
            row = find(owner)
            if row == NIL:
                continue
        proxy = new_proxy(kind)
        proxy._manager = manager
        proxy._owner = owner
        proxy._row = row
        proxy._version = now
        yield proxy


def standing(
    kind: type[ProxyT], manager: Any, rows: list[Instance]
) -> Iterator[ProxyT]:
    """Iterate over proxies of the present rows; a structural change is StaleInstanceError."""
    loop: Iterator[ProxyT]
    loop = _own(_standing, kind)(kind, manager, rows, manager.data._version)
    return loop


def _standing(
    kind: type[ProxyT], manager: Any, rows: list[Instance], version: int
) -> Iterator[ProxyT]:
    data = manager.data
    for row in rows:
        if data._version != version:
            raise rows_changed(type(manager).__name__)
        proxy = new_proxy(kind)
        proxy._manager = manager
        proxy._owner = None
        proxy._row = row
        proxy._version = version
        yield proxy
    # The last row too: a loop must not pass because there is one row only.
    if data._version != version:
        raise rows_changed(type(manager).__name__)
