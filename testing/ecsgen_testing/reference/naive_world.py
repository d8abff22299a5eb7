"""A naive world: entities, rows in order, grids, seeds and calls, as lists and dicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .grid_geometry import FIRST_CELL, Grid
from .schema import SETTINGS, Field, Schema, number
from .values import TIMES, Value, value

Cells = dict[str, Value]
"""The fields of a row."""


@dataclass(eq=False, slots=True)
class Row:
    """A row of a component. Its identity never changes; its place among the rows does."""

    component: str
    owner: int
    """The entity; 0 without an owner."""
    id: int
    cells: Cells
    serial: int
    """Orders the rows of one entity, the oldest first."""
    is_active: bool
    is_dead: bool = False
    parent: Row | None = None
    number: int = 0
    """Of a copy: its row in the manager, or its place among all rows in chunks."""


Actor = dict[str, Row]
"""The rows that act or are met as one, by component: one row, or those of an entity in a group or
query."""
Spawn = dict[str, Cells]
"""The fields that a spawn sets, by component."""


class Change(NamedTuple):
    """A component that an entity gets or loses after a pass."""

    owner: int
    component: str
    cells: Cells | None
    """The fields that are set; None if it is removed."""
    replaces: bool = False
    """True if who has it already gets these fields."""


NewHandles = Callable[[str, Sequence[int]], Sequence[int]]
"""Returns the ids of new rows of a component, whose owners are given (0: none), or, for "", the
handles of as many new entities."""


class World:
    """All managers. Handles and ids are the caller's; those of spawned rows come from
    `new_handles`."""

    def __init__(
        self,
        schema: Schema,
        new_handles: NewHandles | None = None,
        shapes: dict[str, tuple[int, ...]] | None = None,
    ) -> None:
        """`shapes`: of grids that differ from the schema's."""
        self.schema = schema
        numbers = itertools.count(FIRST_CELL)
        self.new_handles = new_handles or (
            lambda _, owners: list(itertools.islice(numbers, len(owners)))
        )
        self.entities: set[int] = set()
        self.orders: dict[str, list[int]] = {}
        """Entities of queries, if their order is not that of the first component's rows."""
        self.seeds: dict[str, int] = {}
        """By component, "" for the world's."""
        self.calls: dict[str, int] = {}
        """Calls of each kernel, which its random numbers depend on."""
        self.tick = 0
        settings = schema.settings.items()
        self.settings = {name: field.initial for name, field in settings}
        self.settings_row = Row(SETTINGS, 0, 0, self.settings, 0, is_active=True)
        self.sizes = {name: component.sizes for name, component in schema.components.items()}
        """Sizes of the axes of continuous spaces."""
        self.rows: dict[str, list[Row]] = {name: [] for name in schema.components}
        self.grids: dict[str, Grid] = {}
        self._serials = itertools.count()
        self._known: dict[tuple[str, str], tuple[list[Row], int, dict[int, list[Row]]]] = {}
        for name, component in schema.components.items():
            if component.shape:
                grid = Grid((shapes or {}).get(name, component.shape), component.wrap)
                self.grids[name] = grid
                cells = itertools.takewhile(grid.has, itertools.count(FIRST_CELL))
                self.rows[name] = [self.new_row(name, 0, cell, {}) for cell in cells]

    def new_row(self, name: str, owner: int, id_: int, cells: Cells) -> Row:
        """Return a new row that lies nowhere yet; fields that are not set have their defaults."""
        component = self.schema.components[name]
        defaults = {field: f.initial for field, f in component.fields.items()}
        is_active = component.partition != "inactive"
        return Row(name, owner, id_, {**defaults, **cells}, next(self._serials), is_active)

    def add(self, name: str, owner: int = 0, id: int = 0, **fields: Any) -> Row:
        """Append a row, with fields as Python has them."""
        row = self.new_row(name, owner, id, {})
        for field, data in fields.items():
            old = row.cells[field]
            row.cells[field] = value(old.type, data, old.shape)
        self.rows[name].append(row)
        return row

    def column(self, name: str, field: str) -> list[Any]:
        """Return a field of all rows, in order, as Python's numbers and lists."""
        return [np.asarray(row.cells[field].data).tolist() for row in self.rows[name]]

    def field(self, name: str, field: str) -> Field:
        """Return a field of a component, or a setting."""
        if name == SETTINGS:
            return self.schema.settings[field]
        return self.schema.components[name].fields[field]

    def lives(self, row: Row) -> bool:
        """Return True if a row is there, and its entity alive."""
        return not row.is_dead and (not row.owner or row.owner in self.entities)

    def reference(self, name: str, row: Row | None) -> Value:
        """Return the handle that leads to a row: its entity, or its id without owner; null for
        None."""
        type_ = self.schema.handle_type(name)
        return value(type_, (row.owner if type_ == "entity" else row.id) if row else 0)

    def first(self, name: str, entity: int) -> Row | None:
        """Return the row of a living entity, of several the oldest."""
        rows = filter(self.lives, self._with(name, "owner", entity))
        return min(rows, key=lambda row: row.serial, default=None) if entity else None

    def with_id(self, name: str, id_: int) -> Row | None:
        """Return the living row of an id."""
        return next(filter(self.lives, self._with(name, "id", id_)), None) if id_ else None

    def _with(self, name: str, key: str, number: int) -> Sequence[Row]:
        """Return rows by their owner or id; they are sorted anew when there are other rows."""
        rows = self.rows[name]
        known, count, by_number = self._known.get((name, key), (None, 0, {}))
        if known is not rows or count != len(rows):
            by_number = {}
            for row in rows:
                by_number.setdefault(getattr(row, key), []).append(row)
            self._known[name, key] = rows, len(rows), by_number
        return by_number.get(number, ())

    def actors(self, over: str) -> list[Actor]:
        """Return the actors of a component, group or query in order; of a component all rows."""
        if over == SETTINGS:
            return [{over: self.settings_row}]
        if over in self.rows:
            return [{over: row} for row in self.rows[over]]
        names, queries = self.schema.members_of(over), self.schema.queries
        owned = [{row.owner: row for row in self.rows[name]} for name in names]
        if over not in queries:
            together = [e for e in owned[0] if all(e in rows for rows in owned)]
            return [dict(zip(names, (rows[e] for rows in owned), strict=True)) for e in together]
        everybody = owned[0] if owned else sorted(self.entities)
        order = [e for e in self.orders.get(over, everybody) if self._matches(over, e)]
        actors = [{name: self.first(name, entity) for name in names} for entity in order]
        return [{name: row for name, row in actor.items() if row} for actor in actors]

    def _matches(self, query: str, entity: int) -> bool:
        def has(name: str) -> bool:
            return self.first(name, entity) is not None

        keys = self.schema.queries[query]
        is_any = "any" not in keys or any(map(has, keys["any"]))
        return (
            is_any
            and all(map(has, keys.get("all", [])))
            and not any(map(has, keys.get("none", ())))
        )

    def seed(self, seed: int) -> None:
        """Seed the world and all its managers."""
        self.seeds = dict.fromkeys(("", *self.rows), seed)
        self.calls.clear()

    def spawned(self, bundles: Sequence[str]) -> Spawn:
        """Return the components of several bundles or components, and those that they require."""
        spawn: Spawn = {}
        for bundle in bundles:
            for name, cells in self.bundle(bundle).items():
                spawn[name] = spawn.get(name, {}) | cells
        names = [*spawn]
        for name in names:
            names += [n for n in self.schema.components[name].requires if n not in names]
        return {name: spawn.get(name, {}) for name in names}

    def bundle(self, name: str) -> Spawn:
        """Return the components of a bundle; its own values win over those of inner bundles."""
        members = self.schema.bundles.get(name)
        if members is None:
            return {name: {}}
        spawn: Spawn = {}
        for member in members:
            for component, cells in self.bundle(member).items():
                spawn[component] = spawn.get(component, {}) | cells
        for member, fields in members.items():
            for field, data in fields.items():
                f = self.field(member, field)
                cells = data if f.type in TIMES else number(data)
                spawn[member] = spawn[member] | {field: value(f.type, cells, f.shape)}
        return spawn

    def remove(self, rows: Iterable[Row]) -> None:
        """Remove rows: the last ones of each part move into the holes and keep their order."""
        removed = set(rows)
        for name in {row.component for row in removed}:
            old, bound = self.rows[name], sum(row.is_active for row in self.rows[name])
            left = [row for row in old if row not in removed]
            active = range(sum(row.is_active for row in left))
            if not self.schema.components[name].is_direct:
                first = _filled(old, range(bound), active, removed)
                others = range(len(active), len(left))
                left = first + _filled(old, range(bound, len(old)), others, removed)
            self.rows[name] = left

    def append(self, name: str, new: list[Row]) -> None:
        """Append rows; active ones take the places of inactive ones, which go behind."""
        active = [row for row in self.rows[name] if row.is_active]
        others = [row for row in self.rows[name] if not row.is_active]
        if others and all(row.is_active for row in new):
            k = len(new) % len(others)
            self.rows[name] = active + new + others[k:] + others[:k]
        else:
            self.rows[name] = active + others + new
        if self.schema.components[name].is_direct:
            self.rows[name].sort(key=lambda row: row.owner % 2**32)


def _filled(old: list[Row], old_part: range, new_part: range, removed: set[Row]) -> list[Row]:
    """Return a part of the rows at its new places: rows that need not move stay, others fill the
    holes."""
    movers = iter([old[k] for k in old_part if k not in new_part and old[k] not in removed])
    return [old[k] if k in old_part and old[k] not in removed else next(movers) for k in new_part]
