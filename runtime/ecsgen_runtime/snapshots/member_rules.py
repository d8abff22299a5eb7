"""Enums and flags as others: by the names of their members, never by their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .cell_types import CellType
from .number_rules import BadCellError, as_number

MemberNames: TypeAlias = Mapping[str, str | None]
"""What each member of an enum is called now; None for those that are removed."""


def member_names(
    old: CellType, new: CellType, renamed: MemberNames
) -> dict[str, str | None]:
    """Return what becomes of an enum's members; those that nobody knows any more are left out.

    `renamed`: former members of the new enum, and what they are called now or None.
    """
    found: dict[str, str | None] = {}
    for name in old.members:
        if name in new.members:
            found[name] = name
        elif name in renamed:
            found[name] = renamed[name]
    return found


def as_member(
    cells: NDArray[Any],
    old: CellType,
    new: CellType,
    names: MemberNames,
    defaults: NDArray[Any],
) -> NDArray[Any]:
    """Return members as those of the same name; `defaults`, one cell's, where they are removed."""
    order = sorted(old.members, key=old.members.__getitem__)
    numbers = np.array([old.members[name] for name in order], np.uint64)
    known = np.array([name in names for name in order], np.bool_)
    removed = np.array([name in names and names[name] is None for name in order])
    targets = [new.members.get(names.get(name) or "", 0) for name in order]
    wide = cells.astype(np.uint64, copy=False)
    place = np.minimum(np.searchsorted(numbers, wide), len(numbers) - 1)
    exists = numbers[place] == wide
    bad = ~exists | ~known[place]
    if bad.any():
        element = int(bad.argmax())
        _refuse(cells, element, order[int(place.flat[element])], old, new)
    found = np.array(targets, new.dtype)[place]
    if removed.any():
        found = np.where(removed[place], defaults, found)
    return found


def as_flags(
    cells: NDArray[Any],
    old: CellType,
    new: CellType,
    names: MemberNames,
    defaults: NDArray[Any],
) -> NDArray[Any]:
    """Return flags as those of the same names, of which removed ones go.

    A cell that had no other flags than these gets its default, `defaults` of one cell.
    """
    wide = cells.astype(np.uint64, copy=False)
    found = np.zeros(cells.shape, np.uint64)
    left = wide.copy()
    kept = np.zeros(cells.shape, np.bool_)
    for name, number in old.members.items():
        if number.bit_count() != 1 or name not in names:
            continue
        has_it, now = wide & np.uint64(number) != 0, names[name]
        left &= ~np.uint64(number)
        if now is not None:
            kept |= has_it
            found[has_it] |= np.uint64(new.members[now])
    if left.any():
        element = int((left != 0).argmax())
        bit = int(left.flat[element]) & -int(left.flat[element])
        known = {number: name for name, number in old.members.items()}
        _refuse(cells, element, known.get(bit, hex(bit)), old, new)
    emptied = (wide != 0) & ~kept
    stored = found.astype(new.dtype)
    return np.where(emptied, defaults, stored) if emptied.any() else stored


def number_as_member(cells: NDArray[Any], old: str, new: CellType) -> NDArray[Any]:
    """Return numbers as the members of an enum, or flags, that have these."""
    try:
        stored = as_number(cells, old, new)
    except BadCellError as error:
        raise _no_number(cells, error.element, new) from None
    if new.base == "flags":
        bad = stored & ~stored.dtype.type(new.mask) != 0
    else:
        numbers = np.array(list(new.members.values()), stored.dtype)
        bad = ~np.isin(stored, numbers)
    if bad.any():
        raise _no_number(cells, int(bad.argmax()), new)
    return stored


def _no_number(cells: NDArray[Any], element: int, new: CellType) -> BadCellError:
    number = cells.reshape(-1)[element].item()
    return BadCellError(element, f"{number!r} is no number of {new.target}")


def _refuse(
    cells: NDArray[Any], element: int, name: str, old: CellType, new: CellType
) -> None:
    number = int(cells.reshape(-1)[element])
    if old.base == "enum" and old.members.get(name) != number:
        why = f"{number} is no number of {old.target}"
    else:
        why = f"{new.target} has no member {name!r}"
    raise BadCellError(element, why)
