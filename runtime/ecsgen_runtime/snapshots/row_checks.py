"""Rows in a snapshot: whether cells are values of their types, and links lead to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base.errors import short_repr
from ..base.handles import NIL, RowArray
from ..managers.policies.chains import RowLinks
from ..managers.policies.ids import EXHAUSTED_GENERATION
from .cell_types import CellType, wrong_texts
from .documents import NOTHING, SnapshotContent
from .saved_component import SavedComponent
from .stored_columns import LENGTHS

_NAMED: Final = 3
"""Rows that a message names beside the first one."""

Mask: TypeAlias = NDArray[np.bool_]


class _Rule(NamedTuple):
    """The check of a type's cells, shape (rows, ...), contiguous."""

    wrong: Callable[[NDArray[Any]], Mask]
    """Which elements are wrong: shape (rows, ...), of text (rows,)."""
    why: Callable[[NDArray[Any]], str]
    """Returns the error of the first wrong element, with its value."""


def check_cells(
    saved: SnapshotContent, tensor: str, type_: CellType, used: RowArray | None, way_out: str = ""
) -> None:
    """Refuse cells that are no values of a type; O(bytes). Of enums with holes, only those in
    rows that are used. Messages end with `way_out`.

    Numbers, handles and bytes can be anything.
    """
    if type_.base not in _RULES or not len(saved.arrays[tensor]):
        return
    rule, array = _RULES[type_.base](type_), saved.arrays[tensor]
    if type_.base == "bool":
        array = array.view(np.uint8)
    wrong = np.asarray(rule.wrong(array).reshape(len(array), -1).any(axis=1))
    bad = np.flatnonzero(wrong)
    if used is not None and type_.base == "enum":
        bad = used[wrong[used]]
    rows = bad[: 2 + _NAMED].tolist()
    if rows:
        first, *other_rows = rows
        why = rule.why(array[first : first + 1])
        saved.refuse(why + _also(other_rows) + way_out, tensor, first)


def _also(rows: list[int]) -> str:
    if not rows:
        return ""
    numbers = ", ".join(map(str, rows[:_NAMED]))
    if len(rows) > _NAMED:
        numbers += " and more"
    return f", also in {'row' if len(rows) == 1 else 'rows'} {numbers}"


def _numbers(wrong: Callable[[NDArray[Any]], Mask], why: str) -> _Rule:
    def why_not(cells: NDArray[Any]) -> str:
        return f"{cells.reshape(-1)[int(wrong(cells).argmax())]} {why}"

    return _Rule(wrong, why_not)


def _members(dtype: np.dtype[Any], known: Iterable[int], why: str) -> _Rule:
    numbers = np.array(sorted({*known}), dtype)
    if int(numbers[-1]) == len(numbers) - 1:
        return _numbers(lambda cells: cells > numbers[-1], why)
    return _numbers(lambda cells: np.isin(cells, numbers, invert=True), why)


def _flags(type_: CellType) -> _Rule:
    size = 8 * type_.dtype.itemsize
    unknown_bits = type_.dtype.type(~type_.mask & ((1 << size) - 1))
    why = f"has bits that are no flags of {type_.target}"
    return _numbers(lambda cells: np.asarray((cells & unknown_bits) != 0), why)


def _why_no_text(cells: NDArray[np.uint8]) -> str:
    text = cells[0].tobytes().rstrip(b"\0")
    problem = "text with a NUL in it" if 0 in text else "text that is not UTF-8"
    return f"{problem}: {short_repr(text)}"


_RULES: Final[dict[str, Callable[[CellType], _Rule]]] = {
    "bool": lambda type_: _members(np.dtype(np.uint8), (0, 1), "is no bool"),
    "enum": lambda type_: _members(
        type_.dtype, type_.members.values(), f"is no member of {type_.target}"
    ),
    "flags": _flags,
    "str": lambda type_: _Rule(wrong_texts, _why_no_text),
}


def check_lengths(saved: SnapshotContent, tensor: str) -> None:
    """Refuse lengths of encoded objects that do not make up their bytes; O(n)."""
    lengths, size = saved.arrays[tensor + LENGTHS], len(saved.arrays[tensor])
    wrong = (lengths < NOTHING) | (lengths > size)
    saved.refuse_first(wrong, f"{{cell}} of {size} bytes", tensor + LENGTHS)
    present = lengths[lengths > 0]
    # floats first: so many of such lengths may be more than 64 bits hold
    total = float(present.sum(dtype=np.float64))
    if total > 2 * size + 1 or int(present.sum()) != size:
        saved.refuse(f"they do not make up {size} bytes", tensor + LENGTHS)


# A chain is circular backwards: its first row's `previous` cell holds its last row,
# whose `next` is NIL. No check steps along chains, for a chain may have all rows.


def check_links(rows: SavedComponent, column: str, count: int, *, may_end: bool) -> None:
    """Refuse cells that are no row below `count`, nor NIL if it may be one; O(n)."""
    links = rows.column(column)
    if len(links) and int(links.max()) >= count:
        wrong = (links >= count) & (links != NIL) if may_end else links >= count
        rows.refuse_first(wrong, f"{{cell}} is none of {count} rows", column)


def check_chains(
    rows: SavedComponent, next_column: str, previous: str, owners: NDArray[Any] | None
) -> RowArray:
    """Refuse links that are not those of chains, each with an owner; return the first rows.

    Whose owners must all be different, which the caller has to see to: then no other shape is
    left. Without `owners`, all rows have the same. O(n log length), by pointer jumping.
    """
    check_links(rows, next_column, rows.n, may_end=True)
    check_links(rows, previous, rows.n, may_end=False)
    next_rows, previous_rows = rows.column(next_column), rows.column(previous)
    is_last = next_rows == NIL
    lost = (previous_rows.take(next_rows, mode="clip") != np.arange(rows.n)) & ~is_last
    rows.refuse_first(lost, "row {cell} does not lead back", next_column)
    if owners is not None:
        rows.refuse_first(owners[previous_rows] != owners, "row {cell} is another's", previous)
    is_first = next_rows[previous_rows] == NIL
    first_rows = np.flatnonzero(is_first)
    if len(first_rows) != np.count_nonzero(is_last):
        # before a first row, which none leads to, is no last one
        is_led_to = np.zeros(rows.n, np.bool_)
        is_led_to[next_rows[next_rows != NIL]] = True
        wrong = ~is_led_to & ~is_first
        rows.refuse_first(wrong, "row {cell} is not the last of the chain", previous)
    check_circles(rows, next_column)
    return first_rows


def check_circles(rows: SavedComponent, column: str) -> None:
    """Refuse links that lead round and round; O(n log length)."""
    row = row_on_way_round(rows.column(column))
    if row != NIL:
        rows.refuse("leads round in a circle", column, row)


def row_on_way_round(links: RowLinks) -> int:
    """Return a row from which links, each NIL or a row, never end; NIL if all do.

    By pointer jumping: a round replaces where each row leads by where that leads, so r rounds go
    2**r steps. O(n log length).
    """
    n = len(links)
    jumps = np.full(n + 1, n, np.uint32)
    np.minimum(links, n, out=jumps[:n], casting="unsafe")
    for _ in range(n.bit_length() + 1):
        jumps = jumps.take(jumps)
        if int(jumps.min()) == n:
            return NIL
    return int((jumps != n).argmax())


def check_one_chain(rows: SavedComponent, links: tuple[str, str], first: str) -> None:
    """Refuse rows that are not one chain from the first on; O(n log n).

    `links`: the columns of who follows each row, and whom it follows; `first`: the number that
    says which is the first.
    """
    expected, previous = rows.numbers[first], links[1]
    firsts = check_chains(rows, *links, None)
    if len(firsts) > 1:
        rows.refuse(f"more than one is the {first}", previous, int(firsts[1]))
    if expected != (int(firsts[0]) if len(firsts) else NIL):
        rows.refuse(f"the state says that row {expected} is the {first}", previous)


def check_tree(rows: SavedComponent) -> None:
    """Refuse parents and siblings that are not those of a hierarchy; O(n log length)."""
    n = rows.n
    check_links(rows, "parent", n, may_end=True)
    check_links(rows, "first_child", n, may_end=True)
    parents, children = rows.column("parent"), rows.column("first_child")
    nexts = rows.column("next_sibling")
    firsts = check_chains(rows, "next_sibling", "previous_sibling", parents)
    owners = parents.take(firsts)
    roots = firsts[owners == NIL]
    if len(roots) != int(np.count_nonzero(parents == NIL)):
        followed = (parents == NIL) & (nexts != NIL)
        rows.refuse_first(followed, "a root has no siblings", "next_sibling")
    alone = rows.column("previous_sibling")[roots] == roots
    if not alone.all():
        row = int(roots[alone.argmin()])
        rows.refuse("a root has no siblings", "previous_sibling", row)
    heads, owners = firsts[owners != NIL], owners[owners != NIL]
    strange = children.take(owners, mode="clip") != heads
    if strange.any():
        at = int(strange.argmax())
        rows.refuse(f"its first child is {heads[at]}", "first_child", int(owners[at]))
    rows.refuse_others(owners, "it has no child", "first_child")
    check_circles(rows, "parent")


def check_slots(rows: SavedComponent) -> None:
    """Refuse slots that are not a row's, free or exhausted; O(slots)."""
    n, peak = rows.n, rows.numbers["peak"]
    check_links(rows, "id_slot", peak, may_end=False)
    slots, places = rows.column("id_slot"), rows.column("id_row")
    generations = rows.column("id_generation")
    strange = places.take(slots[:n]) != np.arange(n)
    rows.refuse_first(strange, "slot {cell} is not that of row {place}", "id_slot")
    is_known = np.zeros(peak, np.bool_)
    is_known[slots] = True
    if int(np.count_nonzero(is_known)) != len(slots):
        rows.refuse("a slot is there twice", "id_slot")
    rows.refuse_others(slots[:n], "no row has this slot", "id_row")
    if len(slots) < peak:
        lost = ~is_known & (generations != EXHAUSTED_GENERATION)
        rows.refuse_first(lost, "neither used, free nor worn out", "id_generation")
    rows.refuse_first(generations == 0, "ids begin with 1", "id_generation")


def check_direct_ids(rows: SavedComponent) -> None:
    """Refuse generations of 0 where an instance is, or was the last one; O(n)."""
    generations = rows.column("id_generation")
    lacking = (rows.column("entity") != 0) & (generations[: rows.n] == 0)
    rows.refuse_first(lacking, "ids begin with 1", "id_generation")
    if len(generations) and not int(generations[-1]):
        row = len(generations) - 1
        rows.refuse("no instance was ever here", "id_generation", row)


def check_cold(rows: SavedComponent) -> None:
    """Refuse rows and cold rows that do not know each other; O(n)."""
    n_cold = rows.numbers["n_cold"]
    check_links(rows, "cold_row", n_cold, may_end=True)
    check_links(rows, "cold.row", rows.n, may_end=False)
    places, owners = rows.column("cold_row"), rows.column("cold.row")
    strange = places.take(owners) != np.arange(n_cold)
    rows.refuse_first(strange, "row {cell} has another one", "cold.row")
    rows.refuse_others(owners, "another row has this one", "cold_row")
