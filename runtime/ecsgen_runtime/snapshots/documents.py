"""Content of a snapshot: JSON from files that anybody may have written, arrays, and codecs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any, Final, NoReturn, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.errors import SnapshotError, short_repr
from ..base.handles import HandleLayout

Document: TypeAlias = dict[str, Any]
"""A JSON object."""

WORLD: Final = "world"
"""Key of the world itself in `state`, if it has anything; the name of no module."""
ATTRIBUTES, ARRAYS, GENERATORS = "attributes", "arrays", "generators"
"""Keys of the world's own attributes in `state`: those that are JSON, the names of those that are
tensors, and the states of random generators; the last two only if there are some."""
_TAKEN: Final = frozenset({"entities", "archetypes", "groups", ATTRIBUTES, ARRAYS, GENERATORS})
"""Keys of `state` that are no modules."""


SETTINGS: Final = "settings"
"""Key of the settings in `schema` and in `state`, and the name of their component."""


def plain_component(module: str, lookup: str, destroy: str, **entries: Any) -> Document:
    """Return the document of a component of one instance without owner, but for these entries."""
    plain: Document = {"in": "managers", "owner": "none", "instances": "one", "cold": "inline"}
    plain |= {"ids": False, "partition": "", "hierarchy": ""}
    return {"module": module, **plain, "lookup": lookup, "destroy": destroy, **entries}


def with_settings(schema: Document, even_none: bool = False) -> Document:
    """Return a schema in which the settings are one more component, a grid of one cell, if there
    are some; `even_none`: or if there are none."""
    fields = schema.get(SETTINGS, {})
    if not (fields or even_none):
        return schema
    component = plain_component(SETTINGS, "sparse", "gc", grid=1, fields=fields)
    return {**schema, "components": {**schema["components"], SETTINGS: component}}


def without_settings(schema: Document) -> Document:
    """Return a schema as files have it: the settings are no component."""
    components = {name: part for name, part in schema["components"].items() if name != SETTINGS}
    return {**schema, "components": components}


def handle_layout(schema: Document) -> HandleLayout:
    """Return the bits of a schema's handles."""
    bits = schema["entity"]
    return HandleLayout(bits["index_bits"], bits["generation_bits"], 0, bits.get("shard_bits", 0))


def state_key(module: str) -> str:
    """Return the key of a manager in `state`."""
    return f"{module}_" if module in _TAKEN else module


@dataclass(frozen=True)
class SnapshotContent:
    """The content of a snapshot, of any schema. The arrays are not copied, and may be read-only."""

    name: str
    """The file's name, or `<bytes>`: every message begins with it."""
    schema: Document
    state: Document
    arrays: Mapping[str, NDArray[Any]]
    """Arrays by tensor: `point_mass.position`; without padding."""

    def refuse(self, why: str, tensor: str = "", cell: int | None = None) -> NoReturn:
        """Raise SnapshotError that names the file, then the tensor and cell if given."""
        refuse(self.name, why, tensor, cell)

    def refuse_first(self, wrong: NDArray[np.bool_], why: str, tensor: str) -> None:
        """Refuse the first cell that is wrong, if any is; `why` may show `{cell}`, what is in it,
        as an `{entity}` too, and its `{place}`."""
        if wrong.any():
            index = int(wrong.argmax())
            cell = self.arrays[tensor][index].item()
            entity = self.shown(cell) if "{entity}" in why else ""
            text = why.format(cell=cell, entity=entity, place=index)
            self.refuse(text, tensor, index)

    def shown(self, entity: SupportsIndex) -> str:
        """Return one of its entities as messages have it: `5v1 (4294967301)`."""
        return handle_layout(self.schema).format_handle(entity)


def refuse(file: str, why: str, tensor: str = "", cell: int | None = None) -> NoReturn:
    """Raise SnapshotError: `town.snap: body.layer[17]: 300 does not fit u8`."""
    where = tensor if cell is None else f"{tensor}[{cell}]"
    raise SnapshotError(f"{file}: {where}: {why}" if where else f"{file}: {why}")


_FEW: Final = 1 << 18
"""Lists, and half as many objects, that any text may have."""
_LIST_BYTES: Final = 8
"""Of text for each further list, and twice as many for an object. With fewer on average, hardly
anything is in them, and they take many times the memory of their text.
"""
_BLOCK: Final = 1 << 16


def why_too_many(text: str) -> str:
    """Return why a JSON text has too many lists and objects to be read, or nothing; O(len(text)).

    Far less memory is taken than to read them.
    """
    most = _FEW + len(text) // _LIST_BYTES
    if text.count("[") + 2 * text.count("{") <= most:  # those in strings, too
        return ""
    lists, objects = _lists_and_objects(text)
    if lists + 2 * objects <= most:
        return ""
    return f"{lists} lists and {objects} objects are too many for {len(text)} bytes"


def _lists_and_objects(text: str) -> tuple[int, int]:
    """Return the numbers of lists and objects that begin outside of strings; O(len(text))."""
    stored = text.encode("utf-8", "surrogatepass")
    stored = stored.replace(b"\\\\", b"").replace(b'\\"', b"")
    lists = objects = 0
    is_inside = np.False_
    for start in range(0, len(stored), _BLOCK):
        block = np.frombuffer(stored[start : start + _BLOCK], np.uint8)
        inside = np.logical_xor.accumulate(block == ord('"')) ^ is_inside
        lists += int(np.count_nonzero((block == ord("[")) & ~inside))
        objects += int(np.count_nonzero((block == ord("{")) & ~inside))
        is_inside = inside[-1]
    return lists, objects


def parsed_json(text: str, subject: str, file: str) -> Any:
    """Return the value of a JSON text; O(len(text)).

    Raises SnapshotError, which says `what` it is of, for what is no JSON (NaN and infinities among
    it), names that are there twice, floats beyond their range, integers of thousands of digits,
    brackets that are nested too deep, and, before any is read, too many lists and objects.
    """
    if why := why_too_many(text):
        refuse(file, f"{subject}: {why}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated = next(name for name, count in counts.items() if count > 1)
            refuse(file, f"{subject}: {short_repr(repeated)} is there twice")
        return entries

    def finite(digits: str) -> float:
        number = float(digits)
        if number - number != 0:
            refuse(file, f"{subject}: {short_repr(digits)} is beyond the range of floats")
        return number

    def constant(name: str) -> NoReturn:
        refuse(file, f"{subject}: {name} is no JSON")

    try:
        return json.loads(text, object_pairs_hook=once, parse_float=finite, parse_constant=constant)
    except SnapshotError:
        raise
    except json.JSONDecodeError as error:
        why = f"{subject}: no JSON: {error.msg} at character {error.pos}"
    except RecursionError:
        why = f"{subject}: brackets are nested too deep"
    except ValueError:
        why = f"{subject}: an integer has too many digits"
    refuse(file, why)


# Objects go through a codec, a pair of functions `(to_bytes, from_bytes)`. Attributes
# that are JSON need none. Nothing is ever unpickled.

_Pair: TypeAlias = tuple[Callable[[Any], bytes], Callable[[bytes], Any]]

Codec: TypeAlias = _Pair | None
"""How a value becomes bytes, and they a value; None leaves the column out."""

Codecs: TypeAlias = Mapping[str, Codec]
"""By column, `effect.handle`, or attribute, `world.name`; `*` stands for all others."""

OTHERS: Final = "*"
ATTRIBUTE: Final = "world."
NOTHING: Final = -1
"""The length of a cell that is None."""

_DEEPEST: Final = 200
"""Lists in lists that are still JSON: readers have their limits, too."""
_JSON: Final = {type(None), bool, int, float, str, list, dict}
_INT_BITS: Final = 8192
"""Longer integers are not: readers refuse so many digits."""


def check_codecs(codecs: Any, columns: Iterable[str]) -> Codecs:
    """Return codecs that are for columns of objects, or for attributes.

    Raises:
        ValueError: there is no such column.
        TypeError: one is no pair of functions, and not None.
    """
    if codecs is None:
        return {}
    if not isinstance(codecs, Mapping):
        raise TypeError(f"codecs: wanted a dict by column, not {type(codecs).__name__}")
    known = {*columns, OTHERS}
    for name, codec in codecs.items():
        if name not in known and not str(name).startswith(ATTRIBUTE):
            columns_text = ", ".join(sorted(known - {OTHERS})) or "there are none"
            raise ValueError(f"codecs: {name!r} is no column of objects: {columns_text}")
        is_pair = isinstance(codec, (tuple, list)) and len(codec) == 2
        if codec is not None and not (is_pair and all(map(callable, codec))):
            wanted = "a pair (to_bytes, from_bytes), or None"
            raise TypeError(f"codecs: {name!r} takes {wanted}")
    return codecs


def require_codecs(name: str, codecs: Codecs, columns: Iterable[str]) -> None:
    """Raise SnapshotError that names all columns without an entry."""
    lacking = [column for column in columns if column not in codecs]
    if lacking and OTHERS not in codecs:
        entries = ", ".join(f'"{column}": (to_bytes, from_bytes)' for column in lacking)
        why = f"no codec for {', '.join(lacking)}; give codecs={{{entries}}}"
        refuse(name, f"{why}, or None for a pair to leave one out")


def codec_of(codecs: Codecs, column: str) -> Codec:
    """Return the codec of a column."""
    return codecs[column] if column in codecs else codecs.get(OTHERS)


def encoded_value(column: str, codec: _Pair, value: object) -> bytes:
    """Return the bytes that a codec makes of a value; TypeError if they are no bytes."""
    part: object = codec[0](value)
    if not isinstance(part, bytes | bytearray | memoryview):
        kind = type(part).__name__
        raise TypeError(f"the codec of {column} made {kind}, not bytes")
    return bytes(part)


def is_json(value: object) -> bool:
    """Return True if JSON gives a value back unchanged, by exact types; O(values).

    Level by level: a list, then all that is in it, then all that is in these. A value that several
    lists have is looked into once.
    """
    level: list[Any] = [value]
    for depth in range(_DEEPEST + 1):
        if not set(map(type, level)) <= _JSON:
            return False
        if any(type(it) is int and it.bit_length() > _INT_BITS for it in level):
            return False
        if not all(isfinite(it) for it in level if type(it) is float):
            return False
        lists = {id(it): it for it in level if type(it) is list}.values()
        dicts = {id(it): it for it in level if type(it) is dict}.values()
        if depth == _DEEPEST and (lists or dicts):
            return False
        if not set(map(type, chain.from_iterable(dicts))) <= {str}:
            return False
        level = [*chain.from_iterable(lists)]
        level += chain.from_iterable(it.values() for it in dicts)
        if not level:
            break
    return True


def json_text(document: Any) -> str:
    """Return a document as text, the same for equal ones."""
    return json.dumps(document, separators=(",", ":"), allow_nan=False)
