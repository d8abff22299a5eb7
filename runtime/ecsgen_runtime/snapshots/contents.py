"""What of a world goes into a snapshot: columns as tensors, parts, and `state`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ..columns.buffers import whole_pages, whole_rows
from ..columns.rows import Rows
from ..manager import Manager
from .codecs import Codecs, codec_of, decoded, encoded
from .documents import WORLD, Document, Saved, state_key
from .writing import Part, Tensor, single

# --- Columns as tensors, and back: text is bytes in rows, objects go through codecs ---


LENGTHS: Final = "._lengths"
"""What the name of a tensor with the lengths of encoded objects ends with."""


def object_parts(
    tensor: str, column: str, cells: NDArray[np.object_], codecs: Codecs
) -> Iterator[Part]:
    """Return what a codec makes of a column: its bytes, and their lengths."""
    found = encoded(column, codec_of(codecs, column), cells)
    if found is not None:
        yield single(tensor, found[0])
        yield single(tensor + LENGTHS, found[1])


def as_cells(tensor: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a tensor as cells of a column of this type: text is stored as bytes in rows."""
    if dtype.kind == "S":
        return tensor.view(dtype)[..., 0]
    return tensor


def loaded_objects(
    saved: Saved, tensor: str, column: str, codecs: Codecs, count: int
) -> NDArray[np.object_]:
    """Return the objects that a codec makes of their bytes; None where it leaves them out, and
    for all `count` of them if they were not saved."""
    cells = np.full(count, None, np.object_)
    if tensor + LENGTHS in saved.arrays:
        lengths = saved.arrays[tensor + LENGTHS]
        values = decoded(codec_of(codecs, column), saved.arrays[tensor], lengths)
        for row, value in enumerate(values):
            cells[row] = value
    return cells


# --- What of a world goes into a snapshot: parts with tensors, and `state` ------------
#
# Each policy says itself what it holds (`_saved_columns`, `_extras` and the like), for
# pickles as for snapshots; here that gets its names and places in the file.


class OtherRows(Protocol):
    """Rows that are in no manager, but in chunks."""

    def object_columns(self) -> list[str]:
        """Return the fields that are Python objects: `weapon.model`."""

    def state(self) -> Document:
        """Return what is said of them in `state`."""

    def parts(self, codecs: Codecs, /) -> Iterator[Part]:
        """Return their tensors."""

    def load(self, saved: Saved, codecs: Codecs, /) -> None:
        """Take the rows of a snapshot in, where there are none; O(n)."""


def managers_of(world: Any) -> dict[str, Manager]:
    """Return a world's managers by module, in its order."""
    return {name: getattr(world, name) for name in world.MANAGERS}


def object_columns(world: Any) -> list[str]:
    """Return the fields that are Python objects: `effect.handle`."""
    found = [
        f"{module}.{field}"
        for module, manager in managers_of(world).items()
        for rows in (manager.data, *manager.data._parts().values())
        for field in rows._saved_objects()
    ]
    chunked = world._chunked_rows()
    return found if chunked is None else [*found, *chunked.object_columns()]


# --- tensors ----------------------------------------------------------------------------


def parts_of(world: Any, codecs: Codecs) -> Iterator[Part]:
    """Return all tensors of a world, in places from which they can be mapped; views mostly."""
    yield from _entity_parts(world)
    for module, manager in managers_of(world).items():
        yield from _manager_parts(module, manager, codecs)
    chunked = world._chunked_rows()
    if chunked is not None:
        yield from chunked.parts(codecs)


def _entity_parts(world: Any) -> Iterator[Part]:
    state = world.entities.__getstate__()
    yield single("entities.handles", state["handles"])
    yield single("entities.free", state["free"].astype(np.uint32))
    noted = world._noted_entities()
    if len(noted):
        yield single("entities.noted", noted)


def _manager_parts(module: str, manager: Manager, codecs: Codecs) -> Iterator[Part]:
    yield rows_part(module, manager.data)
    for name, array in manager._extras().items():
        yield single(f"{module}.{name}", array)
    yield from _object_parts(module, module, manager.data, codecs)
    for name, rows in manager.data._parts().items():
        yield rows_part(f"{module}.{name}", rows)
        yield from _object_parts(f"{module}.{name}", module, rows, codecs)


def rows_part(prefix: str, rows: Rows) -> Part:
    """Return columns as they lie in a buffer of the smallest capacity that holds them."""
    places, size = layout_of(rows, rows._held_rows())
    tensors = [
        Tensor(f"{prefix}.{name}", column, places[name])
        for name, column in rows._without_holes(rows._saved_columns()).items()
    ]
    return Part(tuple(tensors), size)


def layout_of(rows: Rows, held: int) -> tuple[dict[str, int], int]:
    """Return the first byte of each column in the smallest buffer, and the bytes of that."""
    capacity = whole_rows(held)
    places = {column.name: column.offset(capacity) for column in rows.LAYOUT}
    return places, whole_pages(rows.ROW_BYTES * capacity)


def _object_parts(
    prefix: str, module: str, rows: Rows, codecs: Codecs
) -> Iterator[Part]:
    for field, cells in rows._without_holes(rows._saved_objects()).items():
        yield from object_parts(f"{prefix}.{field}", f"{module}.{field}", cells, codecs)


# --- state ------------------------------------------------------------------------------


def state_of(world: Any, attributes: Document) -> Document:
    """Return the numbers of a world, and those of its attributes that are JSON."""
    state: Document = {"entities": {"n_retired": world.entities._n_retired}}
    for module, manager in managers_of(world).items():
        state[state_key(module)] = _numbers(manager.data) | manager._notes()
    chunked = world._chunked_rows()
    if chunked is not None:
        state["archetypes"] = chunked.state()
    state["groups"] = {name: getattr(world, name).n for name in world.GROUPS}
    if notes := world._notes():
        state[WORLD] = notes
    state["attributes"] = attributes
    return state


def _numbers(rows: Rows) -> Document:
    """Return the numbers that policies hold, and how many rows there are of other parts."""
    numbers = {name[1:]: number for name, number in rows._saved_numbers().items()}
    parts: Mapping[str, Rows] = rows._parts()
    return numbers | {f"n_{name}": part._n for name, part in parts.items()}
