"""Attributes that users set on a world: JSON, arrays, random generators, and what codecs take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..world.world_base import WorldBase
from .documents import (
    ARRAYS,
    ATTRIBUTE,
    ATTRIBUTES,
    GENERATORS,
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
)
from .header import NAMES
from .writing import TensorGroup, single

_BIT_GENERATORS: Final = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")


def saved_attributes(
    world: WorldBase, name: str, codecs: Codecs
) -> tuple[Document, list[TensorGroup]]:
    """Return the entries of `state` for attributes, and tensors of arrays and of those that go
    through a codec.

    Raises:
        SnapshotError: some are not JSON and have no codec; names all of them.
    """
    plain: Document = {}
    generators: Document = {}
    arrays: list[str] = []
    parts: list[TensorGroup] = []
    lacking = []
    for attribute, value in sorted(own_attributes(world).items()):
        column = ATTRIBUTE + attribute
        if why := _why_not(world, attribute):
            refuse(name, why)
        if column in codecs:
            codec = codecs[column]
            if codec is not None:
                cells = np.frombuffer(encoded_value(column, codec, value), np.uint8)
                parts.append(single(column, cells))
        elif is_json(value):
            plain[attribute] = value
        elif type(value) is np.ndarray and value.dtype in NAMES:
            arrays.append(attribute)
            cells = np.asarray(value, order="C")
            if cells.dtype == np.bool_:
                cells = cells.view(np.uint8) != 0  # whatever bytes are behind them
            parts.append(single(column, cells))
        elif _is_generator(value):
            generators[attribute] = _as_json(value.bit_generator.state)
        elif OTHERS not in codecs:
            lacking.append(column)
        elif (codec := codecs[OTHERS]) is not None:
            cells = np.frombuffer(encoded_value(column, codec, value), np.uint8)
            parts.append(single(column, cells))
    require_codecs(name, codecs, lacking)
    entries: Document = {ATTRIBUTES: plain}
    entries |= {ARRAYS: arrays} if arrays else {}
    entries |= {GENERATORS: generators} if generators else {}
    return entries, parts


def _is_generator(value: object) -> bool:
    if type(value) is not np.random.Generator:
        return False
    name = type(value.bit_generator).__name__
    return name in _BIT_GENERATORS and type(value.bit_generator) is getattr(np.random, name)


def _as_json(state: Any) -> Any:
    """Return the state of a bit generator with lists for arrays and plain numbers."""
    if isinstance(state, Mapping):
        return {key: _as_json(value) for key, value in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def _like(template: Any, state: Any) -> Any:
    """Return a state of the kinds and shapes that a template has; ValueError for another one."""
    if isinstance(template, Mapping):
        if type(state) is not dict or state.keys() != template.keys():
            raise ValueError("other entries")
        return {key: _like(value, state[key]) for key, value in template.items()}
    if isinstance(template, np.ndarray):
        array = np.array(state, template.dtype)
        if array.shape != template.shape:
            raise ValueError("other shapes")
        return array
    if type(state) is not (str if isinstance(template, str) else int):
        raise ValueError("other types")
    return state


def _generator(state: Any) -> np.random.Generator:
    """Return the generator of a saved state; ValueError, OverflowError or TypeError without one."""
    name = state.get("bit_generator") if type(state) is dict else None
    if name not in _BIT_GENERATORS:
        raise ValueError("no bit generator of numpy")
    bits: np.random.BitGenerator = getattr(np.random, name)()
    bits.state = _like(bits.state, state)
    return np.random.Generator(bits)


def encoded_attributes(saved: SnapshotContent) -> list[str]:
    """Return the attributes of a snapshot that went through a codec: `world.name`."""
    arrays = saved.state.get(ARRAYS, [])
    tensors = (tensor for tensor in saved.arrays if tensor.startswith(ATTRIBUTE))
    return [tensor for tensor in tensors if tensor.removeprefix(ATTRIBUTE) not in arrays]


def without_attributes(saved: SnapshotContent, drop: AbstractSet[str]) -> SnapshotContent:
    """Return a snapshot without the attributes that the caller drops: `world.name`, or its time."""
    state = dict(saved.state)
    for key in (ATTRIBUTES, GENERATORS):
        entries = state.get(key, {})
        state[key] = {name: v for name, v in entries.items() if ATTRIBUTE + name not in drop}
    state[ARRAYS] = [name for name in state.get(ARRAYS, []) if ATTRIBUTE + name not in drop]
    notes = dict(saved.state.get(WORLD, {}))
    if f"{ATTRIBUTE}tick" in drop:
        notes.pop("tick", None)
    dropped = {tensor for tensor in saved.arrays if tensor.startswith(ATTRIBUTE)} & drop
    return replace(
        saved,
        state={**state, WORLD: notes},
        arrays={name: array for name, array in saved.arrays.items() if name not in dropped},
    )


def load_attributes(world: WorldBase, saved: SnapshotContent, codecs: Codecs) -> None:
    """Set a world's own attributes.

    SnapshotError for names that are no user's, or a time that the world has not; it has the `drop`
    that loads without them.
    """
    state, columns = saved.state, encoded_attributes(saved)
    values: dict[str, Any] = dict(state[ATTRIBUTES])
    arrays = [name for name in state.get(ARRAYS, []) if ATTRIBUTE + name in saved.arrays]
    generators = state.get(GENERATORS, {})
    names = [column.removeprefix(ATTRIBUTE) for column in columns]
    every = (*values, *arrays, *generators, *names)
    wrong = {name: why for name in every if (why := _why_not(world, name))}
    tick = state.get(WORLD, {}).get("tick", 0)
    if tick and not hasattr(world, "tick"):
        wrong["tick"] = f"{type(world).__name__} has no time, which is {tick} here"
    if wrong:
        wanted = ", ".join(f'"{ATTRIBUTE}{attribute}"' for attribute in wrong)
        saved.refuse(f"{'; '.join(wrong.values())}; drop=[{wanted}] loads without")
    values |= {name: saved.arrays[ATTRIBUTE + name].copy() for name in arrays}
    for name, generator in generators.items():
        try:
            values[name] = _generator(generator)
        except (ValueError, OverflowError, TypeError) as error:
            saved.refuse(f"is no state of a random generator: {error}", ATTRIBUTE + name)
    for attribute, column in zip(names, columns, strict=True):
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
