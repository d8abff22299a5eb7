"""Columns for the map: places, colours, sizes and directions of rows, and the cells of a grid.

A tick packs them whole: the server's thread only sends them, or it would take the interpreter from
the world's thread many times for each picture.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.kernels.grids.grid_layout import HEXAGONAL
from ecsgen_runtime.values.field_tables import FieldInfo
from numpy.typing import NDArray

from ecsgen.inspector.component_readers import (
    OWNER,
    ComponentReader,
    InspectedWorld,
    ManagerReader,
    Rows,
    positions,
)
from ecsgen.inspector.entity_finder import Conditions
from ecsgen.inspector.json_values import Json
from ecsgen.inspector.tick_queue import RequestError, make_not_found

ROLES: Final = ("color", "size", "direction")
"""Roles that fields are shown in, in the order of their columns."""
LINKS: Final = "links"
"""Role of a network whose links are lines between points."""
MOST_LINKS: Final = 10_000
"""Maximum of links on a map; of more, every second, every third … is shown."""

Cells = NDArray[Any]


class Place(NamedTuple):
    """How to find the places of a component's rows."""

    reader: ManagerReader
    field: str | None
    """Field of positions or of cells' ids; None if rows are themselves cells of a grid."""
    grid: ManagerReader | None = None
    """The grid that the rows stand on."""

    @property
    def n(self) -> int:
        """Number of rows that can be seen."""
        if self.field is None or self.grid is not None:
            return self.reader.n
        return int(getattr(self.reader.manager.data, self.reader.space.rows))

    @property
    def wrap(self) -> list[float]:
        """Size of each axis that wraps, 0 where it is open."""
        if self.grid is not None or self.field is None:
            manager = (self.grid or self.reader).manager
            axes = zip(manager.grid.shape, manager.wrap, strict=True)
            return [float(size) if wraps else 0.0 for size, wraps in axes]
        return [float(size) for size in self.reader.manager.wrap]


class ShownField(NamedTuple):
    """A field in a role."""

    role: str
    name: str
    """Of another component of a query with that one's name before it: `robot.state`."""
    reader: ComponentReader
    field: FieldInfo


class Layer(NamedTuple):
    """Columns as they are drawn."""

    head: dict[str, Json]
    columns: dict[str, Cells]
    """Places, roles, links and owners in the order of an answer, each in one piece: one axis after
    the other."""


def find_places(readers: Mapping[str, ComponentReader]) -> dict[str, Place]:
    """Return how to find places, by the names of components that have some; spaces come first."""
    managed = [reader for reader in readers.values() if isinstance(reader, ManagerReader)]
    grids = {reader.title: reader for reader in managed if reader.grid is not None}
    spaces: dict[str, Place] = {}
    occupants: dict[str, Place] = {}
    for reader in managed:
        field = getattr(reader.manager.data, "CELL_FIELD", None)
        if reader.space is not None:
            spaces[reader.name] = Place(reader, reader.space.field)
        elif field is not None:
            grid = grids[reader.field[field].type.removeprefix("id<").removesuffix(">")]
            occupants[reader.name] = Place(reader, field, grid)
    return spaces | occupants | {grid.name: Place(grid, None) for grid in grids.values()}


class Points:
    """The maps of a world."""

    def __init__(
        self,
        readers: Mapping[str, ComponentReader],
        queries: Mapping[str, Conditions],
        world: InspectedWorld,
    ) -> None:
        self._world, self._readers = world, readers
        self._places = find_places(readers)
        managed = [reader for reader in readers.values() if isinstance(reader, ManagerReader)]
        self._networks = {r.name: r for r in managed if hasattr(r.manager.data, "ENDS")}
        self._queries = {
            name: (next(p for p in conditions.all if p in self._places), conditions)
            for name, conditions in queries.items()
            if any(part in self._places for part in conditions.all)
        }

    def maps_json(self) -> Json:
        """Return what can be shown: name, component, axes and the grid behind of each."""
        components = {name: name for name in self._places}
        components |= {name: component for name, (component, _) in self._queries.items()}
        return [self._map_json(name, component) for name, component in components.items()]

    def _map_json(self, name: str, component: str) -> Json:
        source, others = self._places[component], self._others(name)
        shape = (source.grid or source.reader).grid
        grid_color = None if source.grid is None else first_color(source.grid, {}, is_grid=True)
        return {
            "name": name,
            "component": component,
            "others": [*others],
            "axes": len(source.wrap),
            "layers": 0 if shape is None else [*shape, 1, 1][2],
            "is_grid": source.field is None,
            "grid": None if source.grid is None else source.grid.name,
            "networks": [*self._networks] if self._has_links(source) else [],
            "color": first_color(source.reader, others, is_grid=source.field is None),
            "grid_color": grid_color,
        }

    def _has_links(self, source: Place) -> bool:
        return source.reader.owner == "entity" and source.field is not None

    def _others(self, name: str) -> dict[str, ComponentReader]:
        """Return the other components that all entities of a query have, by their names."""
        placed, conditions = self._queries.get(name, (name, Conditions()))
        return {each: self._readers[each] for each in conditions.all if each != placed}

    def fields_by_name(self, name: str) -> dict[str, tuple[ComponentReader, FieldInfo]]:
        """Return what a map can show: fields of the component that has places and, as
        `component.field`, of the others of a query."""
        placed = self._queries.get(name, (name, None))[0]
        readers: dict[str, ComponentReader] = {"": self._places[placed].reader}
        readers |= {f"{other}.": reader for other, reader in self._others(name).items()}
        return {
            f"{prefix}{field.name}": (reader, field)
            for prefix, reader in readers.items()
            for field in reader.fields
        }

    def layer(
        self,
        name: str,
        wanted: Mapping[str, str],
        head: Mapping[str, Json],
        *,
        entities: NDArray[np.uint64] | None = None,
        has_ids: bool = False,
        layer: int | None = None,
    ) -> Layer:
        """Return the columns of a component, query or grid; called on the world's thread.

        `wanted`: names of fields by role, and of a network as `links`. `head`: what the layer's
        head says besides. `entities`: those of a query, if they are known. `has_ids`: whether
        entities or ids come last. `layer`: of a grid with three axes, from below; None for all.
        RequestError 404 for unknown names, 400 for fields that cannot be shown so.
        """
        source, conditions, shown = self._shown(name, wanted)
        network = self._network(source, wanted)
        if conditions is not None and entities is None:
            entities = getattr(self._world, name).rows()[0]
        return make_layer(source, shown, network, entities, {"name": name, **head}, has_ids, layer)

    def check(self, name: str, wanted: Mapping[str, str]) -> None:
        """Raise RequestError for what `layer` could not show."""
        self._network(self._shown(name, wanted)[0], wanted)

    def _network(self, source: Place, wanted: Mapping[str, str]) -> ManagerReader | None:
        name = wanted.get(LINKS)
        if name is None:
            return None
        if not self._has_links(source) or name not in self._networks:
            raise make_not_found("network", name)
        return self._networks[name]

    def _shown(
        self, name: str, wanted: Mapping[str, str]
    ) -> tuple[Place, Conditions | None, list[ShownField]]:
        component, conditions = self._queries.get(name, (name, None))
        if component not in self._places:
            raise make_not_found("map of", name)
        roles = [role for role in ROLES if role in wanted]
        return self._places[component], conditions, [self._field(name, r, wanted[r]) for r in roles]

    def _field(self, map_name: str, role: str, name: str) -> ShownField:
        fields = self.fields_by_name(map_name)
        if name not in fields:
            raise make_not_found(f"field of {map_name}", name)
        reader, field = fields[name]
        _check_role(role, name, field)
        return ShownField(role, name, reader, field)


def first_color(
    reader: ComponentReader, others: Mapping[str, ComponentReader], *, is_grid: bool
) -> str | None:
    """Return the field that colours a map without a choice: the first enum or bool, if any, also of
    the `others` of a query. Cells of a grid without one show their first number."""
    single = [f for f in reader.fields if not f.shape and f.dtype and f.dtype.kind in "biuf"]
    # references to rows are numbers, and tell nothing
    telling = [f.name for f in single if f.enum is not None or f.type == "bool"]
    numbers = [f.name for f in single if not f.type.startswith(("entity", "id<")) and is_grid]
    known = ((name, first_color(other, {}, is_grid=False)) for name, other in others.items())
    of_others = [f"{name}.{field}" for name, field in known if field is not None]
    return next(iter(telling + of_others + numbers), None)


def _check_role(role: str, name: str, field: FieldInfo) -> None:
    """Refuse a field in a role; a direction has two or three numbers, others have one."""
    is_number = field.dtype is not None and field.dtype.kind in "biuf"
    is_vector = len(field.shape) == 1 and 2 <= field.shape[0] <= 3
    if not is_number or (field.shape if role != "direction" else not is_vector):
        kind = "a vector of 2 or 3 numbers" if role == "direction" else "one number"
        raise RequestError(400, f"{role}: wanted a field of {kind}, not {name}: {field.type}")


@np.errstate(over="ignore")  # what is too large for f32 is infinite, and drawn nowhere
def make_layer(
    source: Place,
    shown: list[ShownField],
    network: ManagerReader | None,
    entities: NDArray[np.uint64] | None,
    head: dict[str, Json],
    has_ids: bool,
    layer: int | None,
) -> Layer:
    """Return the columns as they are drawn: without holes, little-endian, enums by place."""
    reader = source.reader
    head |= _shape_of(source, layer)
    is_cut = len(head["wrap"]) < len(source.wrap)
    rows: Rows = slice(0, source.n)
    if source.field is None and is_cut:
        rows = slice(layer, source.n, reader.grid[2])  # type: ignore[index]  # the rows are cells
    if entities is not None:
        numbers = reader.find(entities)
        rows = numbers.compress((numbers >= 0) & (numbers < source.n))
    described: list[Json] = []
    columns: dict[str, Cells] = {}
    is_used: Any = slice(None)
    owners = None
    if source.field is not None and (has_ids or reader.has_holes):
        owners = reader.owners(rows)
        is_used = owners != 0 if reader.has_holes else is_used
    places = _places(source, rows)
    if places is None:
        head["n"] = int(np.prod(head["grid"]))
    else:
        if is_cut:
            is_there = np.floor(places[:, 2]) == layer
            is_used = is_there & is_used if reader.has_holes else is_there
        columns["place"] = _in_one_piece(places[is_used, : len(head["wrap"])])
        described.append(_column("place", columns["place"].T, "f32"))
        head["n"] = columns["place"].shape[1]
    head["bounds"] = _bounds(columns.get("place"), head)
    for role, name, holder, field in shown:
        its_rows = rows if holder is reader else holder.find(reader.owners(rows))
        cells = holder.cells(field.name, its_rows)[is_used]
        if role == "color" and field.enum is not None:
            head["members"] = list(field.enum.__members__)
            cells = _places_of_members(cells, field)
        elif role == "color" and cells.dtype.kind == "b":
            head["members"] = ["false", "true"]
        columns[role] = _in_one_piece(cells)
        if role != "direction" and not (role == "color" and "members" in head):
            head[f"{role}_range"] = _range(columns[role])
        described.append({**_column(name, cells, "f32"), "role": role})
    if places is not None and network is not None:
        numbers, head["links_of"] = rows_of_ends(network, reader)
        ends = lines_of(places_of_links(numbers, places, rows), source.wrap)
        if is_cut:
            are_there = (np.floor(ends[2]) == layer).reshape(-1, 2).all(1)
            ends = _in_one_piece(ends[:2, are_there.repeat(2)].T)
        columns[LINKS] = ends
        described.append({**_column(network.name, ends.T, "f32"), "role": LINKS, "n": len(ends.T)})
    if has_ids and owners is not None:
        columns["owner"] = owners[is_used].astype("<u8", copy=False)
        described.append(_column(head["owner"], columns["owner"], "u64"))
    head["columns"] = described
    return Layer(head, columns)


def _shape_of(source: Place, layer: int | None) -> dict[str, Json]:
    """Return what a head says of the axes; of a layer they are two."""
    shape = (source.grid or source.reader).grid
    depth = [*(shape or ()), 1, 1, 1][2]
    shown = 2 if layer is not None and depth > 1 else None
    if layer is not None and layer >= depth:
        raise RequestError(400, f"layer: there is no layer {layer} of {depth}")
    grid: dict[str, Json] = {} if shape is None else {"grid": shape[:shown]}
    if getattr((source.grid or source.reader).manager, "HOOD", "") == HEXAGONAL:
        grid["hood"] = HEXAGONAL
    return {"wrap": source.wrap[:shown], "owner": source.reader.owner, **grid}


def _places(source: Place, rows: Rows) -> Cells | None:
    """Return the place of each row, None for cells of a grid."""
    if source.field is None:
        return None
    cells = source.reader.cells(source.field, rows)
    if source.grid is not None:
        cells = source.grid.manager.grid.coords_many(cells) + 0.5
    return cells.reshape(-1, len(source.wrap))


def _in_one_piece(cells: Cells) -> Cells:
    """Return cells as f32, one axis after the other."""
    return np.ascontiguousarray(cells.T, "<f4")


def pack(layer: Layer) -> list[memoryview]:
    """Return the length of the head with the head as JSON, and the columns, all little-endian."""
    head, columns = layer
    text = json.dumps(head).encode()
    text += b" " * (-(len(text) + 4) % 8)  # columns start at a multiple of eight bytes
    parts = [cells.reshape(-1).view(np.uint8).data for cells in columns.values()]
    return [memoryview(len(text).to_bytes(4, "little") + text), *parts]


def _column(name: str, cells: Cells, kind: str) -> Json:
    return {"name": name, "type": kind, "shape": list(cells.shape[1:])}


def _places_of_members(cells: Cells, field: FieldInfo) -> Cells:
    """Return the place of each cell's member in the enum, past the last where there is none."""
    if cells.dtype.itemsize <= 2 and len(cells) > 1 << 16:  # more than there are numbers
        every = np.arange(1 << 8 * cells.dtype.itemsize)
        return _places_of_members(every, field).take(cells)
    members = field.enum.__members__.values()  # type: ignore[union-attr]  # the caller asks
    return positions(cells, np.array([*map(int, members)]))


def _range(cells: Cells) -> Json:
    """Return the least and the largest finite value."""
    if not cells.size:
        return [0.0, 1.0]
    low, high = float(cells.min()), float(cells.max())
    if math.isfinite(low) and math.isfinite(high):
        return [low, high]
    return _range(cells[np.isfinite(cells)])


def _bounds(places: Cells | None, head: Mapping[str, Json]) -> Json:
    """Return the ends of each axis: of a grid or of what wraps, else of the finite places."""
    if places is None or "grid" in head:
        return [[0, size] for size in head["grid"]]
    return [
        [0, size] if size else _range(line) for line, size in zip(places, head["wrap"], strict=True)
    ]


def rows_of_ends(network: ManagerReader, component: ManagerReader) -> tuple[NDArray[np.intp], int]:
    """Return the rows of a component at both ends of at most MOST_LINKS links, shape (2, k). NIL
    where there is none; and how many links there are. Called in a tick."""
    data = network.manager.data
    n = int(getattr(data, "n_active", data.n))
    rows: Rows = slice(0, n, max(1, -(-n // MOST_LINKS)))
    columns = (OWNER if name == "entity" else name for name in data.ENDS)
    ends = np.concatenate([network.column(name, rows) for name in columns])
    numbers = component.find(ends)
    numbers[~network.manager.end_entities.alive_many(ends)] = NIL
    return numbers.reshape(2, -1), n


def places_of_links(numbers: NDArray[np.intp], places: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Return the places of both ends of links between rows with places, shape (k, 2, axes)."""
    if not isinstance(rows, slice):
        numbers = positions(numbers, rows)
    is_link = (numbers < len(places)).all(0) & (numbers[0] != numbers[1])
    return places[numbers[:, is_link].T]


def lines_of(places: NDArray[Any], wrap: list[float]) -> NDArray[np.float32]:
    """Return the ends of lines between places of the shape (k, 2, axes), one axis after the other.
    A link that is shorter across a border becomes two lines, one from each end to the border."""
    sizes = np.array(wrap)
    first, second = places[:, 0].astype(np.float64), places[:, 1].astype(np.float64)
    way = second - first
    with np.errstate(invalid="ignore", divide="ignore"):
        wraps = (sizes > 0) & (np.abs(way) > sizes / 2)
        way -= np.where(wraps, np.copysign(sizes, way), 0.0)
        # where, from 0 to 1, the way meets the border of each axis that it crosses
        part = (np.where(way > 0, sizes, 0.0) - first) / way
    crosses: NDArray[np.bool_] = np.any(wraps, axis=1)
    stop = np.where(wraps, part, 1.0).min(1, initial=1.0)[:, None]
    start = np.where(wraps, part, 0.0).max(1, initial=0.0)[:, None]
    lines = np.stack([first, np.where(crosses[:, None], first + stop * way, second)], 1)
    beyond = np.stack([second - (1 - start) * way, second], 1)[crosses]
    ends = np.concatenate([lines, beyond]).reshape(-1, len(wrap))
    return ends.astype("<f4").T
