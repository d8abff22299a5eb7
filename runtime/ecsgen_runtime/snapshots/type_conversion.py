"""Values of one field type as another: one table, for loading and for `ecsgen breaking`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .cell_types import HANDLES, NUMBERS, TEXTS, TIMES, CellType, as_times, bits, wrong_texts

_MANTISSA: Final = {"f32": 24, "f64": 53}

Cells: TypeAlias = NDArray[Any]


class BadRowError(Exception):
    """The first row that can't be converted, None if it is the type, and why."""

    def __init__(self, row: int | None, why: str) -> None:
        super().__init__(why)
        self.row = row
        self.why = why


def range_of(integer: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type."""
    limits = np.iinfo(f"{integer[0]}{int(integer[1:]) // 8}")
    return int(limits.min), int(limits.max)


def check(bad: NDArray[np.bool_], cells: Cells, why: str) -> None:
    """Raise BadRowError for the first cell that is bad, with its value."""
    if bad.any():
        bad_index = np.unravel_index(int(bad.argmax()), bad.shape)
        raise BadRowError(int(bad_index[0]), f"{cells[bad_index].item()!r} {why}")


def always_fits(old: str, new: str) -> bool:
    """Return True if all values of one type of numbers or bools are values of another."""
    if new == "f64" and old in ("i64", "u64"):
        return False  # though numpy says so
    return np.can_cast(CellType(old, old).dtype, CellType(new, new).dtype)


def as_number(cells: Cells, change: TypeChange, default: Cells, why: str = "") -> Cells:
    """Return numbers, bools or members as numbers of another type, by value.

    Only from f64 to f32 they are rounded; a finite one stays finite. -0.0 is 0 as an integer.
    """
    old, name = (kind.number or kind.base for kind in change[:2])
    dtype, why = change.new.dtype, why or f"does not fit {name}"
    if always_fits(old, name):
        return cells.astype(dtype)
    if name == "bool":
        check((cells != 0) & (cells != 1), cells, why)
    elif name[0] == "f" and old[0] == "f":
        with np.errstate(all="ignore"):
            rounded = cells.astype(dtype)
        check(np.isinf(rounded) & np.isfinite(cells), cells, why)
        return rounded
    elif name[0] == "f":
        check(_needs_more_bits(cells, _MANTISSA[name]), cells, why)
    elif old[0] == "f":
        low, high = range_of(name)
        inside = (cells >= float(low)) & (cells < float(high + 1))
        check(~inside | (np.floor(cells) != cells), cells, why)
    else:
        (least, greatest), (low, high) = range_of(old), range_of(name)
        bounds = max(low, least), min(high, greatest)  # as far as they are of the old type
        low, high = map(cells.dtype.type, bounds)
        check((cells < low) | (cells > high), cells, why)
    return cells.astype(dtype)


def _needs_more_bits(cells: Cells, count: int) -> NDArray[np.bool_]:
    """Return which integers have more binary digits than so many, zeros at the end apart.

    As integers: a float next to it would compare equal to one that is not exact.
    """
    wide = cells.astype(np.uint64 if cells.dtype.kind == "u" else np.int64)
    size = wide if wide.dtype.kind == "u" else np.abs(wide).view(np.uint64)
    lowest = size & (~size + np.uint64(1))
    digits = size // np.maximum(lowest, np.uint64(1))
    return np.asarray(digits >= np.uint64(1 << count))


MemberNames: TypeAlias = Mapping[str, str | None]
"""New names of an enum's members; None for removed ones."""


def as_member(cells: Cells, change: TypeChange, default: Cells) -> Cells:
    """Return members as those of the same name; the default, one cell, where they are removed."""
    old, new, names = change
    order = sorted(old.members, key=old.members.__getitem__)
    numbers = np.array([old.members[name] for name in order], np.uint64)
    known = np.array([name in names for name in order], np.bool_)
    removed = np.array([name in names and names[name] is None for name in order])
    targets = [new.members.get(names.get(name) or "", 0) for name in order]
    wide = cells.astype(np.uint64, copy=False)
    positions = np.minimum(np.searchsorted(numbers, wide), len(numbers) - 1)
    exists = numbers[positions] == wide
    bad = ~exists | ~known[positions]
    if bad.any():
        element = int(bad.argmax())
        _refuse(cells, element, order[int(positions.flat[element])], change)
    members = np.array(targets, new.dtype)[positions]
    if removed.any():
        members = np.where(removed[positions], default, members)
    return members


def as_flags(cells: Cells, change: TypeChange, default: Cells) -> Cells:
    """Return flags as those of the same names, of which removed ones go.

    A cell that had no other flags than these gets the default, one cell.
    """
    old, new, names = change
    wide = cells.astype(np.uint64, copy=False)
    new_flags = np.zeros(cells.shape, np.uint64)
    left = wide.copy()
    has_kept_flag = np.zeros(cells.shape, np.bool_)
    for name, number in old.members.items():
        if number.bit_count() != 1 or name not in names:
            continue
        has_it, new_name = wide & np.uint64(number) != 0, names[name]
        left &= ~np.uint64(number)
        if new_name is not None:
            has_kept_flag |= has_it
            new_flags[has_it] |= np.uint64(new.members[new_name])
    if left.any():
        element = int((left != 0).argmax())
        bit = int(left.flat[element]) & -int(left.flat[element])
        known = {number: name for name, number in old.members.items()}
        _refuse(cells, element, known.get(bit, hex(bit)), change)
    emptied = (wide != 0) & ~has_kept_flag
    stored = new_flags.astype(new.dtype)
    return np.where(emptied, default, stored) if emptied.any() else stored


def number_as_member(cells: Cells, change: TypeChange, default: Cells) -> Cells:
    """Return numbers as the members of an enum, or flags, that have these."""
    new, why = change.new, f"is no number of {change.new.target}"
    stored = as_number(cells, change, default, why)
    if new.base == "flags":
        bad = stored & ~stored.dtype.type(new.mask) != 0
    else:
        bad = ~np.isin(stored, np.array(list(new.members.values()), stored.dtype))
    check(bad, cells, why)
    return stored


def _refuse(cells: Cells, element: int, name: str, change: TypeChange) -> NoReturn:
    """Raise BadRowError for an element, by its number in C order, and a member's name."""
    old, new, _ = change
    number = int(cells.reshape(-1)[element])
    if old.base == "enum" and old.members.get(name) != number:
        why = f"{number} is no number of {old.target}"
    else:
        why = f"{new.target} has no member {name!r}"
    raise BadRowError(element // prod(cells.shape[1:]), why)


def as_text(cells: Cells, change: TypeChange, default: Cells) -> Cells:
    """Return text or bytes, shape (n, N), in the size and type of the new field."""
    old, new, _ = change
    if old.base == "bytes" and new.base == "str":
        bad = wrong_texts(cells)
        if bad.any():
            row = int(bad.argmax())
            has_nul = 0 in cells[row].tobytes().rstrip(b"\0")
            why = f"has a NUL, which {new.text} takes not" if has_nul else "is not UTF-8"
            _refuse_text(cells, row, old, why)
    if new.size < old.size:
        lost = cells[:, new.size :].any(axis=1)  # more than zeros would go
        if lost.any():
            _refuse_text(cells, int(lost.argmax()), old, f"does not fit {new.text}")
        return cells[:, : new.size].copy()
    padded = np.zeros((len(cells), new.size), np.uint8)
    padded[:, : old.size] = cells
    return padded


_PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NAT: Final = -(2**63)


def as_time(cells: Cells, change: TypeChange, default: Cells) -> Cells:
    """Return times in another unit, if they are exact."""
    old, new, _ = change
    ticks, is_time = cells.copy(), cells != _NAT
    before, after = _PER_SECOND[old.target], _PER_SECOND[new.target]
    factor, divisor = max(after // before, 1), max(before // after, 1)
    most = (2**63 - 1) // factor
    bad = (cells > most) | (cells < -most) | (cells % divisor != 0)
    check(bad & is_time, as_times(cells, old), f"does not fit {new.text}")
    ticks *= factor
    ticks //= divisor
    ticks[~is_time] = _NAT
    return ticks


def _refuse_text(cells: Cells, row: int, old: CellType, why: str) -> None:
    value = cells[row].tobytes().rstrip(b"\0")
    shown = repr(value.decode(errors="replace")) if old.base == "str" else repr(value)
    shown = shown if len(shown) <= 60 else f"{shown[:56]}…{shown[-1]}"
    raise BadRowError(row, f"{shown} {why}")


# A rule converts whole arrays, exactly, or raises BadRowError for the first cell. It says before
# what may happen: nothing (""), a value does not fit ("E902"), or there is no rule ("E903").

MAY_NOT_FIT: Final = "E902"
NO_RULE: Final = "E903"


class TypeChange(NamedTuple):
    """Types of a field in an old and a new schema."""

    old: CellType
    new: CellType
    names: MemberNames
    """New names of an enum's members; None for removed ones."""


class Rule(NamedTuple):
    """How cells of one type become cells of another."""

    verdict: Callable[[TypeChange], str]
    convert: Callable[[Cells, TypeChange, Cells], Cells]
    """Takes cells, and the default of a cell of the same shape."""


def change_of(old: CellType, new: CellType, renamed: MemberNames) -> TypeChange:
    """Return the change from one type to another.

    `renamed`: former members of the new type's enum, with what they are called now, or None for
    removed ones; of members that are unknown now nothing is said.
    """
    names: MemberNames = {**renamed, **dict(zip(new.members, new.members, strict=True))}
    return TypeChange(old, new, {name: names[name] for name in old.members if name in names})


def verdict(change: TypeChange) -> str:
    """Return "" if every value can be loaded, else the code of what may happen."""
    old, new, _ = change
    rule = RULES.get((old.base, new.base))
    if rule is None or len(old.shape) != len(new.shape):
        return NO_RULE
    rule_verdict = rule.verdict(change)
    is_smaller = any(a > b for a, b in zip(old.shape, new.shape, strict=True))
    return rule_verdict or (MAY_NOT_FIT if is_smaller else "")


def is_same_in_files(change: TypeChange) -> bool:
    """Return True if every cell stays unchanged, byte for byte."""
    old, new, names = change
    if (old.base, old.cell_shape, old.dtype) != (new.base, new.cell_shape, new.dtype):
        return False
    if old.base == "id" or old.base in TIMES:
        return old.target == new.target
    return all(
        (now := names.get(name)) is not None and new.members[now] == number
        for name, number in old.members.items()
    )


def converted(cells: Cells, change: TypeChange, old_default: Cells, new_default: Cells) -> Cells:
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
        return RULES[old.base, new.base].convert(cells, change, new_default)
    common = tuple(map(min, old.shape, new.shape))
    common_slices = tuple(slice(0, size) for size in common)
    _check_dropped(cells, change, old_default, common_slices)
    target = (slice(None), *common_slices)
    part = RULES[old.base, new.base].convert(cells[target], change, new_default[common_slices])
    converted_cells = np.full((len(cells), *new.shape), new_default, new.dtype)
    converted_cells[target] = part
    return converted_cells


def _check_dropped(
    cells: Cells, change: TypeChange, default: Cells, common_slices: tuple[slice, ...]
) -> None:
    """Raise BadRowError for the first element that has no place any more, defaults apart."""
    lost = bits(cells) != bits(default)
    lost[(slice(None), *common_slices)] = False
    if not lost.any():
        return
    row, *element = map(int, np.unravel_index(int(lost.argmax()), lost.shape))
    value = cells[(row, *element)].item()
    position = ",".join(map(str, element))
    raise BadRowError(row, f"{value!r} at [{position}] has no place in {change.new.text}")


def _text_verdict(change: TypeChange) -> str:
    old, new, _ = change
    is_text = old.base == "str" or new.base == "bytes"
    return "" if is_text and old.size <= new.size else MAY_NOT_FIT


def _member_verdict(change: TypeChange) -> str:
    """Return "" if all members have new names, or the enum is the same one."""
    old, new, names = change
    wanted = {
        name
        for name, number in old.members.items()
        if old.base == "enum" or number.bit_count() == 1
    }
    has_all = old.target == new.target or wanted <= names.keys()
    return "" if has_all else MAY_NOT_FIT


def _number_verdict(change: TypeChange) -> str:
    return "" if always_fits(change.old.base, change.new.base) else MAY_NOT_FIT


def _number_of_member_verdict(change: TypeChange) -> str:
    """Return "" if the type holds all numbers of the enum."""
    old, new, _ = change
    numbers = np.array([old.mask] if old.base == "flags" else [*old.members.values()], np.uint64)
    if new.base in _MANTISSA:
        is_beyond = _needs_more_bits(numbers, _MANTISSA[new.base])
    else:
        is_beyond = numbers > np.uint64(range_of(new.base)[1])
    return MAY_NOT_FIT if is_beyond.any() else ""


_NUMBER: Final = Rule(_number_verdict, as_number)
_TEXT: Final = Rule(_text_verdict, as_text)
_FROM_ENUM: Final = Rule(_number_of_member_verdict, as_number)
_TO_ENUM: Final = Rule(lambda change: MAY_NOT_FIT, number_as_member)
_SAME: Final = Rule(
    lambda change: "" if change.old.target == change.new.target else NO_RULE,
    lambda cells, change, default: cells,
)
_TIME: Final = Rule(
    lambda change: "" if change.old.target == change.new.target else MAY_NOT_FIT, as_time
)
_PLAIN: Final = ("bool", *NUMBERS)
_ENUMS: Final = ("enum", "flags")

RULES: Final[Mapping[tuple[str, str], Rule]] = {
    **dict.fromkeys(product(_PLAIN, _PLAIN), _NUMBER),
    **dict.fromkeys(product(TEXTS, TEXTS), _TEXT),
    **dict.fromkeys(product(_ENUMS, NUMBERS), _FROM_ENUM),
    **dict.fromkeys(product(NUMBERS, _ENUMS), _TO_ENUM),
    ("enum", "enum"): Rule(_member_verdict, as_member),
    ("flags", "flags"): Rule(_member_verdict, as_flags),
    **dict.fromkeys(((base, base) for base in TIMES), _TIME),
    **dict.fromkeys(((base, base) for base in (*HANDLES, "object")), _SAME),
}
"""Rules by old and new base; types without a rule are missing."""
