"""Putting functions in C before what a class of proxies reads and writes, and what makes them."""

from __future__ import annotations

import sys
from types import FunctionType
from typing import Any, Final

from ._fast import Method, Property, Proxy, Rows
from .known import Kind, static, uses_only
from .spec import slots_of

ROW: Final = -1
OWNER: Final = -2
"""Numbers of the attributes that are no fields, as C has them."""

_FOUND: Final = "_manager data _version _find _row"
_GET: Final = _FOUND.split()
_SET: Final = f"""
    {_FOUND} type PLAIN ValueError OverflowError LateRow row_of
    np ndarray dtype base shape
    """.split()
_SLOTS: Final = ("manager", "owner", "row", "version")
_OWN: Final = ("_manager", "_owner", "_row", "_version", "_find", "_found")
_LOOPS: Final = {
    "__getitem__": (
        "item",
        "_proxy",
        "type int index lookup NIL missing __name__ new_proxy",
    ),
    "rows": (
        "rows",
        "_proxies",
        "_used_rows _entity_column tolist following lookup",
    ),
}
"""What makes proxies: the function in C, the method that it calls, and that one's names."""


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
        known = [*_GET, "_owner", "entity", "row"]
        if type(inherited) is property and _is_known(inherited.fget, known, []):
            setattr(kind, name, Property(plan, inherited, name, field, True, False))
    plan.seal()
    for name, (function, maker, names) in _LOOPS.items():
        method, made = static(manager, name), static(manager, maker)
        if (
            isinstance(method, FunctionType)
            and uses_only(method, [kind.__name__, maker])
            and isinstance(made, FunctionType)
            and made.__qualname__ == f"Owned.{maker}"
            and uses_only(made, [*_GET, "_owner", "Entity", *names.split()])
        ):
            setattr(manager, name, Method(plan, method, function))
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
    cells = [name]
    reads = _is_known(wrapped.fget, _GET, cells) and _free(wrapped.fget) <= {"read"}
    # as `set_<field>` writes, which may have more to do than C knows
    sets = isinstance(static(manager, f"set_{name}"), Method)
    writes = sets and _is_known(wrapped.fset, _SET, cells)
    if reads or writes:
        setattr(
            kind, name, Property(plan, wrapped, name, accessor.field, reads, writes)
        )


def _is_known(function: Any, names: list[str], columns: list[str]) -> bool:
    return isinstance(function, FunctionType) and uses_only(function, names, columns)


def _free(function: Any) -> set[str]:
    return set(function.__code__.co_freevars)
