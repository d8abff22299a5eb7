"""What parcels of a world consist of: tables of columns, one or two for each component.

All is read off the managers' classes, once for each class of world, so that a parcel can be
looked at without a world.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from math import prod
from typing import Any, Final

import numpy as np

from ..columns.buffers import Column
from ..columns.field_info import FieldInfo
from ..columns.rows import field_of
from ..typed import NamedTuple

_LINKS: Final = (
    "entity next previous parent first_child next_sibling previous_sibling id_slot id_row "
    "id_generation newer older cold_row"
)
_OWN: Final = frozenset(_LINKS.split())  # a list of strings takes thrice the lines
"""Columns that are no fields."""
_U8: Final = np.dtype(np.uint8)
_U32: Final = np.dtype(np.uint32)
_U64: Final = np.dtype(np.uint64)


class PackedColumn(NamedTuple):
    """A column of a parcel."""

    name: str
    """As in `Parcel.columns`: the component, and the column in its manager, or with a `~` what it
    stands for."""
    table: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Of one cell."""
    nbytes: int
    """Bytes per row."""
    item: np.dtype[Any]
    """What a row is if nobody looks into it: moves in half the time."""


class Component(NamedTuple):
    """A component that travels: what of it does, and where that is in a parcel."""

    name: str
    attribute: str
    """Of the world; "" for those in chunks."""
    kind: Any
    """The class of its manager, or of its columns in chunks."""
    table: int
    columns: Mapping[str, int]
    """Columns of the manager → columns of the parcel; also "~id", "~parent" …"""
    cold: Mapping[str, int]
    """The same of the second buffer, and "~row"; empty without one."""
    objects: Mapping[str, int]
    """Fields that are objects → columns of pickles."""
    parts: Mapping[str, tuple[str, ...]]
    """Fields → the columns that they are: several of those that are split."""
    is_owned: bool
    """Whether rows belong to entities."""
    is_one: bool
    """Whether these have one row each, and rows come in the order of entities."""
    sources: tuple[tuple[Column, int], ...]
    """Columns of the manager, which are columns of the parcel as they are; without owners."""
    cold_sources: tuple[tuple[Column, int], ...]
    """The same of the second buffer."""
    marks: Mapping[str, int]
    """The columns that stand for something else."""


class ParcelPlan(NamedTuple):
    """All tables of a world's parcels."""

    fingerprint: bytes
    row_nbytes: tuple[int, ...]
    """Bytes per row of each table."""
    columns: tuple[PackedColumn, ...]
    order: tuple[int, ...]
    """In which columns lie in the body: by falling alignment."""
    managed: tuple[Component, ...]
    """Components with managers."""
    chunked: tuple[Component, ...]
    """Components in chunks."""

    @property
    def n_tables(self) -> int:
        """How many tables there are."""
        return len(self.row_nbytes)


class _Tables:
    """Collects columns and tables."""

    def __init__(self) -> None:
        self.columns: list[PackedColumn] = []
        self.count = 0

    def table(self) -> int:
        """Return the number of a new table."""
        self.count += 1
        return self.count - 1

    def add(
        self, name: str, table: int, dtype: np.dtype[Any], shape: tuple[int, ...] = ()
    ) -> int:
        """Return the number of a new column."""
        nbytes = dtype.itemsize * prod(shape)
        item = np.dtype(f"u{nbytes}" if nbytes in (1, 2, 4, 8) else f"V{nbytes}")
        self.columns.append(PackedColumn(name, table, dtype, shape, nbytes, item))
        return len(self.columns) - 1


def plan_of(world: Any) -> ParcelPlan:
    """Return the tables of the parcels of a class of worlds."""
    return _plan_of(world)


@cache
def _plan_of(world: Any) -> ParcelPlan:
    tables, stays = _Tables(), world._STAYS
    managed = tuple(
        _managed(tables, attribute, kind)
        for attribute, kind in world._KINDS.items()
        if attribute not in stays
    )
    chunked = tuple(
        _chunked(tables, kind)
        for kind in world._CHUNKED
        if kind._ROW.__name__ not in stays
    )
    columns, row_nbytes = tuple(tables.columns), [0] * tables.count
    for column in columns:
        row_nbytes[column.table] += column.nbytes
    order = sorted(range(len(columns)), key=lambda k: -alignment(columns[k].dtype))
    fingerprint = bytes.fromhex(world.FINGERPRINT)
    return ParcelPlan(
        fingerprint, tuple(row_nbytes), columns, tuple(order), managed, chunked
    )


def alignment(dtype: np.dtype[Any]) -> int:
    """Return on how many bytes cells begin."""
    return 1 if dtype.kind in "SV" else dtype.itemsize


def _managed(tables: _Tables, attribute: str, kind: Any) -> Component:
    rows, name = kind._ROWS, kind._ROWS.MANAGER.removesuffix("Manager")
    held, table = {column.name for column in kind.LAYOUT}, tables.table()
    found: dict[str, int] = {}
    if "entity" in held:
        found["entity"] = tables.add(f"{name}.entity", table, _U64)
    if "id_generation" in held:
        found["~id"] = tables.add(f"{name}.~id", table, _U64)
    if "parent" in held:
        found["~parent"] = tables.add(f"{name}.~parent", table, _U32)
        found["~rank"] = tables.add(f"{name}.~rank", table, _U32)
    if hasattr(kind, "activate"):
        found["~active"] = tables.add(f"{name}.~active", table, np.dtype(np.bool_))
    found |= _fields(tables, name, table, kind.LAYOUT)
    cold: dict[str, int] = {}
    sources = _sources(kind.LAYOUT, found)
    cold_sources: tuple[tuple[Column, int], ...] = ()
    objects = [*rows.OBJECTS]
    if "cold_row" in held:
        second = tables.table()
        cold["~row"] = tables.add(f"{name}.~row", second, _U32)
        layout = [column for column in kind.LAYOUT_COLD if column.name != "row"]
        cold |= _fields(tables, name, second, layout)
        cold_sources = _sources(layout, cold)
        objects += rows._COLD.OBJECTS
    pickles = {
        field_of(column): tables.add(f"{name}.~{field_of(column)}", tables.table(), _U8)
        for column in objects
    }
    return Component(
        name,
        attribute,
        kind,
        table,
        found,
        cold,
        pickles,
        _parts(kind.FIELDS, {*found, *cold, *pickles}),
        "entity" in held,
        "entity" in held and not kind._IS_LIST and not hasattr(kind, "by_age"),
        sources,
        cold_sources,
        {name: number for name, number in found.items() if name.startswith("~")},
    )


def _sources(
    layout: Iterable[Column], found: Mapping[str, int]
) -> tuple[tuple[Column, int], ...]:
    """Return which columns are columns of the parcel, but for owners."""
    return tuple(
        (column, found[column.name])
        for column in layout
        if column.name in found and column.name != "entity"
    )


def _chunked(tables: _Tables, kind: Any) -> Component:
    name, table = kind._ROW.__name__, tables.table()
    found = {"entity": tables.add(f"{name}.entity", table, _U64)}
    plain = [column for column in kind.LAYOUT if not column.dtype.hasobject]
    found |= _fields(tables, name, table, plain)
    pickles = {
        column.name: tables.add(f"{name}.~{column.name}", tables.table(), _U8)
        for column in kind.LAYOUT
        if column.dtype.hasobject
    }
    return Component(
        name, "", kind, table, found, {}, pickles, {}, True, True, (), (), {}
    )


def _fields(tables: _Tables, component: str, table: int, layout: Any) -> dict[str, int]:
    columns: list[Column] = [column for column in layout if column.name not in _OWN]
    return {
        c.name: tables.add(f"{component}.{c.name}", table, c.dtype, c.shape)
        for c in columns
    }


def _parts(
    fields: tuple[FieldInfo, ...], columns: set[str]
) -> dict[str, tuple[str, ...]]:
    """Return the columns of each field."""
    return {
        field.name: (field.name,) if field.name in columns else _split(field)
        for field in fields
    }


def _split(field: FieldInfo) -> tuple[str, ...]:
    count = prod(field.shape)
    ends = "xyzw"[:count] if count <= 4 else map(str, range(count))
    return tuple(f"{field.name}_{end}" for end in ends)
