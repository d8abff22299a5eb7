"""Columns in a snapshot that say where others are: lists of instances, children, ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..handles import NIL, RowArray
from ..policies.chains import Links
from ..policies.ids import WORN_OUT
from .checked_rows import CheckedRows, cell_blocks

# --- Chains in a snapshot: an entity's instances, a parent's children, all rows by
# age.
#
# A chain is circular backwards: its first row's `previous` cell holds its last row,
# whose `next` is NIL. No check steps along chains, for one may have all rows.


def check_links(rows: CheckedRows, column: str, count: int, *, may_end: bool) -> None:
    """Refuse cells that are no row below `count`, nor NIL if it may be one; O(n)."""
    links = rows.column(column)

    def wrong(block: slice) -> NDArray[np.bool_]:
        cells = links[block]
        return (cells >= count) & (cells != NIL) if may_end else cells >= count

    def why(row: int) -> str:
        return f"{links[row]} is none of {count} rows"

    if len(links) and int(links.max()) >= count:
        rows.refuse_wrong(column, len(links), wrong, why)


def check_chains(
    rows: CheckedRows, following: str, previous: str, owners: NDArray[Any] | None
) -> RowArray:
    """Refuse links that are not those of chains, each with an owner; return the first rows.

    Whose owners must all be different, which the caller has to see to: then no other shape is
    left. Without `owners`, all rows have the same. O(n log length), by pointer jumping.
    """
    check_links(rows, following, rows.n, may_end=True)
    check_links(rows, previous, rows.n, may_end=False)
    nexts, before = rows.column(following), rows.column(previous)
    firsts = []
    n_lasts = 0
    for block in cell_blocks(rows.n):
        after, back = nexts[block], before[block].astype(np.intp)
        is_last = after == NIL
        numbers = np.arange(block.start, block.stop, dtype=np.uint32)
        lost = (before.take(after, mode="clip") != numbers) & ~is_last
        if lost.any():
            row = block.start + int(lost.argmax())
            rows.refuse(f"row {nexts[row]} does not lead back", following, row)
        if owners is not None:
            other = owners.take(back, mode="clip") != owners[block]
            if other.any():
                row = block.start + int(other.argmax())
                rows.refuse(f"row {before[row]} is another's", previous, row)
        n_lasts += int(np.count_nonzero(is_last))
        is_first = nexts.take(back, mode="clip") == NIL
        firsts.append(np.flatnonzero(is_first) + block.start)
    found = np.concatenate(firsts) if firsts else np.empty(0, np.intp)
    if len(found) != n_lasts:
        _refuse_beginning(rows, previous, nexts, before)
    check_circles(rows, following)
    return found


def check_circles(rows: CheckedRows, column: str) -> None:
    """Refuse links that lead round and round; O(n log length)."""
    row = row_on_way_round(rows.column(column))
    if row != NIL:
        rows.refuse("leads round in a circle", column, row)


def row_on_way_round(links: Links) -> int:
    """Return a row from which links, each NIL or a row, never end; NIL if all do.

    By pointer jumping: a round replaces where each row leads by where that leads, so r rounds go
    2**r steps at least. O(n log length); where most links go one way, two or three rounds do, for
    rows see what the same round has found for those before them.
    """
    n = len(links)
    jumps = np.full(n + 1, n, np.uint32)
    np.minimum(links, n, out=jumps[:n], casting="unsafe")
    blocks = list(cell_blocks(n))
    for _ in range(n.bit_length() + 1):
        blocks = [block for block in reversed(blocks) if _jump(jumps, block, n)]
        if not blocks:
            return NIL
    return int((jumps[:n] != n).argmax())


def _jump(jumps: Links, block: slice, end: int) -> bool:
    """Let rows lead where their links' links do; return whether some are under way still."""
    far = jumps.take(jumps[block])
    jumps[block] = far
    return bool(far.min() != end)


def _refuse_beginning(
    rows: CheckedRows, column: str, nexts: Links, previous: Links
) -> None:
    """Refuse a first row, one that none leads to, before which there is no last one."""
    is_led_to = np.zeros(rows.n, np.bool_)
    is_led_to[nexts[nexts != NIL]] = True
    wrong = ~is_led_to & (nexts[previous] != NIL)
    row = int(wrong.argmax())
    rows.refuse(f"row {previous[row]} is not the last of the chain", column, row)


def check_one_chain(rows: CheckedRows, links: tuple[str, str], first: str) -> None:
    """Refuse rows that are not one chain from the first on; O(n log n).

    `links`: the columns of who follows each row, and whom it follows; `first`: the number that
    says which is the first.
    """
    said, previous = rows.numbers[first], links[1]
    firsts = check_chains(rows, *links, None)
    if len(firsts) > 1:
        rows.refuse(f"more than one is the {first}", previous, int(firsts[1]))
    if said != (int(firsts[0]) if len(firsts) else NIL):
        rows.refuse(f"the state says that row {said} is the {first}", previous)


def check_tree(rows: CheckedRows) -> None:
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
        row = int(((parents == NIL) & (nexts != NIL)).argmax())
        rows.refuse("a root has no siblings", "next_sibling", row)
    alone = rows.column("previous_sibling")[roots] == roots
    if not alone.all():
        row = int(roots[alone.argmin()])
        rows.refuse("a root has no siblings", "previous_sibling", row)
    heads, owners = firsts[owners != NIL], owners[owners != NIL]
    strange = children.take(owners, mode="clip") != heads
    if strange.any():
        at = int(strange.argmax())
        rows.refuse(f"its first child is {heads[at]}", "first_child", int(owners[at]))
    if int(np.count_nonzero(children != NIL)) != len(heads):
        children = children.copy()
        children[owners] = NIL
        rows.refuse("it has no child", "first_child", int((children != NIL).argmax()))
    check_circles(rows, "parent")


# --- Columns in a snapshot that say where others point from: slots of ids, who is
# free, cold rows.


def check_slots(rows: CheckedRows) -> None:
    """Refuse slots that are not each a row's, free or worn out; O(slots)."""
    n, peak = rows.n, rows.numbers["peak"]
    check_links(rows, "id_slot", peak, may_end=False)
    slots, places = rows.column("id_slot"), rows.column("id_row")
    generations = rows.column("id_generation")
    strange = places.take(slots[:n]) != np.arange(n)
    if strange.any():
        row = int(strange.argmax())
        rows.refuse(f"slot {slots[row]} is not that of row {row}", "id_slot", row)
    is_known = np.zeros(peak, np.bool_)
    is_known[slots] = True
    if int(np.count_nonzero(is_known)) != len(slots):
        rows.refuse("a slot is there twice", "id_slot")
    is_held = places != NIL
    if int(np.count_nonzero(is_held)) != n:
        is_held[slots[:n]] = False
        rows.refuse("no row has this slot", "id_row", int(is_held.argmax()))
    if len(slots) < peak:
        lost = ~is_known & (generations != WORN_OUT)
        if lost.any():
            slot = int(lost.argmax())
            rows.refuse("neither used, free nor worn out", "id_generation", slot)
    if peak and not int(generations.min()):
        rows.refuse("ids begin with 1", "id_generation", int(generations.argmin()))


def check_direct_ids(rows: CheckedRows) -> None:
    """Refuse generations of 0 where an instance is, or was the last one; O(n)."""
    generations = rows.column("id_generation")
    lacking = (rows.column("entity") != 0) & (generations[: rows.n] == 0)
    if lacking.any():
        row = int(lacking.argmax())
        rows.refuse("ids begin with 1", "id_generation", row)
    if len(generations) and not int(generations[-1]):
        row = len(generations) - 1
        rows.refuse("no instance was ever here", "id_generation", row)


def check_cold(rows: CheckedRows) -> None:
    """Refuse rows and cold rows that do not know each other; O(n)."""
    n_cold = rows.numbers["n_cold"]
    check_links(rows, "cold_row", n_cold, may_end=True)
    check_links(rows, "cold.row", rows.n, may_end=False)
    places, owners = rows.column("cold_row"), rows.column("cold.row")
    strange = places.take(owners) != np.arange(n_cold)
    if strange.any():
        cell = int(strange.argmax())
        rows.refuse(f"row {owners[cell]} has another one", "cold.row", cell)
    held = places != NIL
    if int(np.count_nonzero(held)) != n_cold:
        held[owners] = False
        rows.refuse("another row has this one", "cold_row", int(held.argmax()))
