"""Which tensors a schema asks for: their names, types and shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Final, NamedTuple

import numpy as np

from ...convert.arrays import shown
from ..cell_types import CellType, cell_type, split_columns
from ..codecs import ATTRIBUTE
from ..contents import LENGTHS
from ..documents import Document, Saved, state_key
from ..policies import policies_of

RNG_WORDS: Final = 625
COLD: Final = "cold"
_SPARE: Final = 1 << 24
"""Bytes of padding that nobody misses."""
_ANY: Final = -1
"""A size that nothing else tells."""


class WantedTensor(NamedTuple):
    """What a tensor must be. Those with a `pair` may be absent, together with the other."""

    dtype: str
    shape: tuple[int, ...]
    pair: str = ""


class StoredColumn(NamedTuple):
    """A column that stores a field, or an element of a split one."""

    name: str
    type: CellType
    field: Document


def check_tensors(saved: Saved) -> None:
    """Refuse tensors that are lacking, that nobody asks for, or of another type or shape."""
    wanted: dict[str, WantedTensor] = {}
    for name, tensor in _wanted(saved):
        if name in wanted:
            saved.refuse("the schema has two of this name", name)
        wanted[name] = tensor
    pairs = {tensor.pair for name, tensor in wanted.items() if name in saved.arrays}
    for name, tensor in wanted.items():
        if name in saved.arrays:
            _check_tensor(saved, name, tensor)
        elif not tensor.pair or tensor.pair in pairs:
            saved.refuse("there is no such tensor", name)
    for name, array in saved.arrays.items():
        if name in wanted:
            continue
        attribute = name.removeprefix(ATTRIBUTE)
        if attribute == name or not attribute.isidentifier():
            saved.refuse("the schema has no such tensor", shown(name))
        if array.dtype != np.uint8 or array.ndim != 1:
            saved.refuse("wanted flat U8", name)


def check_room(saved: Saved, nbytes: int) -> None:
    """Refuse files smaller than the buffers that their rows and slots make necessary.

    Rows that slots were numbered for need room, too, and in a file padding stands for it.
    """
    needed = 0
    for component in saved.schema["components"].values():
        if not component["ids"] or component["in"] != "managers":
            continue
        peak = saved.state[state_key(component["module"])]["peak"]
        needed += peak * _row_bytes(saved, component)
        if needed > nbytes + _SPARE:
            where = f"{component['module']}.id_generation"
            saved.refuse(f"room for {peak} rows is more than the file has", where)


def _row_bytes(saved: Saved, component: Document) -> int:
    """Return the bytes per row of a manager's buffer."""
    return sum(
        prod(tensor.shape[1:]) * np.dtype(tensor.dtype).itemsize
        for name, tensor in _of_manager(saved, component)
        if not (tensor.pair or name == "_map" or name.startswith(f"{COLD}."))
    )


def _check_tensor(saved: Saved, name: str, wanted: WantedTensor) -> None:
    array = saved.arrays[name]
    shape = wanted.shape
    fits = len(shape) == array.ndim and all(
        size in (given, _ANY) for size, given in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != np.dtype(wanted.dtype):
        sizes = ", ".join("any" if size == _ANY else str(size) for size in shape)
        given = f"{array.dtype} of shape {list(array.shape)}"
        saved.refuse(
            f"{given}, wanted {np.dtype(wanted.dtype)} of shape [{sizes}]", name
        )


def _wanted(saved: Saved) -> Iterator[tuple[str, WantedTensor]]:
    yield "entities.handles", WantedTensor("u8", (_ANY,))
    yield "entities.free", WantedTensor("u4", (_ANY,))
    yield "entities.noted", WantedTensor("u8", (_ANY,), "noted")
    cells: Counter[str] = Counter()
    if "archetypes" in saved.state:
        n = sum(count for _, count in saved.state["archetypes"]["tables"])
        yield "archetypes.entity", WantedTensor("u8", (n,))
        cells = _chunked_cells(saved)
    for name, component in saved.schema["components"].items():
        if component["in"] == "managers":
            columns = _of_manager(saved, component)
        else:
            columns = _of_fields(saved, component, cells[name], None)
        for column, tensor in columns:
            yield f"{component['module']}.{column}", tensor


def _chunked_cells(saved: Saved) -> Counter[str]:
    """Return how many cells the columns of each component in chunks have."""
    cells: Counter[str] = Counter()
    for names, count in saved.state["archetypes"]["tables"]:
        for name in names:
            cells[name] += count
    return cells


def _of_manager(
    saved: Saved, component: Document
) -> Iterator[tuple[str, WantedTensor]]:
    numbers = saved.state[state_key(component["module"])]
    n = numbers["n"]
    if component["owner"] == "entity":
        yield "entity", WantedTensor("u8", (n,))
    for facts in policies_of(component):
        for name, length in facts.columns.items():
            yield name, WantedTensor("u4", (numbers[length],))
    if component["owner"] == "entity" and component["lookup"] == "sparse":
        yield "_map", WantedTensor("u4", (_ANY,))
    if component["owner"] == "entity" and component["destroy"] == "gc":
        yield "_rng", WantedTensor("u4", (RNG_WORDS,), f"{component['module']}._rng")
    if component["cold"] != "indirect":
        yield from _of_fields(saved, component, n, None)
        return
    yield from _of_fields(saved, component, n, False)
    n_cold = numbers["n_cold"]
    for name, tensor in _of_fields(saved, component, n_cold, True):
        yield f"{COLD}.{name}", tensor


def _of_fields(
    saved: Saved, component: Document, n: int, cold: bool | None
) -> Iterator[tuple[str, WantedTensor]]:
    """Yield the tensors of n cells of the fields: of the cold ones, the others, or all."""
    for name, type_, field in stored_columns(saved.schema, component):
        if cold not in (None, field[COLD]):
            continue
        if type_.base == "object":
            pair = f"{component['module']}.{name}"
            yield name, WantedTensor("u1", (_ANY,), pair)
            yield name + LENGTHS, WantedTensor("i8", (n,), pair)
        else:
            shape = (n, *type_.cell_shape)
            yield name, WantedTensor(type_.dtype.str[1:], shape)


def stored_columns(schema: Document, component: Document) -> Iterator[StoredColumn]:
    """Yield the columns that store a component's fields; of split ones, one per element."""
    for name, field in component["fields"].items():
        type_ = cell_type(field["type"], schema["enums"])
        if field["split"]:
            for part in split_columns(name, type_):
                yield StoredColumn(part, type_.of_shape(()), field)
        else:
            yield StoredColumn(name, type_, field)


def field_tensors(
    saved: Saved, component: Document
) -> Iterator[tuple[str, StoredColumn]]:
    """Yield the tensors that hold a component's fields, without lengths of objects."""
    is_indirect = component["cold"] == "indirect" and component["in"] == "managers"
    for column in stored_columns(saved.schema, component):
        beside = f"{COLD}." if is_indirect and column.field[COLD] else ""
        yield f"{component['module']}.{beside}{column.name}", column
