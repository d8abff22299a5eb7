"""Attributes that users set on a world: JSON, arrays, random generators, and what codecs take."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..world.world_base import WorldBase
from .documents import (
    ARRAYS,
    ATTRIBUTE,
    ATTRIBUTES,
    GENERATORS,
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
_POSITIONS: Final = {"MT19937": 624, "Philox": 4}
"""The last position among the words that are ready, of those that have some."""


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
    cells: dict[str, NDArray[Any]] = {}
    arrays: list[str] = []
    others: dict[str, object] = {}
    for attribute, value in sorted(own_attributes(world).items()):
        column = ATTRIBUTE + attribute
        if why := _why_not(world, attribute):
            refuse(name, why)
        if column in codecs:
            others[column] = value
        elif is_json(value):
            plain[attribute] = value
        elif type(value) is np.ndarray and value.dtype in NAMES:
            arrays.append(attribute)
            array = np.asarray(value, order="C")
            # of bools, whatever bytes are behind them
            cells[column] = array.view(np.uint8) != 0 if array.dtype == np.bool_ else array
        elif _is_generator(value):
            generators[attribute] = _as_json(value.bit_generator.state)
        else:
            others[column] = value
    require_codecs(name, codecs, others)
    for column, value in others.items():
        if (codec := codec_of(codecs, column)) is not None:
            cells[column] = np.frombuffer(encoded_value(column, codec, value), np.uint8)
    entries: Document = {ATTRIBUTES: plain}
    entries |= {ARRAYS: arrays} if arrays else {}
    entries |= {GENERATORS: generators} if generators else {}
    return entries, [single(column, array) for column, array in sorted(cells.items())]


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


def _generator(state: Any) -> np.random.Generator:
    """Return the generator of a saved state; LookupError, ValueError, OverflowError or TypeError
    without one."""
    name = state.get("bit_generator") if type(state) is dict else None
    if name not in _BIT_GENERATORS:
        raise ValueError("no bit generator of numpy")
    bits: np.random.BitGenerator = getattr(np.random, name)()
    bits.state = state
    if _sorted_json(_as_json(bits.state)) != _sorted_json(state):
        raise ValueError("other entries")
    # numpy believes it, and reads there
    position = state["state"].get("pos", state.get("buffer_pos", 0))
    if not 0 <= position <= _POSITIONS.get(name, 0):
        raise ValueError(f"{position} is no position")
    return np.random.Generator(bits)


def _sorted_json(state: Any) -> str:
    return json.dumps(state, sort_keys=True)


def encoded_attributes(saved: SnapshotContent) -> list[str]:
    """Return the attributes of a snapshot that went through a codec: `world.name`."""
    arrays = saved.state.get(ARRAYS, [])
    tensors = (tensor for tensor in saved.arrays if tensor.startswith(ATTRIBUTE))
    return [tensor for tensor in tensors if tensor.removeprefix(ATTRIBUTE) not in arrays]


def without_attributes(saved: SnapshotContent, drop: AbstractSet[str]) -> SnapshotContent:
    """Return a snapshot without the attributes that the caller drops: `world.name`, or its time."""
    names = {column.removeprefix(ATTRIBUTE) for column in drop if column.startswith(ATTRIBUTE)}
    state = dict(saved.state)
    for key, dropped in ((ATTRIBUTES, names), (GENERATORS, names), (WORLD, names & {"tick"})):
        state[key] = {name: v for name, v in state.get(key, {}).items() if name not in dropped}
    state[ARRAYS] = [name for name in state.get(ARRAYS, []) if name not in names]
    arrays = dict(saved.arrays)
    for name in names:
        arrays.pop(ATTRIBUTE + name, None)
    return replace(saved, state=state, arrays=arrays)


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
        except (LookupError, ValueError, OverflowError, TypeError) as error:
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
