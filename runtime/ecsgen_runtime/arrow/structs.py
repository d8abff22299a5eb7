"""Components as Arrow structs: what queries have beside the entities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from ..handles import EntityArray
from .batches import arrays_of
from .library import pyarrow
from .parts import TablePart, component_notes, owner_part


class ComponentStruct:
    """A component in a query: a struct of its fields."""

    def __init__(self, name: str, kind: Any, parts: Sequence[TablePart]) -> None:
        pa = pyarrow()
        self.parts = tuple(parts)
        fields = [part.arrow_field() for part in parts]
        notes = component_notes(kind, self.parts)
        self.field = pa.field(name, pa.struct(fields), metadata=notes)

    def array(
        self,
        cells: Mapping[str, NDArray[Any]],
        count: int,
        copy: bool,
        absent: NDArray[Any] | None = None,
    ) -> Any:
        """Return `count` structs of these cells; null where the component is absent."""
        pa = pyarrow()
        if not self.parts:
            bits = None if absent is None else pa.array(~absent).buffers()[1]
            return pa.Array.from_buffers(self.field.type, count, [bits])
        arrays = arrays_of(self.parts, cells, slice(0, count), copy)
        mask = None if absent is None else pa.array(absent)
        fields = list(self.field.type)
        return pa.StructArray.from_arrays(arrays, fields=fields, mask=mask)

    def nulls(self, count: int) -> Any:
        """Return `count` of no structs."""
        return pyarrow().nulls(count, self.field.type)


def struct_schema(structs: Sequence[ComponentStruct]) -> Any:
    """Return the schema of a query with these components."""
    return pyarrow().schema(
        [owner_part().arrow_field(), *(one.field for one in structs)]
    )


def struct_batch(
    owners: EntityArray,
    structs: Sequence[ComponentStruct],
    arrays: Sequence[Any],
    copy: bool,
) -> Any:
    """Return entities and their structs as a batch."""
    entities = owner_part().array(owners, copy)
    schema = struct_schema(structs)
    return pyarrow().RecordBatch.from_arrays([entities, *arrays], schema=schema)
