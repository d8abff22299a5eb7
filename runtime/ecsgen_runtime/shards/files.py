"""Parcels as files: the body behind a JSON header, as safetensors has it."""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from ..errors import SnapshotError
from ..snapshots.atomic import replacing
from ..snapshots.documents import parsed_json
from .parcels import ParcelError, ParcelPlan, header_nbytes, header_of, nbytes_of

if TYPE_CHECKING:
    from .parcels import ParcelBase

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
