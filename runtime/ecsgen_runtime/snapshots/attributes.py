"""A world's own attributes, which its user gave it: saved as JSON, or by codecs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import SnapshotError
from .codecs import (
    ATTRIBUTE,
    OTHERS,
    Codecs,
    codec_of,
    encoded_value,
    is_json,
    json_text,
    lacking_codecs,
)
from .documents import Document, Saved, refusal
from .writing import Part, single


def saved_attributes(
    world: Any, name: str, codecs: Codecs
) -> tuple[Document, list[Part]]:
    """Return the attributes that are JSON, and tensors of those that go through a codec.

    Raises:
        SnapshotError: some are not JSON and have no codec; names all of them.
    """
    plain: Document = {}
    parts: list[Part] = []
    lacking = []
    for attribute, value in sorted(_own_attributes(world).items()):
        column = ATTRIBUTE + attribute
        if why := _why_not(world, attribute):
            raise SnapshotError(refusal(name, why))
        if column not in codecs and is_json(value):
            plain[attribute] = value
        elif column not in codecs and OTHERS not in codecs:
            lacking.append(column)
        elif (codec := codec_of(codecs, column)) is not None:
            cells = np.frombuffer(encoded_value(column, codec, value), np.uint8)
            parts.append(single(column, cells))
    if lacking:
        raise lacking_codecs(name, lacking)
    return plain, parts


def too_many_values(name: str, plain: Document, why: str) -> SnapshotError:
    """Return the error of attributes that are JSON but could not be read again."""
    largest = max(plain, key=lambda attribute: len(json_text(plain[attribute])))
    why = f"{why}; give it a codec"
    return SnapshotError(refusal(name, why, ATTRIBUTE + largest))


def attribute_columns(saved: Saved) -> list[str]:
    """Return the attributes of a snapshot that went through a codec: `world.name`."""
    return [tensor for tensor in saved.arrays if tensor.startswith(ATTRIBUTE)]


def without_attributes(saved: Saved, drop: AbstractSet[str]) -> Saved:
    """Return a snapshot without the attributes that the caller drops: `world.name`."""
    kept = {
        name: value
        for name, value in saved.state["attributes"].items()
        if ATTRIBUTE + name not in drop
    }
    dropped = drop & {*attribute_columns(saved)}
    return replace(
        saved,
        state={**saved.state, "attributes": kept},
        arrays={name: it for name, it in saved.arrays.items() if name not in dropped},
    )


def load_attributes(world: Any, saved: Saved, codecs: Codecs) -> None:
    """Set a world's own attributes.

    SnapshotError for names that are no user's; it has the `drop` that loads without them.
    """
    values: dict[str, Any] = dict(saved.state["attributes"])
    names = [column.removeprefix(ATTRIBUTE) for column in attribute_columns(saved)]
    wrong = {it: why for it in (*values, *names) if (why := _why_not(world, it))}
    if wrong:
        wanted = ", ".join(f'"{ATTRIBUTE}{attribute}"' for attribute in wrong)
        saved.refuse(f"{'; '.join(wrong.values())}; drop=[{wanted}] loads without")
    for attribute, column in zip(names, attribute_columns(saved), strict=True):
        codec = codec_of(codecs, column)
        if codec is not None:
            values[attribute] = codec[1](saved.arrays[column].tobytes())
    for attribute, value in values.items():
        setattr(world, attribute, value)


def _own_attributes(world: Any) -> Mapping[str, Any]:
    """Return what users gave a world: in its dict, and in slots of subclasses."""
    found = {name: v for name, v in vars(world).items() if name not in world._PARTS}
    for name in _own_slots(type(world)):
        if hasattr(world, name):
            found[name] = getattr(world, name)
    return found


def _own_slots(kind: type[Any]) -> Iterator[str]:
    for base in kind.__mro__:
        if "_PARTS" in vars(base):
            return
        slots = vars(base).get("__slots__", ())
        names = [slots] if isinstance(slots, str) else slots
        yield from (name for name in names if name not in ("__dict__", "__weakref__"))


def _why_not(world: Any, attribute: str) -> str:
    """Return why no attribute of a user's has this name, or nothing."""
    generated = next(base for base in type(world).__mro__ if "_PARTS" in vars(base))
    if not attribute.isidentifier():
        return f"{attribute!r} is no name of an attribute"
    if attribute in world._PARTS or hasattr(generated, attribute):
        return f"{attribute!r} is the world's own, and no attribute of a user's"
    own = getattr(type(world), attribute, None)
    if callable(own):
        return f"{attribute!r} is a method of {type(world).__name__}"
    if isinstance(own, property) and own.fset is None:
        return f"{attribute!r} is a property of {type(world).__name__} with no setter"
    return ""
