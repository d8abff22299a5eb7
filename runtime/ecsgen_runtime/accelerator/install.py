"""Putting functions in C before the methods of a class."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from ._fast import Component, Entities, Join, Method, Property, Proxy, Rows, World
from .supported import (
    NEEDED,
    Chosen,
    Kind,
    accelerated_methods,
    columns_of_policies,
    component_spec,
    find_in_modules,
    function_in_c,
    getattr_static,
    members_of,
    row_classes,
    slots_of,
    supports_all_steps,
)

_JOIN_SLOTS: Final = ("required", "optional", "any_of", "none_of", "entities")


def install_join(kind: Kind) -> None:
    """Put a function in C before `_join`."""
    modules = vars(sys.modules[kind.__module__])
    members = vars(sys.modules[modules["QueryMember"].__module__])
    slots = slots_of(kind, {name: name for name in _JOIN_SLOTS})
    spec = {
        "kind": kind,
        "names": ("_blocks", "_join", "_narrow", "_way"),
        "parts": kind,
        "part_names": (),
        **slots,
        **slots_of(members["QueryMember"], {"manager": "manager"}),
        "alive": "alive",
        "member_kind": members["QueryMember"],
        "sparse_kind": members["QuerySparseMember"],
        "rows_kind": modules["JoinRows"],
        "match_kind": modules["QueryMatch"],
        "empty": np.empty,
        "dtype": np.intp,
    }
    _put(kind, Join, spec, {"_join": (getattr_static(kind, "_join"), "join", 0)})


ROW: Final = -1
OWNER: Final = -2
"""Numbers of the attributes that are no fields, as C has them."""

_SLOTS: Final = ("manager", "owner", "row", "version")
_PROXY_NAMES: Final = ("_manager", "_owner", "_row", "_version", "_find", "_found")
_LOOPS: Final = {"__getitem__": "_proxy", "rows": "_proxies"}
"""Generated methods that make proxies, and the method of the library that does it for them."""


def install_proxy(kind: Kind) -> None:
    """Put functions in C before the properties of a class of proxies, if the manager has some."""
    name = f"{kind.__name__.removesuffix('Ref')}Manager"
    manager = vars(sys.modules[kind.__module__]).get(name)
    if manager is None:
        return
    finder = getattr_static(manager, "lookup") or getattr_static(manager, "resolve")
    if not isinstance(finder, Method):
        return
    plan = Proxy(
        {
            "kind": kind,
            "names": _PROXY_NAMES,
            "parts": kind,
            "part_names": (),
            "finder": "lookup",
            **slots_of(kind, {name: f"_{name}" for name in _SLOTS}),
            "component": finder.plan,
            "rows_kind": Rows,
            "finds": isinstance(getattr_static(manager, "require"), Method),
        }
    )
    for name, value in list(vars(kind).items()):
        if type(value) is property:
            _put_property(kind, plan, name, value, manager)
    for name, field in {"row": ROW, "entity": OWNER}.items():
        inherited = getattr_static(kind, name)
        if type(inherited) is property:
            setattr(kind, name, Property(plan, inherited, name, field, True, False))
    plan.seal()
    for name, maker in _LOOPS.items():
        if function := function_in_c(getattr_static(manager, maker)):
            setattr(manager, name, Method(plan, getattr_static(manager, name), function))
    finder.plan.seal()  # other methods may rely on these


def _put_property(kind: Kind, plan: Proxy, name: str, wrapped: property, manager: Kind) -> None:
    """Put functions in C before a field's property, where C knows what the property does."""
    accessor = getattr_static(manager, name)
    if not isinstance(accessor, Method):
        return
    reads = bool(function_in_c(wrapped.fget))
    # as `set_<field>` writes, which may have more to do than C knows
    writes = isinstance(getattr_static(manager, f"set_{name}"), Method)
    writes = writes and bool(function_in_c(wrapped.fset))
    if reads or writes:
        setattr(kind, name, Property(plan, wrapped, name, accessor.field, reads, writes))


_WORLD_SLOTS: Final = {
    "managers": "_managers",
    "deferred_despawns": "_deferred_despawns",
    "collecting_managers": "collecting_managers",
}


def install(kind: Kind) -> None:
    """Put functions in C before the methods that they know."""
    if hasattr(kind, "_copied"):
        install_proxy(kind)
    elif hasattr(kind, "_match_again"):
        install_join(kind)
    elif hasattr(kind, "LAYOUT"):
        _install_component(kind)
    elif hasattr(kind, "MANAGERS"):
        _install_world(kind)
    elif hasattr(kind, "_free_index"):
        _install_entities(kind)
    else:
        raise LookupError("a class of no known kind")


def _install_component(kind: Kind) -> None:
    spec = component_spec(kind, _entities_of(kind))
    if spec is None:
        return
    spec["names"] = members_of(kind.__mro__[1:-1])
    spec["part_names"] = members_of(spec["parts"].__mro__[1:-1])
    chosen = _chosen_fields(kind, spec) | _chosen_rows(kind, spec) | accelerated_methods(kind)
    _put(kind, Component, spec, _with_needs(chosen))


def _install_entities(kind: Kind) -> None:
    layout = kind.HANDLE_LAYOUT
    names = {
        "cells": "_cells",
        "n_cells": "n_cells",
        "free": "free_indices",
        "callbacks": "callbacks",
    }
    slots = slots_of(kind, names | {name: name for name in ("n_used", "n_retired", "dispatch")})
    example = kind()
    queue, dispatch, callbacks = example.free_indices, example.dispatch, example.callbacks
    names = {"queue_head": "head", "queue_mask": "_mask", "queue_cells": "_cells"}
    slots |= slots_of(type(queue), names | {"queue_count": "count"})
    waits = {"depth": "depth", "errors": "errors", "waiting": "queue"}
    entry = find_in_modules(type(callbacks), "_ListenerEntry")
    slots |= slots_of(type(dispatch), waits)
    slots |= slots_of(type(callbacks), {"entries": "entries"})
    slots |= slots_of(entry, {"listener": "listener", "remove": "remove"})
    spec = {
        "kind": kind,
        "names": members_of(kind.__mro__[1:-1]),
        "parts": type(queue),
        "part_names": members_of(type(queue).__mro__[:-1]),
        **slots,
        "dispatch_kind": type(dispatch),
        "callbacks_kind": type(callbacks),
        "entry_kind": entry,
        "index_mask": layout.INDEX_MASK,
        "one_generation": layout.ONE_GENERATION,
        "globals": getattr_static(kind, "create").__globals__,
    }
    chosen = accelerated_methods(kind)
    if "alive" in chosen:  # with shards, an entity may be at another index than its handle says
        _put(kind, Entities, spec, chosen)


def _install_world(kind: Kind) -> None:
    chosen = accelerated_methods(kind)
    function = function_in_c(getattr_static(kind, "_spawn"))
    if function and "spawn" in vars(kind):
        chosen["spawn"] = vars(kind)["spawn"], function, 0
    entities = getattr_static(find_in_modules(kind, "EntityManager"), "alive")
    if not isinstance(entities, Method):
        return
    array = np.zeros(1, np.uint64)
    spec = {
        "kind": kind,
        # a user's world may have constants, and public methods, of its own, which these do not call
        "names": tuple(n for n in members_of(kind.__mro__[1:-1]) if n[0] == "_" and n.islower()),
        "parts": kind,
        "part_names": (),
        **slots_of(kind, _WORLD_SLOTS),
        "entities_plan": entities.plan,
        "entities": "entities",
        "clean": "despawns_at_collect",
        "reserve": "reserve",
        "kinds": row_classes(kind),
        "array": array,
        "cells": array.data,
        "copy": "copy",
    }
    _put(kind, World, spec, chosen)


def _put(kind: Kind, planned: type[Any], spec: dict[str, Any], chosen: Chosen) -> None:
    spec["finder"] = "lookup"
    plan = planned(spec)
    for name, (method, function, field) in chosen.items():
        setattr(kind, name, Method(plan, method, function, field))
    spec |= {name: getattr_static(kind, name) for name in ("create", "remove")}
    plan.seal()


def _entities_of(kind: Kind) -> Any:
    """Return the plan of the entity manager that a manager's owners come from; None if they have
    none."""
    if "entity" not in columns_of_policies(kind):
        return None
    alive = getattr_static(kind.ROWS.ENTITIES, "alive")
    return alive.plan if isinstance(alive, Method) else None


def _chosen_fields(kind: Kind, spec: dict[str, Any]) -> Chosen:
    chosen: Chosen = {}
    if not supports_all_steps(kind, "accessors"):
        return chosen
    for number, (name, _, _, _, _, letter, *_) in enumerate(spec["fields"]):
        if letter == "\0":
            continue
        for method, function in ((name, "get"), (f"set_{name}", "set")):
            if method not in kind.PARTS.guarded:
                chosen[method] = getattr_static(kind, method), function, number
    return chosen


def _chosen_rows(kind: Kind, spec: dict[str, Any]) -> Chosen:
    """Choose what finds rows, and what makes them come and go."""
    fields = spec["fields"]
    chosen: Chosen = {}
    if supports_all_steps(kind, "destroy_row"):
        chosen["_destroy_row"] = getattr_static(kind, "_destroy_row"), "destroy_row", 0
    if len(fields) == len(kind.CONVERTERS):
        has_owners = "entity" not in spec["roles"] or spec["entities"] is not None
        if has_owners and supports_all_steps(kind, "create"):
            chosen["create"] = getattr_static(kind, "create"), "create", 0
            ensure = getattr_static(kind, "ensure")
            if getattr(ensure, "__wrapped__", None) is getattr_static(kind, "create"):
                chosen["ensure"] = ensure, "ensure", 0
        if supports_all_steps(kind, "create_many"):
            chosen["create_many"] = (getattr_static(kind, "create_many"), "create_many", 0)
        all_cells = all(field[5] != "\0" for field in fields)
        if all_cells and supports_all_steps(kind, "accessors"):
            chosen["row"] = getattr_static(kind, "row"), "row", 0
    return chosen


def _with_needs(chosen: Chosen) -> Chosen:
    """Return the methods whose functions in C find all that they need in C, too."""
    return {
        name: entry
        for name, entry in chosen.items()
        if all(needed in chosen for needed in NEEDED.get(entry[1], ()))
    }
