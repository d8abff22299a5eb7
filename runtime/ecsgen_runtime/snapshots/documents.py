"""What a snapshot says: JSON from files that anybody may have written, and arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..convert.arrays import shown
from ..errors import SnapshotError

# --- What a snapshot says, once it is read and before a world is made of it: documents
# and arrays.


Document: TypeAlias = dict[str, Any]
"""A JSON object."""


WORLD: Final = "world"
"""Where `state` has what is said of the world itself, if there is anything; no module's name."""
_TAKEN: Final = frozenset({"entities", "archetypes", "groups", "attributes"})
"""What else `state` has beside modules."""


def state_key(module: str) -> str:
    """Return where `state` has what is said of a manager."""
    return f"{module}_" if module in _TAKEN else module


@dataclass(frozen=True)
class Saved:
    """The content of a snapshot, of any schema. The arrays are not copied, and may be read-only."""

    name: str
    """Of its file, or `<bytes>`: every message begins with it."""
    schema: Document
    state: Document
    arrays: Mapping[str, NDArray[Any]]
    """By tensor: `point_mass.position`; without padding."""

    def refuse(self, why: str, tensor: str = "", cell: int | None = None) -> NoReturn:
        """Raise SnapshotError that says where: the file, then the tensor and cell if given."""
        raise SnapshotError(refusal(self.name, why, tensor, cell))


def refusal(name: str, why: str, tensor: str = "", cell: int | None = None) -> str:
    """Return a message that says where: `town.snap: body.layer[17]: 300 does not fit u8`."""
    where = tensor if cell is None else f"{tensor}[{cell}]"
    return f"{name}: {where}: {why}" if where else f"{name}: {why}"


# --- JSON from files that anybody may have written ------------------------------------


_FEW: Final = 1 << 18
"""Lists, and half as many objects, that any text may have."""
_LIST_BYTES: Final = 8
"""Of text for each further list, and twice as many for an object. With fewer on average, hardly
anything is in them, and they take many times the memory of their text.
"""
_BLOCK: Final = 1 << 16


def refuse(file: str, why: str, tensor: str = "") -> NoReturn:
    """Raise SnapshotError for a file of this name."""
    raise SnapshotError(refusal(file, why, tensor))


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
    """Return how many lists and objects begin outside of strings, block by block."""
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


def parsed_json(text: str, what: str, file: str) -> Any:
    """Return what a JSON text says; O(len(text)).

    Raises SnapshotError, which says `what` it is of, for what is no JSON (NaN and infinities among
    it), names that are there twice, floats beyond their range, integers of thousands of digits,
    brackets that are nested too deep, and, before any is read, too many lists and objects.
    """
    if why := why_too_many(text):
        refuse(file, f"{what}: {why}")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            refuse(file, f"{what}: {shown(_repeated(pairs))} is there twice")
        return found

    def finite(digits: str) -> float:
        number = float(digits)
        if number - number != 0:
            refuse(file, f"{what}: {shown(digits)} is beyond the range of floats")
        return number

    def constant(name: str) -> NoReturn:
        refuse(file, f"{what}: {name} is no JSON")

    try:
        return json.loads(
            text,
            object_pairs_hook=once,
            parse_float=finite,
            parse_constant=constant,
        )
    except SnapshotError:
        raise
    except json.JSONDecodeError as error:
        why = f"{what}: no JSON: {error.msg} at character {error.pos}"
    except RecursionError:
        why = f"{what}: brackets are nested too deep"
    except ValueError:
        why = f"{what}: an integer has too many digits"
    refuse(file, why)


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            break
        seen.add(name)
    return name
