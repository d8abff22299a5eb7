"""Labels of entities: what a field of text calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from ecsgen_runtime.base.handles import NIL
from numpy.typing import NDArray

from ecsgen.inspector.component_readers import ComponentReader
from ecsgen.inspector.view import require_name

_FIELDS: Final = ("name", "label")
"""Fields that label their rows, unless a view names another one."""


class Labels:
    """The fields that label entities: of several that an entity has, the first that says something.
    All fields `name` come before all fields `label`."""

    def __init__(self, readers: Mapping[str, ComponentReader], chosen: str | None = None) -> None:
        fields = _FIELDS if chosen is None else (chosen, *_FIELDS)
        self._sources = [
            (reader, name)
            for name in fields
            for reader in readers.values()
            if name in reader.field
            and reader.field[name].type.startswith("str")
            and not reader.field[name].shape
        ]
        if chosen is not None:
            require_name("field of text", chosen, [field for _, field in self._sources])

    def of(self, entities: NDArray[np.uint64]) -> list[str | None]:
        """Return the label of each of a few entities, None without; called in ticks."""
        labels: list[str | None] = [None] * len(entities)
        for reader, field in self._sources:
            left = np.array([k for k, label in enumerate(labels) if not label], np.intp)
            if reader.owner != "entity" or not len(left):
                continue
            rows = reader.find(entities[left])
            there = rows != NIL
            texts = _texts(reader.cells(field, rows[there]))
            for k, text in zip(left[there].tolist(), texts, strict=True):
                labels[k] = text or None
        return labels

    def of_rows(self, reader: ComponentReader, rows: NDArray[np.intp]) -> list[str | None]:
        """Return the label of each of a few rows: their own, else that of their owners."""
        field = next((name for each, name in self._sources if each is reader), None)
        texts = [] if field is None else _texts(reader.cells(field, rows))
        if reader.owner != "entity":
            return [text or None for text in texts] if field else [None] * len(rows)
        others = self.of(reader.owners(rows))
        return [text or other for text, other in zip(texts or others, others, strict=True)]


def _texts(cells: NDArray[Any]) -> list[str]:
    return [cell.decode(errors="replace") for cell in cells.tolist()]
