"""Lookup of the rows of entities for compiled loops."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from ..base.handles import NIL
from ..base.jit import intrinsic_of, jit
from ..managers.policies.lookup_maps import Mapped
from ..managers.policies.owners import entities_of
from ..tables.columns import owner_column
from . import arithmetic

TABLE_FACTOR: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""Factor that spreads entities over a table: odd, without a pattern in its bits."""


def live_row_table(manager: Mapped) -> tuple[NDArray[np.uint64], NDArray[np.int64], np.uint64]:
    """Return the alive entities with rows, their first rows, and `shift`, as an open hash table.

    The search for an entity begins at slot `e * TABLE_FACTOR >> shift`, and ends at the entity or
    at 0. O(n).
    """
    rows = manager.first_rows()
    owners = owner_column(manager.data)[rows]
    alive = entities_of(manager).are_alive(owners)
    return open_table(owners[alive], rows[alive])


def open_table(
    owners: NDArray[np.uint64], rows: NDArray[np.intp]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], np.uint64]:
    """Return distinct numbers and their rows as an open hash table; O(k)."""
    bits = max(2, (2 * len(owners)).bit_length())
    return *_inserted(owners, rows, bits), np.uint64(64 - bits)


@jit()
def _inserted(
    owners: NDArray[np.uint64], rows: NDArray[np.intp], bits: int
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    keys, first_rows = np.zeros(1 << bits, np.uint64), np.full(1 << bits, NIL, np.int64)
    for k in range(len(owners)):
        slot = np.int64(owners[k] * TABLE_FACTOR >> np.uint64(64 - bits))
        while keys[slot] != 0:
            slot = (slot + 1) % len(keys)
        keys[slot] = owners[k]
        first_rows[slot] = rows[k]
    return keys, first_rows


def _as_assumption(context: Any, row: Any) -> Any:
    """Return a code generator that passes a number on and assumes that it is not negative."""

    def assume(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        is_row = builder.icmp_signed(">=", arguments[0], arguments[0].type(0))
        builder.assume(is_row)
        return arguments[0]

    return row(row), assume


@intrinsic_of(_as_assumption)
def _assume_row(row: Any) -> Any:
    """Return a number as it is."""
    return row


@jit(forceinline=True)
def as_row(row: Any) -> Any:
    """Return a row, which is not negative: compiled code need not test whether it is."""
    return _assume_row(row)


def _as_prefetch(context: Any, column: Any, row: Any) -> Any:
    """Return a code generator that has one cell of a column fetched into the cache."""

    def fetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        cells = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(cells, [arguments[1]]), cgutils.voidptr_t)
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", (cgutils.voidptr_t,), kind)
        builder.call(prefetch, [address, number(0), number(3), number(1)])  # to read, often, data
        return context.get_dummy_value()

    return types.void(column, row), fetch


@intrinsic_of(_as_prefetch)
def _prefetch(column: Any, row: Any) -> None:
    """Have a cell fetched into the cache."""


_LINKS_AHEAD: Final = 32
"""Number of links after which a cell that is fetched has come."""


@jit(forceinline=True)
def fetch_ahead(column: Any, rows: Any, link: Any) -> None:
    """Have the cell of a later link's neighbour fetched into the cache."""
    _prefetch(column, as_row(rows[as_row(min(link + _LINKS_AHEAD, len(rows) - 1))]))


@jit()
def row_at(rows: NDArray[np.intp], position: int) -> Any:
    """Return the row at a position; of consecutive rows only the first is stored."""
    return as_row(_row_at(rows, position))


_row_at: Final = jit()(arithmetic.row_at)


@jit()
def rows_of_block(rows: NDArray[np.intp], start: int, end: int) -> NDArray[np.intp]:
    """Return a slice of rows in the form that `row_at` reads."""
    if len(rows) > 1:
        return rows[start:end]
    first = np.empty(1, np.intp)
    first[0] = rows[0] + start
    return first
