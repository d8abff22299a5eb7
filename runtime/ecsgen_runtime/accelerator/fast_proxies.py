"""Putting functions in C before what a class of proxies reads and writes, and what makes them."""

from __future__ import annotations

import sys
from typing import Any, Final

from ._fast import Method, Property, Proxy, Rows
from .known import PROXIES, Kind, is_of, static
from .spec import slots_of

ROW: Final = -1
OWNER: Final = -2
"""Numbers of the attributes that are no fields, as C has them."""

_SLOTS: Final = ("manager", "owner", "row", "version")
_OWN: Final = ("_manager", "_owner", "_row", "_version", "_find", "_found")
_LOOPS: Final = {"__getitem__": ("item", "_proxy"), "rows": ("rows", "_proxies")}
"""What makes proxies: the function in C, and the method that it calls."""


def install_proxy(kind: Kind) -> None:
    """Put functions in C before the properties of a class of proxies, if the manager has some."""
    manager = _manager_of(kind)
    if manager is None:
        return
    plan = _plan(kind, manager)
    if plan is None:
        return
    for name, value in list(vars(kind).items()):
        if type(value) is property:
            _put_property(kind, plan, name, value, manager)
    for name, field in {"row": ROW, "entity": OWNER}.items():
        inherited = static(kind, name)
        if type(inherited) is property:
            setattr(kind, name, Property(plan, inherited, name, field, True, False))
    plan.seal()
    for name, (function, maker) in _LOOPS.items():
        if is_of(static(manager, maker), maker, "Owned"):
            setattr(manager, name, Method(plan, static(manager, name), function))
    _finder(manager).plan.seal()  # these may be among what others rely on


def _manager_of(kind: Kind) -> Kind | None:
    """Return the manager whose rows a class of proxies stands for."""
    name = f"{kind.__name__.removesuffix('Ref')}Manager"
    return vars(sys.modules[kind.__module__]).get(name)


def _finder(manager: Kind) -> Any:
    """Return the method that finds the row of an entity, or of an id."""
    return static(manager, "lookup") or static(manager, "resolve")


def _plan(kind: Kind, manager: Kind) -> Proxy | None:
    """Return the plan of a class of proxies; None if its manager has none."""
    finder = _finder(manager)
    if not isinstance(finder, Method):
        return None
    return Proxy(
        {
            "kind": kind,
            "names": _OWN,
            "parts": kind,
            "part_names": (),
            "finder": "lookup",
            "slots": slots_of(kind, {name: f"_{name}" for name in _SLOTS}),
            "component": finder.plan,
            "rows_kind": Rows,
            "finds": isinstance(static(manager, "require"), Method),
        }
    )


def _put_property(
    kind: Kind, plan: Proxy, name: str, wrapped: property, manager: Kind
) -> None:
    """Put functions in C before a field's property, as far as it is known what that does."""
    accessor = static(manager, name)
    if not isinstance(accessor, Method):
        return
    reads = _is_made(wrapped.fget, "get")
    # as `set_<field>` writes, which may have more to do than C knows
    writes = isinstance(static(manager, f"set_{name}"), Method)
    writes = writes and _is_made(wrapped.fset, "put")
    if reads or writes:
        setattr(
            kind, name, Property(plan, wrapped, name, accessor.field, reads, writes)
        )


def _is_made(function: Any, role: str) -> bool:
    """Return whether a field's function is one of the library's that are known."""
    return is_of(function, f"<locals>.{role}", PROXIES[role])
