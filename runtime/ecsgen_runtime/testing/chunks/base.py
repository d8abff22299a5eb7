"""Components in chunks, as tests see them: rows to store, and what is found of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, ClassVar
from unittest.mock import patch

import pytest

from ...errors import CapacityError
from ...handles import EntityArray
from ..subject import Subject


class Members:
    """The components in chunks of a world."""

    world: ClassVar[Any]
    module: ClassVar[Any]
    """The module of the archetypes."""
    members: ClassVar[Mapping[str, Subject]]
    """By their attribute of chunks."""

    def small_chunks(self) -> Any:
        """Return a patch: worlds made meanwhile have chunks that a few rows fill."""
        store = self.world().archetypes
        parts = store._table.parts
        columns = 1 + sum(len(part.LAYOUT) for part in parts)
        wide = sum(c.nbytes for part in parts for c in part.LAYOUT)
        module = sys.modules[type(store).__module__]
        return patch.object(module, "CHUNK_BYTES", 64 * columns + 4 * wide)

    def row_class(self, module: str) -> Any:
        return self.members[module].row

    def rows(self, modules: Iterable[str]) -> list[Any]:
        """Return the row classes of components."""
        return [self.row_class(module) for module in modules]

    def created(self, w: Any, modules: Iterable[str], count: int) -> EntityArray:
        """Create entities with samples of some components."""
        names = list(modules)
        given = {module: self.members[module].samples(count) for module in names}
        try:
            es: EntityArray = w.archetypes.create(self.rows(names), count, **given)
        except CapacityError:
            pytest.skip(
                f"the handles of this project are too small for {count} entities"
            )
        return es

    def wrong(self, module: str) -> dict[str, Any]:
        """Return a field with a value that it refuses, or a field that there is not."""
        for field in self.members[module].fields:
            for value, _ in field.wrong():
                return {field.name: value}
        return {"no_such_field": 0}

    def columns(self, chunk: Any, module: str) -> list[Any]:
        """Return the rows of a component as its columns have them."""
        subject, data = self.members[module], getattr(chunk, module)
        columns = [subject.read_column(data, field) for field in subject.fields]
        if not columns:
            return [()] * len(chunk)
        return list(zip(*columns, strict=True))

    def stored(self, module: str, row: Any) -> Any:
        """Return a row as the columns have it."""
        fields = self.members[module].fields
        return tuple(
            field.stored(value) for field, value in zip(fields, row, strict=True)
        )

    def subsets(self) -> list[tuple[str, ...]]:
        """Return some sets of components: none, each, pairs, all."""
        names = sorted(self.members)
        sizes = sorted({0, 1, 2, len(names)})
        found = [s for size in sizes for s in combinations(names, size)]
        return list(dict.fromkeys(found))[:20]
