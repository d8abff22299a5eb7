"""One entity: what it has, and what a request changes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecsgen.inspector.asking import missing, refused
from ecsgen.inspector.json_cells import Json, json_column
from ecsgen.inspector.subjects import Subject


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

    def after(self, entity: int, change: Callable[[], object]) -> Json:
        """Return an entity as it is after a change, or the change's error as a refusal."""
        try:
            change()
        except Exception as error:
            raise refused(422, error) from None
        return self.seen(entity)


def _fields(subject: Subject, rows: NDArray[np.intp]) -> list[dict[str, Json]]:
    columns = {
        field.name: json_column(subject.cells(field.name, rows), field) for field in subject.fields
    }
    return [{name: cells[k] for name, cells in columns.items()} for k in range(len(rows))]


def entity_of(text: str) -> int:
    """Return the entity in a path."""
    if not (text.isascii() and text.isdigit()) or len(text) > 20 or int(text) >= 1 << 64:
        raise missing("entity", text)
    return int(text)
