"""Answers for each path of the API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.world.settings import SettingsBase, SettingsWorld
from numpy.typing import NDArray
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ecsgen.inspector.column_cache import ColumnCache
from ecsgen.inspector.component_readers import (
    ChunkReader,
    ComponentReader,
    InspectedWorld,
    ManagerReader,
    make_readers,
    store_of,
)
from ecsgen.inspector.entity_finder import Conditions, EntityFinder
from ecsgen.inspector.histograms import MOST_BINS, histogram, histogram_field, sample
from ecsgen.inspector.json_values import Json, given_fields, json_column, json_value, whole_number
from ecsgen.inspector.kernel_times import KernelTimes
from ecsgen.inspector.labels import Labels
from ecsgen.inspector.overview import Frames, archetypes_json, component_json, field_json
from ecsgen.inspector.points import LINKS, ROLES, Points, pack
from ecsgen.inspector.row_filters import parse_filter
from ecsgen.inspector.row_tables import Tables, number, window_of
from ecsgen.inspector.run_loop import RunLoop
from ecsgen.inspector.saved_worlds import save_beside
from ecsgen.inspector.series import Series
from ecsgen.inspector.server import body_of, bytes_response
from ecsgen.inspector.tick_queue import RequestError, TickQueue, make_not_found, make_request_error
from ecsgen.inspector.view import Camera, View, require_name


class Api:
    """Answers requests about a world. Names in them are looked up in tables made at the start."""

    def __init__(
        self,
        world: InspectedWorld,
        queue: TickQueue,
        loop: RunLoop,
        reset: Callable[[InspectedWorld], None],
        edit: bool,
        save_folder: Path | None,
        view: View,
    ) -> None:
        """`reset`: is called in a tick with the new world of a run that begins anew."""
        self._ask = queue.run_in_tick
        self._world = world
        self._loop = loop
        self._reset = reset
        self._edit = edit
        self._save_folder = save_folder
        self.frames = Frames(world)
        self.series = Series(world, queue, lambda: loop.steps)
        self._times = KernelTimes(world)
        self._settings = world.settings if isinstance(world, SettingsWorld) else None
        self._readers = make_readers(world)
        self._fields = {r: list(map(field_json, r.fields)) for r in self._readers.values()}
        self._titles = {reader.title: reader for reader in self._readers.values()}
        cache = ColumnCache(queue)
        self._finder = EntityFinder(world, cache, self._readers)
        self._labels = Labels(self._readers, view.label)
        self._tables = Tables(cache, self._readers, self._finder, self._labels)
        self._owned = [s for s in self._readers.values() if s.owner == "entity"]
        self._queries = {
            n: _query_conditions(getattr(world, n), self._readers) for n in world.QUERIES
        }
        self._groups = {n: getattr(world, n) for n in world.GROUPS}
        self._points = Points(self._readers, self._queries, world)
        settings = [] if self._settings is None else list(map(field_json, self._settings.FIELDS))
        for name in view.controls:
            require_name("control", name, [*loop.fields, *(each["name"] for each in settings)])
        self.camera = Camera(view, self._points, self.series)
        self._constants = {
            "edit": edit,
            "saves": edit and save_folder is not None,
            "maps": self._points.maps_json(),
            "series": [*self.series.sources],
            "settings": settings,
            "view": asdict(view),
            "index_bits": self._finder.index_bits,
            "shard_bits": self._finder.shard_bits,
            "queries": [{"name": n, **c._asdict()} for n, c in self._queries.items()],
            "groups": [{"name": n, "members": list(g._members)} for n, g in self._groups.items()],
        }
        """Constant parts of the answer about the world, by name."""
        self._answers: dict[str, dict[str, Callable[..., Awaitable[Any]]]] = {
            "world": {"GET": lambda request: self._ask(self._world_json)},
            "settings": {
                "GET": lambda request: self._ask(self._settings_json),
                "PATCH": self._change_settings,
            },
            "rows/{component}": {"GET": self._rows},
            "query/{query}": {"GET": self._query},
            "group/{group}": {"GET": self._group},
            "entities": {"GET": self._living},
            "entity/{entity}": {
                "GET": lambda request, entity: self._ask(lambda: self._entity_json(entity)),
                "DELETE": self._destroy,
            },
            "histogram/{component}/{field}": {"GET": self._histogram},
            "tree/{component}": {"GET": self._tree},
            "series": {"GET": self._series_of},
            "points/{map}": {"GET": self._map_points},
            "archetypes": {"GET": self._archetypes},
            "save": {"POST": self._save},
            "times": {"GET": lambda request: self._times.answer(self._ask)},
            "frames": {"GET": lambda request: self._ask(self.frames.as_json)},
            "run": {"GET": lambda request: self._ask(loop.as_json), "POST": self._control_run},
            "entity/{entity}/{component}": {
                "PATCH": self._change,
                "POST": self._add,
                "DELETE": self._remove,
            },
            "row/{component}/{entity}": {
                "GET": lambda request, component, entity: self._ask(
                    lambda: self._row_json(component, entity)
                ),
                "PATCH": self._change_row,
                "DELETE": self._destroy_row,
            },
        }
        """By path and HTTP method; they take the request and what its path names."""

    @property
    def paths(self) -> list[str]:
        """All paths, which are those of every world."""
        return [*self._answers]

    async def answer(self, path: str, request: Request) -> Any:
        """Return a response, or what is sent as JSON. Unknown names come before other errors."""
        named = self._named_in(request.path_params)
        answers = self._answers[path]
        answer = answers.get("GET" if request.method == "HEAD" else request.method)
        if answer is None:
            raise HTTPException(405, headers={"Allow": ", ".join(answers)})
        return await answer(request, **named)

    def _named_in(self, path_parts: Mapping[str, str]) -> dict[str, Any]:
        """Return what the parts of a path name. RequestError for unknown names."""
        named: dict[str, Any] = dict(path_parts)
        if "entity" in path_parts:
            named["entity"] = _entity_of(path_parts["entity"])
        if "component" in path_parts:
            reader = named["component"] = self._named(path_parts["component"])
            if "field" in path_parts:
                _found(f"field of {reader.name}", reader.field, path_parts["field"])
        for what, table in (("query", self._queries), ("group", self._groups)):
            if what in path_parts:
                named[what] = _found(what, table, path_parts[what])
        return named

    def note(self) -> None:
        """Take note that a step or a tick is over."""
        self._times.note()

    def close(self) -> None:
        """Give the world its own methods again."""
        self._times.end()

    async def _control_run(self, request: Request) -> Json:
        body = await body_of(request)

        def command() -> Json:
            if not self._loop.is_controlled:
                raise RequestError(404, "there is no step: serve(world, step=...) runs it")
            world = self._loop.command(body)
            if world is not None:
                self.close()
                self._reset(world)
            return self._loop.as_json()

        return await self._ask(command)

    def _world_json(self) -> Json:
        """Return the world's components, queries and groups; O(components)."""
        return {
            "world": type(self._world).__name__,
            "alive": len(self._world.entities),
            "frames": self.frames.count,
            "components": [component_json(*each) for each in self._fields.items()],
            **self._constants,
        }

    def _settings_json(self) -> Json:
        """Return the world's settings by name; none of a world without."""
        settings = self._settings
        fields = () if settings is None else settings.FIELDS
        return {info.name: json_value(getattr(settings, info.name), info) for info in fields}

    async def _change_settings(self, request: Request) -> Json:
        if self._loop.step is None:
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

        return await self._after(
            lambda: save_beside(self._world, folder, name), lambda: {"name": name}
        )

    async def _series_of(self, request: Request) -> Json:
        parameters = request.query_params
        since = number(parameters, "since", 0) if "since" in parameters else -1
        if "names" not in parameters:
            return await self.series.records(since)
        return await self.series.named([*filter(None, parameters["names"].split(","))], since)

    async def _map_points(self, request: Request, map: str) -> Response:
        parameters = request.query_params
        wanted = {role: parameters[role] for role in (*ROLES, LINKS) if parameters.get(role)}
        has_ids = parameters.get("ids") != "0"
        layer = number(parameters, "layer", 0) if "layer" in parameters else None
        conditions = self._queries.get(map)
        entities = None if conditions is None else await self._finder.living(conditions)
        draw = partial(self._points.layer, entities=entities, has_ids=has_ids, layer=layer)
        packed = await self._ask(lambda: pack(draw(map, wanted, self._loop.time_json())))
        return bytes_response(packed)

    async def _archetypes(self, request: Request) -> Json:
        return archetypes_json(await self._ask(self._archetypes_now))

    def _archetypes_now(self) -> list[tuple[list[str], int, int]]:
        """Return (components, rows, rows per chunk) of each archetype."""
        store = store_of(self._world)
        if store is None:
            return []
        names = {s.part: s.name for s in self._readers.values() if isinstance(s, ChunkReader)}
        return [
            ([names[part] for part in each.layout.components.values()], each.n, each.capacity)
            for each in store.table.archetypes
            if each.layout.components
        ]

    async def _rows(self, request: Request, component: ComponentReader) -> Json:
        parameters = request.query_params
        filters = [parse_filter(component, text) for text in parameters.getlist("where")]
        return await self._tables.component(component, window_of(parameters), filters)

    async def _query(self, request: Request, query: Conditions) -> Json:
        _refuse_filters(request)
        return await self._tables.query(query, window_of(request.query_params))

    async def _group(self, request: Request, group: Any) -> Json:
        _refuse_filters(request)
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
            lambda: ([s.find(wanted) != NIL for s in self._owned], self._labels.of(wanted))
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

    async def _change_row(self, request: Request, component: ComponentReader, entity: int) -> Json:
        body = await body_of(request)
        return await self._after_row(
            component, entity, lambda s, row: s.write_row(row, given_fields(body, s.field))
        )

    async def _destroy_row(self, request: Request, component: ComponentReader, entity: int) -> Json:
        def destroy(reader: ManagerReader, row: int) -> None:
            if reader.grid is not None:
                raise RequestError(422, "cells of a grid are not destroyed")
            reader.manager.destroy(row)

        return await self._after_row(component, entity, destroy)

    async def _after_row(
        self, reader: ComponentReader, number: int, change: Callable[[ManagerReader, int], object]
    ) -> Json:
        """Return a row by its id after a change."""
        self._check_edit()

        def change_row() -> None:
            rows = reader.row_of_id(number)
            if not len(rows):
                raise RequestError(422, f"{reader.name} has no row with the id {number}")
            assert isinstance(reader, ManagerReader)  # others have no rows by id
            change(reader, int(rows[0]))

        return await self._after(change_row, lambda: self._row_json(reader, number))

    async def _histogram(self, request: Request, component: ComponentReader, field: str) -> Json:
        info = histogram_field(component, field)
        bins = number(request.query_params, "bins", 30)
        if not 1 <= bins <= MOST_BINS:
            raise RequestError(400, f"bins: wanted 1 to {MOST_BINS}, not {bins}")
        cells, counted, total = await self._ask(lambda: sample(component, info))
        return await asyncio.to_thread(histogram, cells, info, bins, counted, total)

    async def _tree(self, request: Request, component: ComponentReader) -> Json:
        parameters, parent = request.query_params, request.query_params.get("parent", "")
        above = _entity_of(parent) if parent else None
        row = number(parameters, "row", 0) if "row" in parameters else None
        return await self._tables.tree(component, above, row, window_of(parameters))

    async def _change(self, request: Request, entity: int, component: ComponentReader) -> Json:
        self._check_edit(component)
        instance = number(request.query_params, "instance", 0)
        body = await body_of(request)

        def write() -> None:
            self._world.entities.require(entity)
            component.write(entity, instance, given_fields(body, component.field))

        return await self._after(write, lambda: self._entity_json(entity))

    async def _add(self, request: Request, entity: int, component: ComponentReader) -> Json:
        self._check_edit(component)
        body = await body_of(request)
        return await self._after(
            lambda: component.add(entity, given_fields(body, component.field)),
            lambda: self._entity_json(entity),
        )

    async def _remove(self, request: Request, entity: int, component: ComponentReader) -> Json:
        self._check_edit(component)
        parameters = request.query_params
        instance = number(parameters, "instance", 0) if "instance" in parameters else None

        def remove() -> None:
            self._world.entities.require(entity)
            component.remove(entity, instance)

        return await self._after(remove, lambda: self._entity_json(entity))

    async def _destroy(self, request: Request, entity: int) -> Json:
        self._check_edit()
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

    def _check_edit(self, reader: ComponentReader | None = None) -> None:
        """Raise RequestError if nothing may be changed, or a component is no entity's."""
        if not self._edit:
            raise RequestError(403, "this inspector is read-only: serve(world, edit=True) edits")
        if reader is not None and reader.owner != "entity":
            raise make_not_found("component", reader.name)

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
    entity = whole_number(text)
    if entity is None:
        raise make_not_found("entity", text)
    return entity


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
