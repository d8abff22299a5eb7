"""How what leaves a world becomes the bytes of a parcel, and a file."""

from __future__ import annotations

import json
import os
import pickle
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..buffers import Column
from ..errors import SnapshotError
from ..handles import NIL, EntityArray, RowArray
from ..snapshots.atomic import replacing
from ..snapshots.documents import parsed_json
from .leaving import Leaving
from .parcels import (
    LENGTH,
    Component,
    ParcelError,
    ParcelPlan,
    header_nbytes,
    header_of,
    nbytes_of,
    plan_of,
    starts_of,
    view_of,
)

if TYPE_CHECKING:
    from .parcels import ParcelBase


# --- Parcels as files: the body behind a JSON header, as safetensors has it -----------


_KINDS: Final = {"u": "U", "i": "I", "f": "F"}
_MOST: Final = 1 << 24


def save_parcel(parcel: ParcelBase, path: str | os.PathLike[str]) -> None:
    """Write a parcel into a path."""
    plan = parcel._plan()
    body = parcel.buffer[header_nbytes(plan) :]
    tensors: dict[str, Any] = {
        "entities": _tensor("U64", [len(parcel)], 0, 8 * len(parcel))
    }
    shift = header_nbytes(plan)
    for number in plan.order:
        column, start = plan.columns[number], parcel._starts[number] - shift
        count = parcel._counts[column.table]
        end = start + count * column.nbytes
        tensors[column.name] = _tensor(*_kind(column, count), start, end)
    said = {
        "ecsgen_parcel": "1",
        "crc32": f"{zlib.crc32(body.data):08x}",
        "fingerprint": plan.fingerprint.hex(),
        "counts": json.dumps(parcel._counts, separators=(",", ":")),
    }
    text = json.dumps({"__metadata__": said, **tensors}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as file:
        for part in (len(text).to_bytes(8, "little"), text, body.data):
            left = memoryview(part).cast("B")
            while len(left):
                left = left[file.write(left) :]


def load_parcel(plan: ParcelPlan, path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Return the bytes of the parcel in a path."""
    name = os.path.basename(os.fsdecode(path))
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > _MOST:
            raise ParcelError(f"{name}: no parcel")
        text, body = file.read(size), file.read()
    try:
        said = parsed_json(text.decode(), "the header", name)["__metadata__"]
        version, crc = said["ecsgen_parcel"], int(said["crc32"], 16)
        fingerprint = bytes.fromhex(said["fingerprint"])
        counts = parsed_json(said["counts"], "the counts", name)
    except SnapshotError as error:
        raise ParcelError(str(error)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise ParcelError(f"{name}: no parcel: {error}") from None
    if version != "1" or fingerprint != plan.fingerprint:
        raise ParcelError(f"{name}: a parcel of other schemas, or of another format")
    if zlib.crc32(body) != crc:
        raise ParcelError(f"{name}: the checksum is another: cut off, or damaged")
    if len(counts) != plan.n_tables or not all(
        type(n) is int and n >= 0 for n in counts
    ):
        raise ParcelError(f"{name}: rows of other tables")
    rest = nbytes_of(plan, 0, counts) - header_nbytes(plan)
    n = (len(body) - rest) // 8
    head = header_of(plan, max(n, 0), counts)
    return np.concatenate((head.view(np.uint8), np.frombuffer(body, np.uint8)))


def _tensor(dtype: str, shape: list[int], start: int, end: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def _kind(column: Any, count: int) -> tuple[str, list[int]]:
    """Return the type and shape of a column's tensor."""
    dtype, shape = column.dtype, [count, *column.shape]
    if dtype.kind == "b":
        return "BOOL", shape
    if dtype.kind in _KINDS:
        return f"{_KINDS[dtype.kind]}{8 * dtype.itemsize}", shape
    return "U8", [*shape, dtype.itemsize]


# --- How what leaves a world becomes the bytes of a parcel ----------------------------


Source: TypeAlias = tuple[Any, tuple[tuple[Column, int], ...], RowArray]
"""Data of a manager, columns of it with their numbers in the parcel, and rows."""


def packed(world: Any, found: Leaving) -> NDArray[np.uint8]:
    """Return the bytes of a parcel of what leaves."""
    plan = plan_of(type(world))
    counts = [0] * plan.n_tables
    cells: dict[int, NDArray[Any]] = {}
    sources: list[Source] = []
    for one in plan.managed:
        rows = found.rows.get(one.attribute)
        if rows is None or len(rows) == 0:
            continue
        manager = getattr(world, one.attribute)
        counts[one.table] = len(rows)
        if one.is_owned:
            is_whole = one.is_one and len(rows) == len(found.entities)
            owners = found.entities if is_whole else manager.data._entity_column[rows]
            cells[one.columns["entity"]] = owners
        cells.update(_bookkeeping(one, manager, rows))
        sources.append((manager.data, one.sources, rows))
        if one.cold:
            _pack_cold(plan, one, manager, rows, counts, cells, sources)
        if one.objects:
            _pack_objects(plan, one, manager, rows, counts, cells)
    if plan.chunked:
        world._store._pack(plan, found.entities, counts, cells)
    return _laid_out(plan, found.entities, counts, cells, sources)


def pickled(values: list[Any]) -> NDArray[np.uint8]:
    """Return objects as bytes."""
    return np.frombuffer(pickle.dumps(values, protocol=4), np.uint8)


def _laid_out(
    plan: ParcelPlan,
    entities: EntityArray,
    counts: list[int],
    cells: Mapping[int, NDArray[Any]],
    sources: list[Source],
) -> NDArray[np.uint8]:
    n, head = len(entities), header_of(plan, len(entities), counts)
    nbytes, starts = head.item(LENGTH), starts_of(plan, n, counts)
    words = np.empty(-(-nbytes // 8), np.uint64)
    words[: len(head)] = head
    words[len(head) : len(head) + n] = entities
    buffer = words.view(np.uint8)[:nbytes]
    for data, columns, rows in sources:
        held, allocated, count = data._buffer, data._allocated, len(rows)
        for column, number in columns:
            nbytes, item = column.nbytes, plan.columns[number].item
            first, start = column.before * allocated, starts[number]
            source = held[first : first + nbytes * allocated].view(item)
            target = buffer[start : start + nbytes * count].view(item)
            source.take(rows, out=target, mode="clip")
    for number, values in cells.items():
        packed_column = plan.columns[number]
        count = counts[packed_column.table]
        view_of(buffer, starts[number], count, packed_column)[:] = values
    return buffer


def _bookkeeping(
    one: Component, manager: Any, rows: RowArray
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield what stands for ids, links and parts of rows."""
    data, columns = manager.data, one.columns
    if "~id" in columns:
        yield columns["~id"], manager._ids_in(rows)
    if "~active" in columns:
        yield columns["~active"], rows < data._n_active
    if "~parent" in columns:
        place = np.full(data._n, NIL, np.uint32)
        place[rows] = np.arange(len(rows), dtype=np.uint32)
        parents = data._parent_column[rows]
        has_parent = (parents != NIL).nonzero()[0]
        above = np.full(len(rows), NIL, np.uint32)
        above[has_parent] = place[parents[has_parent]]
        yield columns["~parent"], above
        yield columns["~rank"], _ranks(data, rows, above)


def _ranks(data: Any, rows: RowArray, above: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return where each row stands among its siblings, 0 for roots."""
    ranks = np.zeros(len(rows), np.uint32)
    place = np.full(data._n, NIL, np.uint32)
    place[rows] = np.arange(len(rows), dtype=np.uint32)
    here, rank = data._first_child_column[rows], 0
    here = here[here != NIL]
    while len(here):
        ranks[place[here]] = rank
        here = data._next_sibling_column[here]
        here, rank = here[here != NIL], rank + 1
    return ranks


def _pack_cold(
    plan: ParcelPlan,
    one: Component,
    manager: Any,
    rows: RowArray,
    counts: list[int],
    cells: dict[int, NDArray[Any]],
    sources: list[Source],
) -> None:
    """Take along the cold rows of those that have one."""
    places = manager.data._cold_row_column[rows]
    which = (places != NIL).nonzero()[0]
    places = places[which].astype(np.intp)
    counts[plan.columns[one.cold["~row"]].table] = len(which)
    cells[one.cold["~row"]] = which
    if len(which):
        sources.append((manager.data._cold, one.cold_sources, places))


def _pack_objects(
    plan: ParcelPlan,
    one: Component,
    manager: Any,
    rows: RowArray,
    counts: list[int],
    cells: dict[int, NDArray[Any]],
) -> None:
    """Take along pickles of all objects of rows."""
    for field, number in one.objects.items():
        data, name = manager.data, f"_{field}_column"
        if name in data.OBJECTS:
            values = getattr(data, name)[rows].tolist()
        else:
            places = data._cold_row_column[rows].tolist()
            column = getattr(data._cold, name)
            values = [None if k == NIL else column[k] for k in places]
        cells[number] = pickled(values)
        counts[plan.columns[number].table] = len(cells[number])
