"""Content of a world for a snapshot: columns as tensors, parts, `state`, attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..managers.manager import BaseManager
from ..tables.buffers import round_up_pages, round_up_rows
from ..tables.columns import Rows
from ..world.world_base import WorldBase
from .chunk_serialisation import chunk_serialiser
from .documents import (
    ATTRIBUTE,
    OTHERS,
    WORLD,
    Codecs,
    Document,
    SnapshotContent,
    codec_of,
    encoded_value,
    is_json,
    refuse,
    require_codecs,
    state_key,
)
from .saved_world import SavedWorld
from .stored_columns import object_parts
from .writing import Tensor, TensorGroup, single

if TYPE_CHECKING:
    from .snapshot_format import SnapshotFormat


# Each policy says itself what it holds (`saved_columns`, `extra_arrays` and the like), for
# pickles as for snapshots; here that gets its names and places in the file.


def managers_of(world: WorldBase) -> dict[str, BaseManager]:
    """Return a world's managers by module, in its order."""
    return {name: getattr(world, name) for name in world.MANAGERS}


def object_columns(world: SavedWorld) -> list[str]:
    """Return the fields that are Python objects: `effect.handle`."""
    columns = [
        f"{module}.{field}"
        for module, manager in managers_of(world).items()
        for rows in (manager.data, *manager.data.subtables().values())
        for field in rows.saved_objects()
    ]
    chunked = chunk_serialiser(world)
    return columns if chunked is None else [*columns, *chunked.object_columns()]


def serialise_tensors(
    world: SavedWorld, saving: SnapshotFormat, codecs: Codecs
) -> Iterator[TensorGroup]:
    """Return all tensors of a world, in places from which they can be mapped; views mostly."""
    state = world.entities.__getstate__()
    for name, dtype in saving.ENTITY_TENSORS.items():
        yield single(f"entities.{name}", state[name].astype(dtype, copy=False))
    noted = world.noted_entities()
    if len(noted):
        yield single("entities.noted", noted)
    for module, manager in managers_of(world).items():
        yield rows_part(module, manager.data)
        for name, array in manager.extra_arrays().items():
            yield single(f"{module}.{name}", array)
        yield from _object_parts(module, module, manager.data, codecs)
        for name, rows in manager.data.subtables().items():
            yield rows_part(f"{module}.{name}", rows)
            yield from _object_parts(f"{module}.{name}", module, rows, codecs)
    chunked = chunk_serialiser(world)
    if chunked is not None:
        yield from chunked.parts(codecs)


def rows_part(prefix: str, rows: Rows) -> TensorGroup:
    """Return columns as they lie in a buffer of the smallest capacity that holds them."""
    places, size = layout_of(rows, rows.held_rows())
    tensors = [
        Tensor(f"{prefix}.{name}", column, places[name])
        for name, column in rows.without_holes(rows.saved_columns()).items()
    ]
    return TensorGroup(tuple(tensors), size)


def layout_of(rows: Rows, held: int) -> tuple[dict[str, int], int]:
    """Return the first byte of each column in the smallest buffer, and the bytes of that."""
    capacity = round_up_rows(held)
    places = {column.name: column.offset(capacity) for column in rows.LAYOUT}
    return places, round_up_pages(rows.ROW_BYTES * capacity)


def _object_parts(prefix: str, module: str, rows: Rows, codecs: Codecs) -> Iterator[TensorGroup]:
    for field, cells in rows.without_holes(rows.saved_objects()).items():
        yield from object_parts(f"{prefix}.{field}", f"{module}.{field}", cells, codecs)


def serialise_state(world: SavedWorld, saving: SnapshotFormat, attributes: Document) -> Document:
    """Return the numbers of a world, and those of its attributes that are JSON."""
    entities = world.entities.__getstate__()
    state: Document = {"entities": {key: entities[key] for key in saving.ENTITY_NUMBERS}}
    for module, manager in managers_of(world).items():
        rows = manager.data
        numbers = {name[1:]: number for name, number in rows.saved_numbers().items()}
        numbers |= {f"n_{name}": part.n for name, part in rows.subtables().items()}
        state[state_key(module)] = numbers | manager.json_state()
    chunked = chunk_serialiser(world)
    if chunked is not None:
        state["archetypes"] = chunked.state()
    state["groups"] = {name: getattr(world, name).n for name in world.GROUPS}
    if notes := world.json_state():
        state[WORLD] = notes
    state["attributes"] = attributes
    return state


def saved_attributes(
    world: WorldBase, name: str, codecs: Codecs
) -> tuple[Document, list[TensorGroup]]:
    """Return the attributes that are JSON, and tensors of those that go through a codec.

    Raises:
        SnapshotError: some are not JSON and have no codec; names all of them.
    """
    plain: Document = {}
    parts: list[TensorGroup] = []
    lacking = []
    for attribute, value in sorted(own_attributes(world).items()):
        column = ATTRIBUTE + attribute
        if why := _why_not(world, attribute):
            refuse(name, why)
        if column not in codecs and is_json(value):
            plain[attribute] = value
        elif column not in codecs and OTHERS not in codecs:
            lacking.append(column)
        elif (codec := codec_of(codecs, column)) is not None:
            cells = np.frombuffer(encoded_value(column, codec, value), np.uint8)
            parts.append(single(column, cells))
    require_codecs(name, codecs, lacking)
    return plain, parts


def attribute_columns(saved: SnapshotContent) -> list[str]:
    """Return the attributes of a snapshot that went through a codec: `world.name`."""
    return [tensor for tensor in saved.arrays if tensor.startswith(ATTRIBUTE)]


def without_attributes(saved: SnapshotContent, drop: AbstractSet[str]) -> SnapshotContent:
    """Return a snapshot without the attributes that the caller drops: `world.name`, or its time."""
    kept_attributes = {
        name: value
        for name, value in saved.state["attributes"].items()
        if ATTRIBUTE + name not in drop
    }
    dropped = drop & {*attribute_columns(saved)}
    notes = dict(saved.state.get(WORLD, {}))
    if f"{ATTRIBUTE}tick" in drop:
        notes.pop("tick", None)
    return replace(
        saved,
        state={**saved.state, WORLD: notes, "attributes": kept_attributes},
        arrays={name: array for name, array in saved.arrays.items() if name not in dropped},
    )


def load_attributes(world: WorldBase, saved: SnapshotContent, codecs: Codecs) -> None:
    """Set a world's own attributes.

    SnapshotError for names that are no user's, or a time that the world has not; it has the `drop`
    that loads without them.
    """
    values: dict[str, Any] = dict(saved.state["attributes"])
    names = [column.removeprefix(ATTRIBUTE) for column in attribute_columns(saved)]
    wrong = {name: why for name in (*values, *names) if (why := _why_not(world, name))}
    tick = saved.state.get(WORLD, {}).get("tick", 0)
    if tick and not hasattr(world, "tick"):
        wrong["tick"] = f"{type(world).__name__} has no time, which is {tick} here"
    if wrong:
        wanted = ", ".join(f'"{ATTRIBUTE}{attribute}"' for attribute in wrong)
        saved.refuse(f"{'; '.join(wrong.values())}; drop=[{wanted}] loads without")
    for attribute, column in zip(names, attribute_columns(saved), strict=True):
        codec = codec_of(codecs, column)
        if codec is not None:
            values[attribute] = codec[1](saved.arrays[column].tobytes())
    for attribute, value in values.items():
        setattr(world, attribute, value)


def own_attributes(world: WorldBase) -> Mapping[str, Any]:
    """Return the attributes that users set: in a world's dict, and in slots of subclasses."""
    attributes = {name: v for name, v in vars(world).items() if name not in world.READ_ONLY}
    for name in _own_slots(type(world)):
        if hasattr(world, name):
            attributes[name] = getattr(world, name)
    return attributes


def _own_slots(kind: type[Any]) -> Iterator[str]:
    for base in kind.__mro__:
        if "READ_ONLY" in vars(base):
            return
        slots = vars(base).get("__slots__", ())
        names = [slots] if isinstance(slots, str) else slots
        yield from (name for name in names if name not in ("__dict__", "__weakref__"))


def _why_not(world: WorldBase, attribute: str) -> str:
    """Return the reason why users cannot set an attribute of this name, or ""."""
    generated = next(base for base in type(world).__mro__ if "READ_ONLY" in vars(base))
    if not attribute.isidentifier():
        return f"{attribute!r} is no name of an attribute"
    if attribute in world.READ_ONLY or hasattr(generated, attribute):
        return f"{attribute!r} is the world's own, and no attribute of a user's"
    member = getattr(type(world), attribute, None)
    if callable(member):
        return f"{attribute!r} is a method of {type(world).__name__}"
    if isinstance(member, property) and member.fset is None:
        return f"{attribute!r} is a property of {type(world).__name__} with no setter"
    return ""
