"""Values of one field type as another: one table, for loading and for `ecsgen breaking`.

A rule converts whole arrays, exactly or not at all, and says beforehand what may happen: nothing
(""), that a value does not fit ("E902"), or that there is no rule ("E903").
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .cell_types import HANDLES, NUMBERS, TEXTS, CellType, bits
from .member_rules import (
    MemberNames,
    as_flags,
    as_member,
    member_names,
    number_as_member,
)
from .number_rules import BadCellError, always_fits, as_number
from .text_rules import as_text

MAY_NOT_FIT: Final = "E902"
NO_RULE: Final = "E903"


class Change(NamedTuple):
    """What a field is in an old schema and in a new one."""

    old: CellType
    new: CellType
    names: MemberNames
    """What an enum's members are called now; None for those that are removed."""


class BadRowError(Exception):
    """The first row that can't be converted, None if it is the type, and why."""

    def __init__(self, row: int | None, why: str) -> None:
        super().__init__(why)
        self.row = row
        self.why = why


class Rule(NamedTuple):
    """How cells of one type become cells of another."""

    verdict: Callable[[Change], str]
    convert: Callable[[NDArray[Any], Change, NDArray[Any]], NDArray[Any]]
    """Takes cells, and the default of a cell of the same shape."""


def change_of(old: CellType, new: CellType, renamed: MemberNames) -> Change:
    """Return what there is to know of a change of types.

    `renamed`: former members of the new type's enum, with what they are called now, or None for
    removed ones.
    """
    return Change(old, new, member_names(old, new, renamed))


def verdict(change: Change) -> str:
    """Return "" if every value can be loaded, else the code of what may happen."""
    old, new, _ = change
    rule = RULES.get((old.base, new.base))
    if rule is None or len(old.shape) != len(new.shape):
        return NO_RULE
    found = rule.verdict(change)
    is_smaller = any(a > b for a, b in zip(old.shape, new.shape, strict=True))
    return found or (MAY_NOT_FIT if is_smaller else "")


def is_same_in_files(change: Change) -> bool:
    """Return whether every cell stays what it is, byte for byte."""
    old, new, names = change
    if (old.base, old.cell_shape, old.dtype) != (new.base, new.cell_shape, new.dtype):
        return False
    if old.base == "id":
        return old.target == new.target
    return all(
        (now := names.get(name)) is not None and new.members[now] == number
        for name, number in old.members.items()
    )


def converted(
    cells: NDArray[Any],
    change: Change,
    old_default: NDArray[Any],
    new_default: NDArray[Any],
) -> NDArray[Any]:
    """Return a column, shape (n, *shape), as one of the new type; O(n).

    It is the same array if nothing is to be done.

    Raises:
        BadRowError: a value does not fit, or there are rows and no rule.
    """
    if is_same_in_files(change):
        return cells
    old, new, _ = change
    if len(cells) == 0:
        return np.empty((0, *new.cell_shape), new.dtype)
    if verdict(change) == NO_RULE:
        raise BadRowError(None, f"no rule makes {new.text} of {old.text}")
    if old.shape == new.shape:
        return _converted_elements(cells, change, new_default)
    common = tuple(map(min, old.shape, new.shape))
    kept = tuple(slice(0, size) for size in common)
    _check_dropped(cells, change, old_default, kept)
    place = (slice(None), *kept)
    part = _converted_elements(cells[place], change, new_default[kept])
    whole = np.empty((len(cells), *new.shape), new.dtype)
    whole[:] = new_default
    whole[place] = part
    return whole


def _converted_elements(
    cells: NDArray[Any], change: Change, default: NDArray[Any]
) -> NDArray[Any]:
    rule = RULES[change.old.base, change.new.base]
    try:
        return rule.convert(cells, change, default)
    except BadCellError as error:
        each = 1 if change.old.base in TEXTS else prod(cells.shape[1:])
        raise BadRowError(error.element // each, error.why) from None


def _check_dropped(
    cells: NDArray[Any],
    change: Change,
    default: NDArray[Any],
    kept: tuple[slice, ...],
) -> None:
    """Raise BadRowError for the first element that has no place any more, defaults apart."""
    lost = bits(cells) != bits(default)
    lost[(slice(None), *kept)] = False
    if not lost.any():
        return
    row, *place = map(int, np.unravel_index(int(lost.argmax()), lost.shape))
    value = cells[(row, *place)].item()
    at = ",".join(map(str, place))
    raise BadRowError(row, f"{value!r} at [{at}] has no place in {change.new.text}")


def _same(cells: NDArray[Any], change: Change, default: NDArray[Any]) -> NDArray[Any]:
    return cells


def _number(cells: NDArray[Any], change: Change, default: NDArray[Any]) -> NDArray[Any]:
    return as_number(cells, change.old.number or change.old.base, change.new)


def _member(cells: NDArray[Any], change: Change, default: NDArray[Any]) -> NDArray[Any]:
    return as_member(cells, *change, default)


def _flags(cells: NDArray[Any], change: Change, default: NDArray[Any]) -> NDArray[Any]:
    return as_flags(cells, *change, default)


def _number_as_member(
    cells: NDArray[Any], change: Change, default: NDArray[Any]
) -> NDArray[Any]:
    return number_as_member(cells, change.old.base, change.new)


def _text(cells: NDArray[Any], change: Change, default: NDArray[Any]) -> NDArray[Any]:
    return as_text(cells, change.old, change.new)


def _number_verdict(change: Change) -> str:
    return "" if always_fits(change.old.base, change.new.base) else MAY_NOT_FIT


def _may_not_fit(change: Change) -> str:
    return MAY_NOT_FIT


def _text_verdict(change: Change) -> str:
    old, new, _ = change
    is_text = old.base == "str" or new.base == "bytes"
    return "" if is_text and old.size <= new.size else MAY_NOT_FIT


def _member_verdict(change: Change) -> str:
    """Members that are gone from the same enum are that enum's affair."""
    old, new, names = change
    wanted = {
        name
        for name, number in old.members.items()
        if old.base == "enum" or number.bit_count() == 1
    }
    has_all = old.target == new.target or wanted <= names.keys()
    return "" if has_all else MAY_NOT_FIT


def _handle_verdict(change: Change) -> str:
    return "" if change.old.target == change.new.target else NO_RULE


def _always(change: Change) -> str:
    return ""


def _rules() -> dict[tuple[str, str], Rule]:
    plain = ("bool", *NUMBERS)
    number = Rule(_number_verdict, _number)
    found = {(old, new): number for old in plain for new in plain}
    text = Rule(_text_verdict, _text)
    found |= {(old, new): text for old in TEXTS for new in TEXTS}
    for base in ("enum", "flags"):
        found |= {(base, new): Rule(_may_not_fit, _number) for new in NUMBERS}
        found |= {(old, base): Rule(_may_not_fit, _number_as_member) for old in NUMBERS}
    found["enum", "enum"] = Rule(_member_verdict, _member)
    found["flags", "flags"] = Rule(_member_verdict, _flags)
    found |= {(base, base): Rule(_handle_verdict, _same) for base in HANDLES}
    found["object", "object"] = Rule(_always, _same)
    return found


RULES: Final = _rules()
"""By old and new base; types with no rule are not in it."""
