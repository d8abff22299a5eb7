"""A naive world: entities, rows in order, grids, seeds and calls, as lists and dicts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.reference.grids import FIRST_CELL, Grid
from tests.reference.schema import Kernel, read, written
from tests.reference.values import Value, default, value

Newborn = Callable[[str, Sequence[int]], Sequence[int]]
"""Says the ids of new rows of a component, whose owners these are (0: nobody), or, for "", the
handles of as many new entities."""


@dataclass(eq=False)
class Row:
    """A row of a component; who it is never changes, where it lies does."""

    component: str
    owner: int
    id: int
    cells: dict[str, Value]
    serial: int
    is_active: bool
    is_dead: bool = False
    parent: Row | None = None


Actor = dict[str, Row]
"""What acts or is met as one: a row, or those of an entity in a group or query, by component."""
Birth = dict[str, dict[str, Value]]
"""The fields of a newborn, by component."""


class World:
    """All managers. Handles and ids are the caller's; those of newborn come from `newborn`."""

    def __init__(self, text: str, newborn: Newborn | None = None, **shapes: Any) -> None:
        self.schema = read(text)
        handles = itertools.count(FIRST_CELL)
        self.newborn = newborn or (
            lambda name, owners: list(itertools.islice(handles, len(owners)))
        )
        self.entities: set[int] = set()
        self.orders: dict[str, list[int]] = {}  # entities of queries, if not in the first's order
        self.seeds: dict[str, int] = {}  # by component, "" the world's
        self.calls: dict[str, int] = {}
        self.tick = 0
        settings = self.schema.settings.items()
        self.settings = {name: default(s.type, s.shape, s.default) for name, s in settings}
        self.sizes = {name: one.sizes for name, one in self.schema.components.items()}
        self.rows: dict[str, list[Row]] = {name: [] for name in self.schema.components}
        self.grids: dict[str, Grid] = {}
        self.serials = itertools.count()
        self._known: dict[tuple[str, str], tuple[list[Row], int, dict[int, list[Row]]]] = {}
        for name, component in self.schema.components.items():
            if component.shape:
                self.grids[name] = grid = Grid(shapes.get(name, component.shape), component.wrap)
                cells = itertools.takewhile(grid.has, itertools.count(FIRST_CELL))
                self.rows[name] = [self.made(name, 0, cell, {}) for cell in cells]

    # What there is

    def made(self, name: str, owner: int, id_: int, cells: dict[str, Value]) -> Row:
        """A new row that lies nowhere yet; fields that are not given have their defaults."""
        component = self.schema.components[name]
        fields = component.fields
        whole = {one: cells[one] if one in cells else self.default(name, one) for one in fields}
        is_active = component.keys.get("partition") != {"start": "inactive"}
        return Row(name, owner, id_, whole, next(self.serials), is_active)

    def add(self, name: str, owner: int = 0, id: int = 0, **fields: Any) -> Row:
        """A row at the end, of what Python gives for fields."""
        row = self.made(name, owner, id, {})
        for field, data in fields.items():
            old = row.cells[field]
            row.cells[field] = value(old.type, data, old.shape)
        self.rows[name].append(row)
        return row

    def column(self, name: str, field: str) -> list[Any]:
        """A field of all rows, in order."""
        return [np.asarray(row.cells[field].data).tolist() for row in self.rows[name]]

    def is_owned(self, name: str) -> bool:
        component = self.schema.components[name]
        return not component.shape and not component.says("owner", "none")

    def has_ids(self, name: str) -> bool:
        return not self.is_owned(name) or self.schema.components[name].says("ids", "true")

    def default(self, name: str, field: str) -> Value:
        one = self.schema.components[name].fields[field]
        return default(one.type, one.shape, one.default)

    def lives(self, row: Row) -> bool:
        return not row.is_dead and (not row.owner or row.owner in self.entities)

    def reference(self, name: str, row: Row | None) -> Value:
        """What names a row of a component: its entity, without owner its id; null for none."""
        if self.is_owned(name):
            return value("entity", row.owner if row else 0)
        return value(f"id<{name}>", row.id if row else 0)

    def first(self, name: str, entity: int) -> Row | None:
        """The row of a living entity, of several the oldest."""
        found = filter(self.lives, self._with(name, "owner", entity))
        return min(found, key=lambda row: row.serial, default=None) if entity else None

    def with_id(self, name: str, id_: int) -> Row | None:
        return next(filter(self.lives, self._with(name, "id", id_)), None) if id_ else None

    def _with(self, name: str, key: str, number: int) -> Sequence[Row]:
        """Rows by their owner or id: sorted anew when there are other ones."""
        rows = self.rows[name]
        known, count, found = self._known.get((name, key), (None, 0, {}))
        if known is not rows or count != len(rows):
            found = {}
            for row in rows:
                found.setdefault(getattr(row, key), []).append(row)
            self._known[name, key] = rows, len(rows), found
        return found.get(number, ())

    def names(self, over: str) -> list[str]:
        """The components that what is called so has rows of."""
        if over in self.rows:
            return [over]
        group = self.schema.world.get("groups", {}).get(over)
        return list(group or self.schema.world["queries"][over]["all"])

    def actors(self, over: str) -> list[Actor]:
        """What a component, group or query has, in order; of a component all rows."""
        if over in self.rows:
            return [{over: row} for row in self.rows[over]]
        names, queries = self.names(over), self.schema.world.get("queries", {})
        owned = [{row.owner: row for row in self.rows[name]} for name in names]
        if over not in queries:
            together = [one for one in owned[0] if all(one in rows for rows in owned)]
            return [dict(zip(names, (rows[e] for rows in owned), strict=True)) for e in together]
        order = [e for e in self.orders.get(over, owned[0]) if self._matches(queries[over], e)]
        found = [{name: self.first(name, entity) for name in names} for entity in order]
        return [{name: row for name, row in one.items() if row} for one in found]

    def _matches(self, query: dict[str, list[str]], entity: int) -> bool:
        has = {name for name in self.rows if self.first(name, entity)}
        is_any = "any" not in query or not has.isdisjoint(query["any"])
        return has.issuperset(query["all"]) and is_any and has.isdisjoint(query.get("none", ()))

    def kernel(self, name: str) -> Kernel:
        home, _, own = name.rpartition(".")
        return (self.schema.components[home] if home else self.schema).kernels[own]

    # What happens

    def seed(self, seed: int) -> None:
        """Seed the world and all its managers."""
        self.seeds = dict.fromkeys(("", *self.rows), seed)
        self.calls.clear()

    def bundle(self, name: str) -> Birth:
        """What a bundle gives: inner ones' values, those that it says itself over them."""
        listed = self.schema.world.get("bundles", {})
        if name not in listed:
            return {name: {}}
        found: Birth = {}
        given = listed[name]
        given = given if isinstance(given, dict) else {one: {} for one in given}
        for one in given:
            for inner, cells in self.bundle(one).items():
                found[inner] = found.get(inner, {}) | cells
        for one, texts in given.items():
            for field, text in texts.items():
                old = self.default(one, field)
                data = written(text, self.schema.enums.get(old.type, {}))
                found[one] = found[one] | {field: value(old.type, data, old.shape)}
        return found

    def bury(self, gone: Iterable[Row]) -> None:
        """Take rows away: the last ones of each part move into the holes and keep their order."""
        dead = set(gone)
        for name in {row.component for row in dead}:
            rows, bound = self.rows[name], sum(row.is_active for row in self.rows[name])
            left = [row for row in rows if row not in dead]
            active = range(sum(row.is_active for row in left))
            if not self.schema.components[name].says("lookup", "direct"):
                first = _moved(rows, range(bound), active, dead)
                others = range(len(active), len(left))
                left = first + _moved(rows, range(bound, len(rows)), others, dead)
            self.rows[name] = left

    def append(self, name: str, new: list[Row]) -> None:
        """Rows at the end; active ones take the places of inactive ones, which go behind."""
        active = [row for row in self.rows[name] if row.is_active]
        others = [row for row in self.rows[name] if not row.is_active]
        if others and all(row.is_active for row in new):
            k = len(new) % len(others)
            self.rows[name] = active + new + others[k:] + others[:k]
        else:
            self.rows[name] = active + others + new
        if self.schema.components[name].says("lookup", "direct"):
            self.rows[name].sort(key=lambda row: row.owner % 2**32)


def _moved(rows: list[Row], old: range, new: range, gone: set[Row]) -> list[Row]:
    """A part of the rows in its new place: who need not move stays, others fill the holes."""
    movers = iter([rows[k] for k in old if k not in new and rows[k] not in gone])
    return [rows[k] if k in old and rows[k] not in gone else next(movers) for k in new]
