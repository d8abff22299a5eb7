"""lookup: direct: the entity is the row, and so is an id. Nothing ever moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import index
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import StaleInstanceError
from ...base.handles import (
    INDEX_MASK,
    NIL,
    NULL_ENTITY,
    Columns,
    Entity,
    EntityArray,
    Id,
    IdArray,
    Instance,
    RowArray,
)
from ...base.specialisation import NO_SLOTS, accelerated, specialised
from ...tables.columns import OwnedRows, owner_column
from ...tables.placement import NO_ROWS
from ...values.array_coercion import as_entities
from .ids import (
    EXHAUSTED_GENERATION,
    SLOT_BITS,
    SLOT_MASK,
    IdMethods,
    ids_of,
    resolve_ids,
    slot_exhausted_error,
)
from .instances import One

NEAR: Final = 16
"""Rows looked at one by one for the last owner, before it is searched."""

SCAN: Final = 4096
"""Rows looked at per step of that search."""


class DirectRows(OwnedRows):
    """Rows with holes; `n` is the highest row in use + 1."""

    __slots__ = NO_SLOTS
    _SAVED_NUMBERS: ClassVar[tuple[str, ...]] = ("_count",)
    _count: int

    def _init_empty(self) -> None:
        super()._init_empty()
        self._count = 0

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which rows are in use, shape (n,): a mask for columns with holes."""
        return self._entity_column[: self._n].astype(np.bool_)

    def _used_rows(self) -> RowArray:
        return self._entity_column[: self._n].nonzero()[0]

    def _used_among(self, rows: RowArray) -> RowArray:
        rows = super()._used_among(rows)
        is_used: NDArray[np.bool_] = self._entity_column[rows] != NULL_ENTITY
        return rows[is_used]

    def clear_objects(self, removed: RowArray) -> None:
        self.empty_objects(removed)

    def shown_rows(self) -> slice | RowArray:
        return super().shown_rows() if self._count == self._n else self._used_rows()

    def without_holes(self, columns: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
        if self._count == self._n:
            return columns
        holes = ~self.present
        copies = {**columns}
        for name in columns.keys() - self._COLUMN_LENGTHS.keys():
            copies[name] = cells = columns[name].copy()
            cells[holes] = None if cells.dtype.hasobject else np.zeros((), cells.dtype)
        return copies

    def _restore(self) -> None:
        super()._restore()
        if self._n and not self._count:  # older snapshots may lack it
            self._count = int(np.count_nonzero(self._entity_column[: self._n]))


class Direct(One):
    """A manager whose rows are entities' indices."""

    __slots__ = NO_SLOTS
    _EVICTS_STALE_ROWS: ClassVar[bool] = True
    data: DirectRows

    def __len__(self) -> int:
        """Return the number of instances; O(1)."""
        return self.data._count

    def __iter__(self) -> Iterator[Entity]:
        """Iterate over the owners, in order of their indices."""
        owners = self.data.entity
        return iter(owners[owners != NULL_ENTITY].tolist())

    @accelerated("entity")
    def entity(self, row: int, /) -> Entity:
        """Return the owner of a row; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return data._entity_cells[row]

    @accelerated("lookup")
    def lookup(self, entity: Entity, /) -> Instance:
        """Return the entity's row, or NIL; O(1)."""
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return row
        return NIL

    @accelerated("remove")
    def remove(self, entity: Entity, /) -> int:
        """Remove the entity's instance, if it has one, and return how many went; O(1)."""
        if self._locks:
            self._raise_if_locked()
        if type(entity) is not int:
            entity = Entity(index(entity))
        data = self.data
        row: Instance = entity & INDEX_MASK  # type: ignore[assignment]  # a call takes time
        if row < data._n and data._entity_cells[row] == entity and entity:
            return self._destroy_row(row)
        return 0

    def lookup_many(self, entities: ArrayLike, /) -> RowArray:
        """Return each entity's row, NIL where it has none, shape (k,); O(k)."""
        handles = as_entities(entities)
        data = self.data
        owners = owner_column(data)[: data._n]
        mask = self._entities.HANDLE_LAYOUT.INDEX_MASK
        return data.BULK.direct_lookup(owners, handles, mask)

    @accelerated("destroy")
    def destroy(self, row: int, /) -> None:
        """Remove one instance; O(1). Nothing moves.

        Raises:
            StaleInstanceError: the row is not in use.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            self._raise_if_locked()
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        self._destroy_row(row)  # type: ignore[arg-type]  # a call takes time

    @specialised
    def _end_below(self, row: int) -> int:
        """Return one more than the highest row below `row` with an owner; O(rows without one)."""
        data = self.data
        cells = data._entity_cells
        for end in range(row, max(row - NEAR, 0), -1):
            if cells[end - 1]:
                return end
        return last_owner(owner_column(data)[: max(row - NEAR, 0)])

    def _plan_compaction(self, removed: RowArray) -> int:
        """Return `n` after the removal of ascending rows."""
        data = self.data
        if len(removed) == data._count:
            return 0
        if removed.item(-1) < data._n - 1:
            return data._n
        cells, pending = data._entity_cells, removed[-NEAR:].tolist()
        end: int = pending.pop()
        for _ in range(NEAR - 1):  # as many as there are left at least, if not all
            if pending and pending[-1] == end - 1:
                pending.pop()
            elif end == 0 or cells[end - 1]:
                return end
            end -= 1
        owners = owner_column(data)[:end].copy()
        owners[removed[: removed.searchsorted(end)]] = NULL_ENTITY
        return last_owner(owners)

    @specialised
    def _compact(self, removed: RowArray, closing: int) -> None:
        data = self.data
        owner_column(data)[removed] = NULL_ENTITY
        data._n = closing
        data._count -= len(removed)

    def _require_row(self, row: object) -> Instance:
        number = super()._require_row(row)
        if not owner_column(self.data)[number]:
            raise self._unused_row_error(number)
        return number

    def _require_rows(self, rows: ArrayLike) -> RowArray:
        checked = super()._require_rows(rows)
        holes = owner_column(self.data)[checked] == 0
        if np.logical_or.reduce(holes):  # `any` is written in Python
            raise self._unused_row_error(int(checked[holes.argmax()]))
        return checked

    def _unused_row_error(self, row: int) -> StaleInstanceError:
        if not 0 <= row < self.data._n:
            return super()._unused_row_error(row)
        name = type(self).__name__
        return StaleInstanceError(f"{name}: row {row} is not in use: its entity has no instance")

    def _dead_rows(self, owners: EntityArray) -> RowArray:
        alive = self._entities.alive_many(owners)
        dead: NDArray[np.bool_] = ~alive & (owners != NULL_ENTITY)
        return dead.nonzero()[0]

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        data = self.data
        needed = self._entities.span(entities)
        if needed > data.allocated:
            data._grow(needed, borrowed)

    def _used_cells(self) -> memoryview[Any]:
        return self.data._entity_cells

    @specialised
    def _has_capacity(self, count: int) -> bool:
        return self._entities.n_used + count <= self.data.allocated

    def _have_no_rows(self, entities: list[int]) -> bool:
        end, owners = self.data._n, self.data._entity_cells
        for row in map(self._entities.slot_finder(), entities):
            if row < end and owners[row] != NULL_ENTITY:
                return False
        return True

    def _surely_have_no_rows(self, entities: EntityArray) -> bool:
        return bool(self._entities.slots(entities).min() >= self.data._n)

    def _rows_to_evict(self, entities: EntityArray) -> RowArray:
        if self._surely_have_no_rows(entities):
            return NO_ROWS
        data = self.data
        rows = self._entities.slots(entities)
        inside = rows < data._n
        rows, heirs = rows[inside], entities[inside]
        owners = owner_column(data)[rows]
        dead = rows[(owners != NULL_ENTITY) & (owners != heirs)]
        return np.sort(dead)


def last_owner(owners: EntityArray) -> int:
    """Return one more than the highest row with an owner; O(rows behind that)."""
    for start in range(len(owners) - 1, -1, -SCAN):
        used = owners[max(start + 1 - SCAN, 0) : start + 1].nonzero()[0]
        if len(used):
            return max(start + 1 - SCAN, 0) + int(used[-1]) + 1
    return 0


class DirectIdRows(DirectRows):
    """Rows with a generation each, which goes on forever. `_peak` rows ever had an instance."""

    __slots__ = NO_SLOTS
    _SAVED_NUMBERS: ClassVar[tuple[str, ...]] = ("_peak",)
    _COLUMN_LENGTHS: ClassVar[Mapping[str, str]] = {"id_generation": "_peak"}
    _peak: int
    _id_generation_column: NDArray[np.uint32]
    _id_generation_cells: memoryview[int]

    def _init_empty(self) -> None:
        super()._init_empty()
        self._peak = 0

    def held_rows(self) -> int:
        return self._peak

    def _is_exhausted(self, row: int) -> bool:
        return self._id_generation_cells[row] == EXHAUSTED_GENERATION

    def _are_exhausted(self, rows: RowArray) -> NDArray[np.bool_]:
        worn: NDArray[np.bool_] = self._id_generation_column[rows] == EXHAUSTED_GENERATION
        return worn


class DirectIds(IdMethods, Direct):
    """A manager whose instances have stable ids that name their rows."""

    __slots__ = NO_SLOTS
    data: DirectIdRows

    @accelerated("id_of")
    def id_of(self, row: int, /) -> Id:
        """Return the stable id of a row: `generation << 32 | row`; O(1)."""
        data = self.data
        if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
            row = self._require_row(row)
        return Id(data._id_generation_cells[row] << SLOT_BITS | row)

    def id_of_many(self, rows: ArrayLike, /) -> IdArray:
        """Return the stable ids of k rows, or of a mask's; O(k)."""
        return ids_of(self._require_rows(rows), self.data._id_generation_column)

    @accelerated("resolve")
    def resolve(self, id: Id, /) -> Instance:
        """Return the row of an id, or NIL if the id is stale; O(1)."""
        if type(id) is not int:
            id = Id(index(id))
        data = self.data
        row = id & SLOT_MASK
        if row < data._n and data._id_generation_cells[row] == id >> SLOT_BITS:
            return Instance(row) if data._entity_cells[row] else NIL
        return NIL

    def resolve_many(self, ids: ArrayLike, /) -> RowArray:
        """Return the row of each of k ids, NIL for stale ids; O(k)."""
        handles = as_entities(ids, "ids")
        data = self.data
        n = data._n
        rows = np.where(data.present, np.arange(n), NIL)
        return resolve_ids(handles, rows, data._id_generation_column[:n])

    def _have_no_rows(self, entities: list[int]) -> bool:
        data, allocated = self.data, self.data.allocated
        for row in map(self._entities.slot_finder(), entities):
            # an exhausted row goes the bulk way, which refuses it in time
            if row < allocated and data._is_exhausted(row):
                return False
        return super()._have_no_rows(entities)

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        rows = self._entities.slots(entities)
        existing = rows[rows < self.data.allocated]
        exhausted = self.data._are_exhausted(existing)
        if exhausted.any():
            raise slot_exhausted_error(type(self).__name__, int(existing[exhausted.argmax()]))
        super()._ensure_capacity(entities, columns, borrowed)
