"""One entity: what it has, and what a request changes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.asking import RefusedError, missing, refused
from ecsgen.inspector.chunk_tables import Chunked
from ecsgen.inspector.json_cells import Json, given_fields, json_column
from ecsgen.inspector.subjects import Managed, Subject


class Entities:
    """Reads and writes one entity at a time; all of it in ticks."""

    def __init__(self, world: Any, subjects: Mapping[str, Subject]) -> None:
        self._world = world
        self._subjects = {n: s for n, s in subjects.items() if s.owner == "entity"}

    def seen(self, entity: int) -> Json:
        """Return an entity with all its components; of a dead one what is not collected yet."""
        found: dict[str, Json] = {}
        for name, subject in self._subjects.items():
            rows = subject.rows_of(entity)
            if len(rows):
                told = _fields(subject, rows)
                found[name] = told if subject.is_list else told[0]
        alive = self._world.entities.alive(entity)
        return {"entity": str(entity), "alive": alive, "components": found}

    def change(self, entity: int, name: str, given: Json, instance: int) -> Json:
        """Write some fields of an entity's row, all of them or none."""
        subject = self._subject(name)
        try:
            self._world.entities.require(entity)
            values = given_fields(given, subject.field)
            if isinstance(subject, Chunked):
                _check_only(instance)
                subject.store.set(entity, subject.row, **values)
            else:
                assert isinstance(subject, Managed)  # there are no others
                _write(subject.manager, _row(subject, entity, instance), values)
        except Exception as error:
            raise refused(422, error) from None
        return self.seen(entity)

    def add(self, entity: int, name: str, given: Json) -> Json:
        """Give an entity a component."""
        subject = self._subject(name)
        try:
            values = given_fields(given, subject.field)
            if isinstance(subject, Chunked):
                subject.store.add(entity, subject.row, **values)
            else:
                assert isinstance(subject, Managed)  # there are no others
                subject.manager.create(entity, **values)
        except Exception as error:
            raise refused(422, error) from None
        return self.seen(entity)

    def remove(self, entity: int, name: str, instance: int | None) -> Json:
        """Take a component from an entity, or one instance of it."""
        subject = self._subject(name)
        try:
            self._world.entities.require(entity)
            if isinstance(subject, Chunked):
                _check_only(instance)
                subject.store.remove(entity, subject.row)
            else:
                assert isinstance(subject, Managed)  # there are no others
                subject.manager.require(entity)
                if instance is None:
                    subject.manager.remove(entity)
                else:
                    subject.manager.destroy(_row(subject, entity, instance))
        except Exception as error:
            raise refused(422, error) from None
        return self.seen(entity)

    def destroy(self, entity: int) -> Json:
        """Destroy an entity."""
        try:
            self._world.destroy(entity)
        except Exception as error:
            raise refused(422, error) from None
        return self.seen(entity)

    def _subject(self, name: str) -> Subject:
        if name not in self._subjects:
            raise missing("component", name)
        return self._subjects[name]


def _fields(subject: Subject, rows: NDArray[np.intp]) -> list[dict[str, Json]]:
    columns = {
        field.name: json_column(subject.cells(field.name, rows), field) for field in subject.fields
    }
    return [{name: cells[k] for name, cells in columns.items()} for k in range(len(rows))]


def _check_only(instance: int | None) -> None:
    """Refuse other instances than the first: there are none in archetypes."""
    if instance:
        raise RefusedError(422, f"there is no instance {instance}: an entity has one at most")


def _row(subject: Managed, entity: int, instance: int) -> int:
    """Return the row of an entity's instance, the first one being 0."""
    subject.manager.require(entity)
    rows = subject.rows_of(entity)
    if instance >= len(rows):
        raise RefusedError(422, f"there is no instance {instance}: the entity has {len(rows)}")
    return int(rows[instance])


def _write(manager: Any, row: int, values: Mapping[str, Any]) -> None:
    """Write values through the setters; if one is refused, the others are as they were."""
    before = manager.row(row)
    done: list[str] = []
    try:
        for name, value in values.items():
            getattr(manager, f"set_{name}")(row, value)
            done.append(name)
    except Exception:
        for name in done:
            getattr(manager, f"set_{name}")(row, getattr(before, name))
        raise


def entity_of(text: str) -> int:
    """Return the entity in a path."""
    if not (text.isascii() and text.isdigit()) or len(text) > 20 or int(text) >= 1 << 64:
        raise missing("entity", text)
    return int(text)
