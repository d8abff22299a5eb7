"""Operations on many rows in numpy, their tuning, and short cuts for a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, EntityArray, RowArray
from ..values.field_types import FieldTable
from ..values.interchange import is_object_column
from .placement import sort_distinct

_BLOCK: Final = 65_536
"""Entities per step: the scratch stays in the second-level cache."""


def sparse_lookup(
    rows_of: NDArray[np.uint32], owners: EntityArray, entities: EntityArray, index_mask: int
) -> RowArray:
    """Return the row of each entity, NIL where it has none; 3 ns per entity.

    `owners` are the rows in use. The owner's whole handle decides, so stale handles
    find nothing; an index behind the map or an entry of NIL is clipped to a row that
    belongs to another entity.
    """
    count = len(entities)
    rows = np.empty(count, np.intp)
    if len(owners) == 0:
        rows.fill(NIL)
        return rows
    size = min(count, _BLOCK)
    index = np.empty(size, np.uint64)
    row = np.empty(size, np.uint32)
    mask = np.uint64(index_mask)
    for start in range(0, count, _BLOCK):
        wanted = entities[start : start + _BLOCK]
        k = len(wanted)
        np.bitwise_and(wanted, mask, out=index[:k])
        rows_of.take(index[:k].view(np.intp), out=row[:k], mode="clip")
        rows[start : start + k] = row[:k]
    owner = index  # not needed any more
    for start in range(0, count, _BLOCK):  # one table after the other fills the cache
        wanted = entities[start : start + _BLOCK]
        block = rows[start : start + _BLOCK]
        k = len(wanted)
        owners.take(block, out=owner[:k], mode="clip")
        other = owner[:k] != wanted
        if other.any():
            block[other] = NIL
    return rows


def direct_lookup(owners: EntityArray, entities: EntityArray, index_mask: int) -> RowArray:
    """Return the row of each entity, NIL where it has none; O(k)."""
    if len(owners) == 0:
        return np.full(len(entities), NIL, np.intp)
    rows = (entities & np.uint64(index_mask)).view(np.intp)
    is_owner = owners.take(rows, mode="clip") == entities
    is_owner &= entities != 0
    return np.where(is_owner, rows, NIL)


def group_by(keys: NDArray[np.intp], count: int) -> tuple[RowArray, RowArray]:
    """Return where the members of each of `count` groups begin, shape (count + 1,), and the members
    group by group, ascending in each. `keys`: the group of each member. O(k log k + count)."""
    starts = np.zeros(count + 1, np.intp)
    np.cumsum(np.bincount(keys, minlength=count), out=starts[1:])
    members: RowArray
    if count <= 1 << 16:  # numpy counts, and does not compare, numbers of 16 bits
        members = keys.astype(np.uint16).argsort(kind="stable")
    else:  # and sorts values quicker than an order: each has its member in its low bits
        bits = len(keys).bit_length()
        members = keys << bits
        members |= np.arange(len(keys))
        members.sort()
        members &= (1 << bits) - 1
    return starts, members


class Bulk:
    """Bulk operations by numpy; `CompiledBulk` has them as loops.

    `BULK` of a manager's rows is the one in use.
    """

    sparse_lookup = staticmethod(sparse_lookup)
    direct_lookup = staticmethod(direct_lookup)
    sort_distinct = staticmethod(sort_distinct)
    group_by = staticmethod(group_by)


# The thresholds decide from how many rows on something is done in another way.
# Processors decide what is best. Results are the same whatever the sizes are, and
# tests override them by small ones, so that a few rows take every way.


class Tuning:
    """Thresholds and block sizes, read at each bulk operation."""

    block_rows: ClassVar[tuple[int, int]] = (1024, 65536)
    """The least and the most rows of a block that kernels go over; powers of two."""
    join_block_rows: ClassVar[int] = 65_536
    """Candidates per step of a join: numpy's calls take no time, and the step fits a cache."""
    cached_random_rows: ClassVar[int] = 16_384
    """Rows in any order that a cache holds."""
    cached_random_bytes: ClassVar[int] = 1 << 20
    """Bytes that a processor reads in any order without waiting long."""
    fast_copy_sizes: ClassVar[tuple[int, ...]] = (1, 2, 4, 8, 16, 32)
    """Sizes of cells that numpy copies without a call, so that many loads overlap."""
    reorder_block_rows: ClassVar[int] = 16_384
    """Cells reordered at once: a core's own cache holds them."""
    sample_count: ClassVar[int] = 16
    sample_length: ClassVar[int] = 256
    """Number of adjacent rows in a sample."""
    max_cached_tuples: ClassVar[int] = 16_384
    """Number of rows kept as tuples: making one takes longer than a loop's step."""
    tuple_batch: ClassVar[int] = 1024
    """Number of tuples that a loop over a query makes ahead."""

    @classmethod
    @contextmanager
    def override(cls, **sizes: Any) -> Iterator[None]:
        """Override tuning inside the `with` block, as `Tuning.override(sample_count=2)`; for tests.

        AttributeError for an unknown name.
        """
        before = {name: getattr(cls, name) for name in sizes}
        try:
            for name, size in sizes.items():
                setattr(cls, name, size)
            yield
        finally:
            for name, size in before.items():
                setattr(cls, name, size)


# Small batches: the functions below return None for anything but plain lists, arrays and values
# that fit. The bulk way then takes all types, and raises for bad ones.


SMALL_REMOVAL: Final = 6
"""At most so many rows are removed one by one."""

_FEW_VALUES: Final = 2
"""At most so many rows are created of different values one by one: arrays check more faster."""

_PLAIN: Final = frozenset((bool, int, float, str, bytes, tuple))
"""Types of plain values."""

_SEVERAL: Final = frozenset((list, tuple))


def are_cells(table: FieldTable, fields: Mapping[str, Any]) -> bool:
    """Return whether these are fields, each with a plain value of one cell."""
    try:
        for name, value in fields.items():
            if type(value) not in _PLAIN:
                return False
            table[name][0].to_cell(value)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return True


def small_values(
    table: FieldTable, fields: Mapping[str, Any], count: int
) -> Sequence[Mapping[str, Any]] | None:
    """Return the checked fields of each of a few new rows; None if the bulk way must check them."""
    if not fields:
        return [{}] * count
    shared: dict[str, Any] = {}
    columns: dict[str, Sequence[Any]] = {}
    try:
        for name, value in fields.items():
            field = table[name][0]
            is_array = type(value) is np.ndarray
            if is_array and value.ndim and count > _FEW_VALUES:
                return None
            if field.dtype is None and (
                is_array or type(value) is list or is_object_column(type(value))
            ):
                return None  # one object for each row, or a column that may have nulls
            if is_array and value.dtype.kind not in "biuf":
                return None  # times, for one, would be numbers in a list
            if is_array:
                value = value.tolist()  # it may be a view of rows that move meanwhile
            try:
                field.to_cell(value)
                shared[name] = value
            except (TypeError, ValueError):
                if count > _FEW_VALUES or type(value) not in _SEVERAL:
                    return None
                if len(value) != count:
                    return None
                columns[name] = value
                for cell in value:
                    field.to_cell(cell)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    if not columns:
        return [shared] * count
    rows = zip(*columns.values(), strict=True)
    return [{**shared, **dict(zip(columns, row, strict=True))} for row in rows]
