"""The judge's world that is like the product's, and whether they are the same."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.reference.grids import FIRST_CELL
from tests.reference.schema import Field, Kernel, read
from tests.reference.values import Value, dtype_of, value
from tests.reference.world import Row, World
from tests.support.kernel_package import differing

NIL = 0xFFFF_FFFF
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 3e38, 1e-45, 2.5, -0.5, 1e19, 255.0)


def manager(world: Any, name: str) -> Any:
    return getattr(world, re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower())


def rows_of(part: Any) -> list[int]:
    """The rows that are there; `direct` managers have holes."""
    present = getattr(part.data, "present", None)
    return [*range(part.data.n)] if present is None else [int(k) for k in np.flatnonzero(present)]


def column(part: Any, field: str, one: Field) -> Any:
    """A copy of a field of all rows that are there."""
    rows = rows_of(part)
    if hasattr(part.data, field):
        found = getattr(part.data, field)[rows]
    else:  # in several columns
        found = [getattr(part, field)(k) for k in rows]
    return np.array(found, dtype_of(one.type)).reshape(len(rows), *one.shape)


def filled(module: Any, text: str, seed: int, count: int = 24) -> Any:
    """A world in which some entities are dead, and references lead to all kinds of rows."""
    random, schema = np.random.default_rng(seed), read(text)
    world = getattr(module, schema.world.get("world", "World"))()
    entities = world.entities.create_many(count)
    for name, component in schema.components.items():
        part = manager(world, name)
        if component.says("owner", "none"):
            part.create_many(count)
            continue
        some = random.permutation(entities[random.random(count) < 0.8])
        part.create_many(some)
        if component.says("instances", "many"):
            part.create_many(some[: count // 4])
        if isinstance(component.keys.get("partition"), dict):
            part.activate_many(random.random(len(part)) < 0.5)
            part.deactivate_many(random.random(len(part)) < 0.3)
    world.entities.destroy_many(entities[random.random(count) < 0.2])
    for name, component in schema.components.items():
        part = manager(world, name)
        for k in rows_of(part):
            for field, one in component.fields.items():
                is_place = field == component.space
                cells = [
                    cell_number(one, world, entities, random, is_place) for _ in range(size(one))
                ]
                shaped = np.reshape(np.array(cells, object), one.shape)
                getattr(part, f"set_{field}")(k, shaped.tolist() if one.shape else cells[0])
    return world


def size(one: Field) -> int:
    return int(np.prod(one.shape))


def cell_number(one: Field, world: Any, entities: Any, random: Any, is_place: bool) -> Any:
    """A random cell of a field."""
    if one.type == "entity":
        return int(random.choice([*entities, 0, 7, FIRST_CELL]))
    if one.type.startswith("id<"):
        part = manager(world, one.type[3:-1])
        ids = [int(part.id_of(k)) for k in rows_of(part)]
        return int(random.choice(np.array([*ids, 0, 2**64 - 1], np.uint64)))
    if is_place:
        return float(np.nan if random.random() < 0.02 else random.integers(-4, 24) / 2)
    if one.type == "bool":
        return bool(random.random() < 0.5)
    if one.type[0] == "f":
        wild = np.float32(random.choice(SPECIAL))
        return float(wild if random.random() < 0.2 else np.float32(random.normal() * 3))
    if one.type[1:].isdigit() and random.random() < 0.3:
        limits = np.iinfo(value(one.type, 0).data.dtype)
        return int(random.integers(limits.min, limits.max, 1, limits.dtype, endpoint=True)[0])
    return int(random.integers(0, 3))


class Cells(dict[str, Value]):
    """A row of copied columns, each cell made when it is asked for."""

    def __init__(self, columns: dict[str, tuple[str, Any]], place: int) -> None:
        self.columns, self.place = columns, place

    def __contains__(self, field: object) -> bool:
        return field in self.columns

    def __missing__(self, field: str) -> Value:
        type_, column = self.columns[field]
        self[field] = found = Value(type_, column[self.place])
        return found

    def copy(self) -> Cells:
        found = Cells(self.columns, self.place)
        found.update(self)
        return found


def mirrored(world: Any, text: str) -> World:
    """The judge's world that is like the product's."""
    grids = [name for name, component in read(text).components.items() if component.shape]
    judge = World(text, **{name: manager(world, name).grid.shape for name in grids})
    for name in grids:
        judge.grids[name].wrap, judge.rows[name] = manager(world, name).wrap, []
    judge.entities = {int(one) for one in world.entities}
    judge.tick = getattr(world, "tick", 0)
    for name, component in judge.schema.components.items():
        part, made = manager(world, name), dict[int, Row]()
        fields = component.fields.items()
        columns = {field: (one.type, column(part, field, one)) for field, one in fields}
        for place, k in enumerate(rows_of(part)):
            owner = int(part.entity(k)) if judge.is_owned(name) else 0
            id_ = int(part.id_of(k)) if judge.has_ids(name) else 0
            made[k] = row = Row(name, owner, id_, Cells(columns, place), next(judge.serials), True)
            judge.rows[name].append(row)
            row.is_active = not hasattr(part, "is_active") or part.is_active(k)
        for k, row in made.items():
            if hasattr(part, "previous"):
                order = list(part.instances(row.owner)) if row.owner in judge.entities else [k]
                row.serial = order.index(k)
            if hasattr(part, "parent") and (parent := part.parent(k)) != NIL:
                row.parent = made[parent]
        judge.sizes[name] = getattr(part, "wrap", ())
    for query in judge.schema.world.get("queries", {}):
        judge.orders[query] = [int(one) for one in getattr(world, query).rows().entity]
    return judge


def assert_same(
    world: Any, judge: World, kernel: Kernel, is_strict: bool = False, near: float = 1e-15
) -> None:
    """All bytes, but of NaN, of `normal`, and of the sign of a zero from min and max, if open."""
    text = str(kernel.keys)
    is_open = not is_strict and any(f"{how}(" in text for how in ("min", "max", "clip"))
    for name, component in judge.schema.components.items():
        part = manager(world, name)
        for field, one in component.fields.items():
            found = column(part, field, one)
            wanted = stacked(judge, name, field)
            if "normal(" in text:
                np.testing.assert_allclose(found, wanted, 1e-12, near)
                continue
            wrong = differing(found, wanted) & ~(is_open & (found == wanted))
            where = np.argwhere(wrong)[:1].tolist()
            assert (
                not where
            ), f"{name}.{field} at {where}: {found[wrong][0]}, not {wanted[wrong][0]}, after {text}"


def stacked(judge: World, name: str, field: str) -> Any:
    """A field of all rows of a judge's component."""
    none = judge.default(name, field)
    cells = [_data(row.cells, field) for row in judge.rows[name]]
    assert all(cell.dtype == none.data.dtype for cell in cells)
    return np.array(cells, none.data.dtype).reshape(len(cells), *none.shape)


def _data(cells: dict[str, Value], field: str) -> Any:
    if isinstance(cells, Cells) and field not in cells.keys():  # noqa: SIM118
        return cells.columns[field][1][cells.place]  # as it was
    return cells[field].data
