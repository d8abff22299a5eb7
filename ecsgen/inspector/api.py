"""Answers for each path of the API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.world.settings import SettingsBase, SettingsWorld
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response

from ecsgen.inspector.column_cache import ColumnCache
from ecsgen.inspector.component_readers import (
    ChunkReader,
    ComponentReader,
    InspectedWorld,
    ManagerReader,
    make_readers,
)
from ecsgen.inspector.entity_finder import Conditions, EntityFinder
from ecsgen.inspector.histograms import MOST_BINS, histogram, histogram_field, sample
from ecsgen.inspector.json_values import Json, given_fields, json_column, json_value
from ecsgen.inspector.kernel_times import KernelTimes
from ecsgen.inspector.labels import Labels
from ecsgen.inspector.overview import Frames, Overview, archetypes_json, field_json
from ecsgen.inspector.points import LINKS, ROLES, Points, pack
from ecsgen.inspector.row_filters import parse_filters
from ecsgen.inspector.row_tables import Tables, number, window_of
from ecsgen.inspector.saved_worlds import save_beside
from ecsgen.inspector.series import Series
from ecsgen.inspector.server import Answer, BytesResponse, body_of
from ecsgen.inspector.tick_queue import RequestError, TickQueue, make_not_found, make_request_error
from ecsgen.inspector.view import View, require_name


class Api:
    """Parses requests. Names in them are looked up in tables made when the inspector starts."""

    def __init__(
        self,
        world: InspectedWorld,
        queue: TickQueue,
        frames: Frames,
        edit: bool,
        run_state: Callable[[], Mapping[str, Json]],
        series: Series,
        has_step: bool,
        save_folder: Path | None,
        view: View,
        controls: Iterable[str],
    ) -> None:
        self._ask = queue.run_in_tick
        self._world = world
        self._frames = frames
        self._edit = edit
        self._has_step = has_step
        self._save_folder = save_folder
        self._times = KernelTimes(world)
        self._settings = world.settings if isinstance(world, SettingsWorld) else None
        self._series = series
        self._run_state = run_state
        """Returns the number of the step, and the time where the world has one."""
        self._readers = make_readers(world)
        self._titles = {reader.title: reader for reader in self._readers.values()}
        cache = ColumnCache(queue)
        self._finder = EntityFinder(world, cache, self._readers)
        self._labels = Labels(self._readers, view.label)
        self._tables = Tables(cache, self._readers, self._finder, self._labels)
        self._owned = [s for s in self._readers.values() if s.owner == "entity"]
        self._queries = {
            n: _query_conditions(getattr(world, n), self._readers) for n in world.QUERIES
        }
        self.points = Points(self._readers, self._queries, world)
        self._groups = {n: getattr(world, n) for n in world.GROUPS}
        settings = [] if self._settings is None else list(map(field_json, self._settings.FIELDS))
        for name in view.controls:
            require_name("control", name, [*controls, *(each["name"] for each in settings)])
        constants = {
            "edit": edit,
            "saves": edit and save_folder is not None,
            "maps": self.points.maps_json(),
            "series": series.names,
            "settings": settings,
            "view": view.as_json(),
            "index_bits": self._finder.index_bits,
            "shard_bits": self._finder.shard_bits,
            "queries": [{"name": n, **c._asdict()} for n, c in self._queries.items()],
            "groups": [{"name": n, "members": list(g._members)} for n, g in self._groups.items()],
        }
        self._overview = Overview(world, self._readers, frames, constants)

    def routes(self) -> Mapping[str, Mapping[str, Answer]]:
        """Return the answers of each path by HTTP method."""
        row = {"PATCH": self._change, "POST": self._add, "DELETE": self._remove}
        return {
            "world": {"GET": lambda request: self._ask(self._overview.world)},
            "settings": {
                "GET": lambda request: self._ask(self._settings_json),
                "PATCH": self._change_settings,
            },
            "rows/{component}": {"GET": self._rows},
            "query/{query}": {"GET": self._query},
            "group/{group}": {"GET": self._group},
            "entities": {"GET": self._living},
            "entity/{entity}": {"GET": self._entity, "DELETE": self._destroy},
            "histogram/{component}/{field}": {"GET": self._histogram},
            "tree/{component}": {"GET": self._tree},
            "series": {"GET": self._series_of},
            "points/{map}": {"GET": self._map_points},
            "archetypes": {"GET": self._archetypes},
            "save": {"POST": self._save},
            "times": {"GET": lambda request: self._times.answer(self._ask)},
            "frames": {"GET": lambda request: self._ask(self._frames.as_json)},
            "entity/{entity}/{component}": row,
            "row/{component}/{entity}": {
                "GET": self._row,
                "PATCH": self._change_row,
                "DELETE": self._destroy_row,
            },
        }

    def note(self) -> None:
        """Take note that a step or a tick is over."""
        self._times.note()

    def close(self) -> None:
        """Give the world its own methods again."""
        self._times.end()

    def check_names(self, path_parts: Mapping[str, str]) -> None:
        """Raise RequestError for unknown names in a path, given by path parameter."""
        if "entity" in path_parts:
            _entity_of(path_parts["entity"])
        if "component" in path_parts:
            reader = self._named(path_parts["component"])
            if "field" in path_parts:
                _found(f"field of {reader.name}", reader.field, path_parts["field"])
        for what, table in (("query", self._queries), ("group", self._groups)):
            if what in path_parts:
                _found(what, table, path_parts[what])

    def _settings_json(self) -> Json:
        """Return the world's settings by name; none of a world without."""
        settings = self._settings
        if settings is None:
            return {}
        return {
            info.name: json_value(getattr(settings, info.name), info) for info in settings.FIELDS
        }

    async def _change_settings(self, request: Request) -> Json:
        if not self._has_step:
            self._check_edit()
        body, settings = await body_of(request), self._settings
        if settings is None:
            raise make_not_found("setting", "")

        def change() -> None:
            values = given_fields(body, {info.name: info for info in settings.FIELDS})
            _assign(copy(settings), values)  # all of them or none
            _assign(settings, values)

        return await self._after(change, self._settings_json)

    async def _save(self, request: Request) -> Json:
        self._check_edit()
        body, folder = await body_of(request), self._save_folder
        if folder is None:
            raise RequestError(404, "there is no file beside which this world could be saved")
        name = body.get("name") if isinstance(body, dict) and len(body) == 1 else None
        if not isinstance(name, str):
            raise RequestError(422, 'wanted {"name": "new.snap"}')

        def save() -> Json:
            try:
                return {"name": save_beside(self._world, folder, name)}
            except OSError as error:
                raise RequestError(422, f"{name}: {error.strerror or error}") from None
            except Exception as error:
                raise make_request_error(422, error) from None

        return await self._ask(save)

    async def _series_of(self, request: Request) -> Json:
        parameters = request.query_params
        since = number(parameters, "since", 0) if "since" in parameters else -1
        names = [name for name in parameters.get("names", "").split(",") if name]
        if "names" in parameters:
            return await self._series.named(names, since)
        return await self._series.records(since)

    async def _map_points(self, request: Request) -> Response:
        parameters, name = request.query_params, request.path_params["map"]
        wanted = {role: parameters[role] for role in (*ROLES, LINKS) if parameters.get(role)}
        has_ids = parameters.get("ids") != "0"
        layer = number(parameters, "layer", 0) if "layer" in parameters else None
        conditions = self._queries.get(name)
        entities = None if conditions is None else await self._finder.living(conditions)

        def packed() -> list[memoryview]:
            head = self._run_state()
            return pack(
                self.points.layer(
                    name, wanted, head, entities=entities, has_ids=has_ids, layer=layer
                )
            )

        return BytesResponse(await self._ask(packed))

    async def _archetypes(self, request: Request) -> Json:
        return archetypes_json(await self._ask(self._overview.archetypes))

    async def _rows(self, request: Request) -> Json:
        reader, parameters = self._reader(request), request.query_params
        filters = parse_filters(reader, parameters.getlist("where"))
        return await self._tables.component(reader, window_of(parameters), filters)

    async def _query(self, request: Request) -> Json:
        _refuse_filters(request)
        conditions = self._queries[request.path_params["query"]]
        return await self._tables.query(conditions, window_of(request.query_params))

    async def _group(self, request: Request) -> Json:
        _refuse_filters(request)
        group = self._groups[request.path_params["group"]]
        managed = {id(s.manager): s for s in self._owned if isinstance(s, ManagerReader)}
        readers = [managed[id(member)] for member in group._members.values()]
        members = {reader.name: reader for reader in readers}
        return await self._tables.group(group, members, window_of(request.query_params))

    async def _living(self, request: Request) -> Json:
        parameters = request.query_params
        window = window_of(parameters)
        parts = {part: self._names(parameters.get(part, "")) for part in ("all", "any", "none")}
        entities = await self._finder.living(Conditions(**parts))
        wanted = entities[window.rows]
        having, labels = await self._ask(
            lambda: (
                [reader.find(wanted) != NIL for reader in self._owned],
                self._labels.of(wanted),
            )
        )
        names = np.array([reader.name for reader in self._owned], np.object_)
        table = np.array(having, np.bool_).reshape(len(names), len(wanted))
        return {
            "n": len(entities),
            "start": window.start,
            "entities": [str(entity) for entity in wanted.tolist()],
            "components": [names[column].tolist() for column in table.T],
            "label": labels,
        }

    async def _entity(self, request: Request) -> Json:
        entity = _entity_of(request.path_params["entity"])
        return await self._ask(lambda: self._entity_json(entity))

    def _entity_json(self, entity: int) -> Json:
        """Return an entity with all its components; a dead one with rows not yet collected."""
        components: dict[str, Json] = {}
        for reader in self._owned:
            rows = reader.rows_of(entity)
            if len(rows):
                values = _rows_json(reader, rows)
                components[reader.name] = values if reader.is_list else values[0]
        alive = self._world.entities.alive(entity)
        [label] = self._labels.of(np.array([entity], np.uint64))
        return {"entity": str(entity), "alive": alive, "label": label, "components": components}

    async def _row(self, request: Request) -> Json:
        reader, number = self._reader(request), _entity_of(request.path_params["entity"])
        return await self._ask(lambda: self._row_json(reader, number))

    def _row_json(self, reader: ComponentReader, number: int) -> Json:
        """Return a row by its id, as an entity is told."""
        rows = reader.row_of_id(number)
        labels = self._labels.of_rows(reader, rows)
        values = _rows_json(reader, rows)
        return {
            "id": str(number),
            "alive": len(rows) == 1,
            "label": labels[0] if labels else None,
            "components": dict(zip([reader.name], values, strict=False)),
        }

    async def _change_row(self, request: Request) -> Json:
        body = await body_of(request)

        def write(reader: ManagerReader, row: int) -> None:
            reader.write_row(row, given_fields(body, reader.field))

        return await self._after_row(request, write)

    async def _destroy_row(self, request: Request) -> Json:
        def destroy(reader: ManagerReader, row: int) -> None:
            if reader.grid is not None:
                raise RequestError(422, "cells of a grid are not destroyed")
            reader.manager.destroy(row)

        return await self._after_row(request, destroy)

    async def _after_row(
        self, request: Request, change: Callable[[ManagerReader, int], object]
    ) -> Json:
        """Return a row by its id after a change."""
        self._check_edit()
        reader, number = self._reader(request), _entity_of(request.path_params["entity"])

        def change_row() -> None:
            rows = reader.row_of_id(number)
            if not len(rows):
                raise RequestError(422, f"{reader.name} has no row with the id {number}")
            assert isinstance(reader, ManagerReader)  # others have no rows by id
            change(reader, int(rows[0]))

        return await self._after(change_row, lambda: self._row_json(reader, number))

    async def _histogram(self, request: Request) -> Json:
        reader = self._reader(request)
        field = histogram_field(reader, request.path_params["field"])
        bins = number(request.query_params, "bins", 30)
        if not 1 <= bins <= MOST_BINS:
            raise RequestError(400, f"bins: wanted 1 to {MOST_BINS}, not {bins}")
        cells, counted, total = await self._ask(lambda: sample(reader, field))
        return await asyncio.to_thread(histogram, cells, field, bins, counted, total)

    async def _tree(self, request: Request) -> Json:
        parameters, parent = request.query_params, request.query_params.get("parent", "")
        above = _entity_of(parent) if parent else None
        row = number(parameters, "row", 0) if "row" in parameters else None
        return await self._tables.tree(self._reader(request), above, row, window_of(parameters))

    async def _change(self, request: Request) -> Json:
        entity, reader = self._edited(request)
        instance = number(request.query_params, "instance", 0)
        body = await body_of(request)

        def write() -> None:
            self._world.entities.require(entity)
            reader.write(entity, instance, given_fields(body, reader.field))

        return await self._after(write, lambda: self._entity_json(entity))

    async def _add(self, request: Request) -> Json:
        entity, reader = self._edited(request)
        body, fields = await body_of(request), reader.field
        return await self._after(
            lambda: reader.add(entity, given_fields(body, fields)),
            lambda: self._entity_json(entity),
        )

    async def _remove(self, request: Request) -> Json:
        entity, reader = self._edited(request)
        parameters = request.query_params
        instance = number(parameters, "instance", 0) if "instance" in parameters else None

        def remove() -> None:
            self._world.entities.require(entity)
            reader.remove(entity, instance)

        return await self._after(remove, lambda: self._entity_json(entity))

    async def _destroy(self, request: Request) -> Json:
        self._check_edit()
        entity = _entity_of(request.path_params["entity"])
        return await self._after(
            lambda: self._world.destroy(entity), lambda: self._entity_json(entity)
        )

    async def _after(self, change: Callable[[], object], result: Callable[[], Json]) -> Json:
        """Return a result after a change; raise RequestError, 422 by default, if that fails."""

        def apply_change() -> Json:
            try:
                change()
            except RequestError:
                raise
            except Exception as error:
                raise make_request_error(422, error) from None
            return result()

        return await self._ask(apply_change)

    def _edited(self, request: Request) -> tuple[int, ComponentReader]:
        self._check_edit()
        entity, reader = _entity_of(request.path_params["entity"]), self._reader(request)
        if reader.owner != "entity":
            raise make_not_found("component", reader.name)
        return entity, reader

    def _check_edit(self) -> None:
        if not self._edit:
            raise RequestError(403, "this inspector is read-only: serve(world, edit=True) edits")

    def _reader(self, request: Request) -> ComponentReader:
        return self._named(request.path_params["component"])

    def _named(self, name: str) -> ComponentReader:
        """Return a component by its name in the world or by its class."""
        return self._titles.get(name) or _found("component", self._readers, name)

    def _names(self, listed: str) -> tuple[str, ...]:
        """Return the names in a list with commas, all of components that entities own."""
        readers = [self._named(name.strip()) for name in listed.split(",") if name.strip()]
        for reader in readers:
            if reader.owner != "entity":
                raise RequestError(400, f"{reader.name}: its rows belong to no entities")
        return tuple(dict.fromkeys(reader.name for reader in readers))


def _entity_of(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 20 or int(text) >= 1 << 64:
        raise make_not_found("entity", text)
    return int(text)


def _refuse_filters(request: Request) -> None:
    if "where" in request.query_params:
        raise RequestError(400, "where: only rows/NAME has it")


def _rows_json(reader: ComponentReader, rows: NDArray[np.intp]) -> list[dict[str, Json]]:
    """Return the fields of rows."""
    columns = {
        field.name: json_column(reader.cells(field.name, rows), field) for field in reader.fields
    }
    return [{name: cells[k] for name, cells in columns.items()} for k in range(len(rows))]


def _assign(settings: SettingsBase, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(settings, name, value)


def _found(what: str, table: Mapping[str, Any], name: str) -> Any:
    if name not in table:
        raise make_not_found(what, name)
    return table[name]


def _query_conditions(query: Any, readers: Mapping[str, ComponentReader]) -> Conditions:
    if hasattr(query, "ALL"):
        by_row = {s.row: s.name for s in readers.values() if isinstance(s, ChunkReader)}
        parts = (query.ALL, query.ANY, query.NONE, query.OPTIONAL)
        return Conditions(*(tuple(by_row[row] for row in rows) for rows in parts))
    join = query._join
    names = {id(s.manager): s.name for s in readers.values() if isinstance(s, ManagerReader)}
    members = (join.required, join.any_of, join.none_of, join.optional)
    return Conditions(*(tuple(names[id(m.manager)] for m in part) for part in members))
