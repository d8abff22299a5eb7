"""Methods that functions in C replace, and what C needs to know of a class.

A function in C does all that a method does in its usual case. What a generated method consists of
its class says, in `PARTS`; methods of the library are marked with the function that does the same.
A method that is another one, of a policy that came later or is rare, is left alone. Slots, columns
and fields are found in the class itself.
"""

from __future__ import annotations

import sys
from math import prod
from types import FunctionType, MemberDescriptorType
from typing import Any, Final, TypeAlias

import numpy as np

from ..tables.buffers import split_columns

Kind: TypeAlias = Any
"""A generated class, or one of the library's, with the attributes that it has."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


STEPS: Final = {
    "accessors": _names("packed partition grouped direct"),
    "create": _names("""packed partition direct sparse hash one ids direct_ids hierarchy add
        owned_children unowned_children"""),
    "create_many": _names("owned_children unowned_children"),
    "destroy_row": _names("""packed partition direct sparse hash ids release hierarchy
        orphans_root orphans_destroy orphans_die"""),
}
"""The policies whose part in a generated method is known."""

NEEDED: Final = {
    "remove": ("_destroy_row", "lookup"),
    "destroy": ("_destroy_row",),
    "destroy_id": ("_destroy_row", "resolve"),
    "lookup": ("lookup",),
    "lookup_many": ("lookup",),
    "remove_many": ("remove", "lookup"),
    "create_many": ("create", "lookup"),
    "ensure": ("create", "lookup"),
    "has": ("lookup",),
    "has_id": ("resolve",),
    "require": ("lookup",),
}
"""Methods that those with a function in C call, and that must have one, too."""

Chosen: TypeAlias = dict[str, tuple[FunctionType, str, int]]
"""By attribute: the method, the function in C, and the number of a field."""


def getattr_static(kind: Kind, name: str) -> Any:
    """Return an attribute as it stands in the class or its bases, None if there is none."""
    for base in kind.__mro__:
        if name in vars(base):
            return vars(base)[name]
    return None


def supports_all_steps(kind: Kind, method: str) -> bool:
    """Return True if all steps of a generated method are known."""
    parts = kind.PARTS
    return bool(parts.accessors) and STEPS[method].issuperset(getattr(parts, method))


def function_in_c(method: Any) -> str:
    """Return the function in C that does what a method of the library does, "" if there is none."""
    return getattr(method, "function_in_c", "") if isinstance(method, FunctionType) else ""


def accelerated_methods(kind: Kind) -> Chosen:
    """Return a class's copies of the library's methods that functions in C stand for."""
    return {
        name: (method, function, 0)
        for name, method in vars(kind).items()
        if (function := function_in_c(method)) and (name[0] != "_" or name in OPERATORS)
    }


OPERATORS: Final = ("__contains__", "__getitem__", "__iter__", "__len__")


def members_of(classes: tuple[type, ...]) -> tuple[str, ...]:
    """Return the names of all members of classes, without those such as `__repr__` that only Python
    asks for: whoever replaces one of them is left to Python."""
    names = frozenset[str]().union(*map(vars, classes))
    return tuple(name for name in names if name[:2] != "__" or name in OPERATORS)


MAX_CELL: Final = 256
MAX_ROW: Final = 1024
MAX_PARTS: Final = 16

_MANAGER_SLOTS: Final = {
    "data": "data",
    "locks": "_locks",
    "owners": "_entities",
    "sparse": "_sparse_cells",
    "map": "_rows",
    "released": "_released",
    "added": "_added",
}
_SAVED_NUMBERS: Final = _names("n version allocated count peak slots first_generation")
_DATA_SLOTS: Final = {name: f"_{name}" for name in _SAVED_NUMBERS} | {"active": "_n_active"}
_COLUMN_LENGTHS: Final = ("id_row", "id_generation")
"""Columns whose cells belong to slots, not to rows."""


def find_in_modules(kind: Kind, name: str) -> Any:
    """Return a name's value in the module of a class, or of one of its bases; LookupError."""
    for base in kind.__mro__:
        member = vars(sys.modules[base.__module__]).get(name)
        if member is not None:
            return member
    raise LookupError(f"no module of its bases has {name}")


def slots_of(kind: Kind, names: dict[str, str]) -> dict[str, MemberDescriptorType]:
    """Return the descriptors of slots that a class has, by the names that C has for them."""
    descriptors = {name_in_c: getattr_static(kind, name) for name_in_c, name in names.items()}
    return {
        name_in_c: d for name_in_c, d in descriptors.items() if isinstance(d, MemberDescriptorType)
    }


def row_classes(world: Kind) -> dict[str, type]:
    """Return the row classes of a world's components whose rows belong to entities, by their
    names."""
    return {
        sys.intern(name): manager.PARTS.row
        for name, manager in world.MANAGER_CLASSES.items()
        if "entity" in columns_of_policies(manager)
    }


def columns_of_policies(kind: Kind) -> dict[str, int]:
    """Return the columns that are no fields, such as `entity`, and their numbers."""
    return {c.name: i for i, c in enumerate(kind.LAYOUT) if c.name not in kind.CONVERTERS}


def fields_of(kind: Kind, columns: list[str]) -> list[tuple[Any, ...]]:
    """Return the plan of each field that has columns in the buffer."""
    fields, at = [], 0
    for name, (converter, default) in kind.CONVERTERS.items():
        parts = _parts(name, columns, converter.shape)
        if not parts:
            continue
        dtype = converter.dtype
        count = prod(converter.shape) if converter.shape else 0
        letter = _letter(converter)
        enum = getattr(converter, "_enum", None)
        nbytes = dtype.itemsize * (count or 1)
        if nbytes > MAX_CELL:
            letter = "\0"
        fields.append(
            (
                sys.intern(name),
                default,
                None if enum is None else enum._value2member_map_,
                None if enum is None else converter._members,
                enum,
                letter,
                dtype.itemsize,
                count,
                tuple(columns.index(part) for part in parts),
                at,
                nbytes,
                _cells(kind, parts),
            )
        )
        at += nbytes
    return fields


def _cells(kind: Kind, parts: list[str]) -> MemberDescriptorType | None:
    """Return the slot of the memoryview of a field's only column, if it has one."""
    slots = slots_of(kind.ROWS, {"cells": f"_{parts[0]}_cells"})
    return slots.get("cells") if len(parts) == 1 else None


def _parts(name: str, columns: list[str], shape: tuple[int, ...]) -> list[str]:
    """Return the columns of a field: one, or one for each element, in order; none if its cells
    lie elsewhere, or in more columns than C has room for."""
    if name in columns:
        return [name]
    parts = split_columns(name, shape)
    return parts if len(parts) <= MAX_PARTS and set(parts) <= set(columns) else []


def _letter(converter: Any) -> str:
    """Return how the elements of a field are stored; "\0" leaves them to Python."""
    letter, dtype = converter.cells_in_c, converter.dtype
    if not letter or len(converter.shape) > 1 or dtype == np.float16:
        return "\0"
    return str({"f": dtype.char, "i": dtype.kind}.get(letter, letter))


def default_row(kind: Kind, fields: list[tuple[Any, ...]]) -> bytes:
    """Return the cells of a new row, field after field, if no value is given."""
    parts = []
    for name, default, *_ in fields:
        converter = kind.CONVERTERS[name][0]
        cell = np.broadcast_to(converter.to_column(default, 1), (1, *converter.shape))
        parts.append(np.ascontiguousarray(cell, converter.dtype).tobytes())
    return b"".join(parts)


def component_spec(kind: Kind, entities: Any) -> dict[str, Any] | None:
    """Return the plan of a manager's class; None if C can't have its rows."""
    data = kind.ROWS
    layout = data.LAYOUT
    columns = [column.name for column in layout]
    parts, roles = kind.PARTS, columns_of_policies(kind)
    slots = slots_of(kind, _MANAGER_SLOTS) | slots_of(data, _DATA_SLOTS)
    anchor = next((c for c in columns if slots_of(data, {"anchor": f"_{c}_cells"})), None)
    if anchor is None:
        return None
    callbacks = getattr(kind, "_CALLBACKS", None)
    if callbacks is not None:
        slots |= slots_of(callbacks, {"entries": "entries"})
    fields = fields_of(kind, columns)
    defaults = default_row(kind, fields)
    if len(defaults) > MAX_ROW:
        return None
    return {
        "kind": kind,
        "row_kind": parts.row,
        "entities": entities,
        "parts": data,
        "callbacks_kind": callbacks,
        "index_mask": data.ENTITIES.HANDLE_LAYOUT.INDEX_MASK,
        **slots,
        **slots_of(data, {"anchor": f"_{anchor}_cells"}),
        "columns": _columns(layout, fields),
        "roles": roles | {"anchor_column": columns.index(anchor)},
        "fields": tuple(fields),
        "defaults": defaults,
        "is_direct": "direct" in parts.accessors,
        "is_many": "next" in roles,
        "starts_active": getattr(kind, "_STARTS_ACTIVE", False),
        "releases_children": "orphans_root" in parts.destroy_row,
        "empty": np.empty,
        "dtype": np.intp,
        "kills_orphans": getattr(kind, "DESPAWNS_OWNERS", False),
        "above": sys.intern("parent") if "parent" in roles else None,
    }


def _columns(
    layout: tuple[Any, ...], fields: list[tuple[Any, ...]]
) -> tuple[tuple[int, int, int, bool], ...]:
    """Return each column's place in a row of the buffer and in a new row's scratch, and whether it
    moves with its row."""
    places: dict[int, int] = {}
    for *_, size, _count, parts, at, nbytes, _cells in fields:
        step = nbytes if len(parts) == 1 else size
        places |= {part: at + k * step for k, part in enumerate(parts)}
    return tuple(
        (column.bytes_before, column.nbytes, places.get(i, -1), column.name not in _COLUMN_LENGTHS)
        for i, column in enumerate(layout)
    )
