"""Rows in a snapshot: whether each cell is a value of its type, and who may own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import shown
from ..handles import EntityArray
from .contents import LENGTHS
from .documents import NOTHING, Document, Saved
from .facts import CellType

# --- Cells in a snapshot: whether each is a value of its field's type -----------------


_ASCII: Final = 128
_BYTES: Final = 1 << 18
"""Looked at together: what is worked out of them stays in the cache."""
_SHORT: Final = 2
"""Bytes of numbers of which there are so few that a table tells of each whether it is a member."""
_NAMED: Final = 3
"""Rows that a message names beside the first one."""

Mask: TypeAlias = NDArray[np.bool_]


class _Rule(NamedTuple):
    """What cells of a type must be, told of a block of them, shape (rows, ...), contiguous."""

    are_right: Callable[[NDArray[Any]], bool]
    """Quickly, whether all are right."""
    wrong: Callable[[NDArray[Any]], Mask]
    """Which elements are wrong: shape (rows, ...), of text (rows,)."""
    why: Callable[[NDArray[Any]], str]
    """What is wrong with the first of them, which is."""


def check_cells(
    saved: Saved, tensor: str, type_: CellType, present: Mask | None, way_out: str = ""
) -> None:
    """Refuse cells that are no values of a type; O(bytes). Of enums with holes, only those
    `present`. Messages end with `way_out`.

    Numbers, handles and bytes can be anything.
    """
    if type_.base not in _RULES or not len(saved.arrays[tensor]):
        return
    rule, array = _RULES[type_.base](type_), saved.arrays[tensor]
    if type_.base != "enum":
        present = None
    rows: list[int] = []
    for block in _blocks(array):
        if rule.are_right(array[block]):
            continue
        wrong = _rows_with(rule.wrong(array[block]))
        if present is not None:
            wrong &= present[block]
        rows += (np.flatnonzero(wrong) + block.start).tolist()
        if len(rows) > 1 + _NAMED:
            break
    if rows:
        first, *others = rows
        why = rule.why(array[first : first + 1])
        saved.refuse(why + _also(others) + way_out, tensor, first)


def _blocks(array: NDArray[Any]) -> Iterator[slice]:
    """Yield slices that make up all rows of an array."""
    count = len(array)
    each = max(_BYTES * count // array.nbytes, 1)
    for start in range(0, count, each):
        yield slice(start, min(start + each, count))


def _rows_with(wrong: Mask) -> Mask:
    found: Mask = np.logical_or.reduce(wrong.reshape(len(wrong), -1), axis=1)
    return found


def _also(rows: list[int]) -> str:
    """Return what a message says of more rows."""
    if not rows:
        return ""
    which = ", ".join(map(str, rows[:_NAMED]))
    if len(rows) > _NAMED:
        which += " and more"
    return f", also in {'row' if len(rows) == 1 else 'rows'} {which}"


def _first(cells: NDArray[Any], wrong: Mask) -> int:
    """Return the first wrong element."""
    return int(cells.reshape(-1)[int(wrong.argmax())])


# --- bools, enums and flags -------------------------------------------------------------


def _bools(type_: CellType) -> _Rule:
    def wrong(cells: NDArray[Any]) -> Mask:
        return np.asarray(cells.view(np.uint8) > 1)

    return _Rule(
        lambda cells: int(cells.view(np.uint8).max()) <= 1,
        wrong,
        lambda cells: f"{_first(cells.view(np.uint8), wrong(cells))} is no bool",
    )


def _members(type_: CellType) -> _Rule:
    numbers = np.array(sorted({*type_.members.values()}), type_.dtype)
    top = len(numbers) - 1
    has_gaps = int(numbers[-1]) != top
    is_short = type_.dtype.itemsize <= _SHORT
    is_other = np.ones(1 << 8 * type_.dtype.itemsize if is_short else 0, np.bool_)
    if is_short:
        is_other[numbers] = False

    def wrong(cells: NDArray[Any]) -> Mask:
        if is_short:
            return is_other.take(cells, mode="clip")
        places = numbers.searchsorted(cells)
        return np.asarray(numbers.take(places, mode="clip") != cells)

    def are_right(cells: NDArray[Any]) -> bool:
        if has_gaps:
            return not wrong(cells).any()
        return int(cells.max()) <= top

    def why(cells: NDArray[Any]) -> str:
        return f"{_first(cells, wrong(cells))} is no member of {type_.target}"

    return _Rule(are_right, wrong, why)


def _flags(type_: CellType) -> _Rule:
    size = 8 * type_.dtype.itemsize
    others = type_.dtype.type(~type_.mask & ((1 << size) - 1))

    def wrong(cells: NDArray[Any]) -> Mask:
        return np.asarray((cells & others) != 0)

    def why(cells: NDArray[Any]) -> str:
        number = _first(cells, wrong(cells))
        return f"{number} has bits that are no flags of {type_.target}"

    return _Rule(
        lambda cells: not int(np.bitwise_or.reduce(cells, axis=None) & others),
        wrong,
        why,
    )


# --- text -------------------------------------------------------------------------------


def _texts(type_: CellType) -> _Rule:
    return _Rule(_are_texts, _no_texts, _why_no_text)


def _are_texts(cells: NDArray[np.uint8]) -> bool:
    return not _nuls_inside(cells).any() and _are_utf8(cells)


def _nuls_inside(cells: NDArray[np.uint8]) -> Mask:
    """Return where a NUL is before another byte of its row, shape (rows * size - 1,).

    Without a loop over rows: the last byte of each is looked at for nothing.
    """
    is_nul = cells.reshape(-1) == 0
    inside: Mask = is_nul[:-1] > is_nul[1:]
    size = cells.shape[1]
    inside[size - 1 :: size] = False
    return inside


def _are_utf8(cells: NDArray[np.uint8]) -> bool:
    """Whether all rows are UTF-8: no byte in the middle of a character is the first of a row, so
    all rows are if what they make up is.
    """
    flat = cells.reshape(-1)
    if int(flat.max()) < _ASCII:
        return True
    others = np.flatnonzero(flat >= _ASCII)
    if len(others) < len(cells):
        cells = cells[others // cells.shape[1]]
    if ((cells[:, 0] & 0xC0) == 0x80).any():
        return False
    try:
        str(cells.reshape(-1).data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _no_texts(cells: NDArray[np.uint8]) -> Mask:
    return np.array([not _are_texts(cells[row : row + 1]) for row in range(len(cells))])


def _why_no_text(cells: NDArray[np.uint8]) -> str:
    text = cells[0].tobytes().rstrip(b"\0")
    what = "text with a NUL in it" if 0 in text else "text that is not UTF-8"
    return f"{what}: {shown(text)}"


_RULES: Final[dict[str, Callable[[CellType], _Rule]]] = {
    "bool": _bools,
    "enum": _members,
    "flags": _flags,
    "str": _texts,
}


# --- objects ----------------------------------------------------------------------------


def check_lengths(saved: Saved, tensor: str) -> None:
    """Refuse lengths of encoded objects that do not make up their bytes; O(n)."""
    lengths, size = saved.arrays[tensor + LENGTHS], len(saved.arrays[tensor])
    wrong = (lengths < NOTHING) | (lengths > size)
    if wrong.any():
        cell = int(wrong.argmax())
        saved.refuse(f"{lengths[cell]} of {size} bytes", tensor + LENGTHS, cell)
    some = lengths[lengths > 0]
    # floats first: so many of such lengths may be more than 64 bits hold
    total = float(some.sum(dtype=np.float64))
    if total > 2 * size + 1 or int(some.sum()) != size:
        saved.refuse(f"they do not make up {size} bytes", tensor + LENGTHS)


# --- The rows of one component in a snapshot, and entities: cells, free indices, who
# may own.


# --- The rows of one component in a snapshot, as checks see them; and how cells are
# looked through.


_CELLS: Final = 16_384
"""Looked at together: what is worked out of them stays in the cache."""

Wrong = Callable[[slice], NDArray[np.bool_]]
"""Tells which cells of a block are wrong."""


@dataclass(frozen=True)
class CheckedRows:
    """A component's tensors and numbers."""

    saved: Saved
    component: Document
    """What the schema says of it."""
    module: str
    """What its tensors' names begin with."""
    numbers: Document
    """What the state says of it."""

    @property
    def n(self) -> int:
        """How many rows there are; with `lookup: direct`, holes among them."""
        count: int = self.numbers["n"]
        return count

    def column(self, name: str) -> NDArray[Any]:
        """Return a tensor of the component."""
        return self.saved.arrays[f"{self.module}.{name}"]

    def refuse(self, why: str, column: str, cell: int | None = None) -> NoReturn:
        """Raise SnapshotError that names a cell."""
        self.saved.refuse(why, f"{self.module}.{column}", cell)

    def refuse_wrong(
        self, column: str, count: int, wrong: Wrong, why: Callable[[int], str]
    ) -> None:
        """Refuse the first of `count` cells that is wrong; `why` says what is wrong with it."""
        refuse_wrong(self.saved, f"{self.module}.{column}", count, wrong, why)


def cell_blocks(count: int) -> Iterator[slice]:
    """Yield slices that make up `count` cells."""
    for start in range(0, count, _CELLS):
        yield slice(start, min(start + _CELLS, count))


def refuse_wrong(
    saved: Saved, tensor: str, count: int, wrong: Wrong, why: Callable[[int], str]
) -> None:
    """Refuse the first of `count` cells of a tensor that is wrong; O(count)."""
    for block in cell_blocks(count):
        mask = wrong(block)
        if mask.any():
            cell = block.start + int(mask.argmax())
            saved.refuse(why(cell), tensor, cell)


# --- Entities in a snapshot: a cell per index, the queue of free ones, and who may own
# rows.


_HANDLES: Final = "entities.handles"
_FREE: Final = "entities.free"


class KnownEntities:
    """Who was created, and who lives, by what a snapshot says; all of that is checked first.

    O(indices), in blocks that stay in the cache.
    """

    def __init__(self, saved: Saved) -> None:
        bits = saved.schema["entity"]
        self._saved = saved
        self._bits = np.uint64(bits["index_bits"])
        self._mask = np.uint64((1 << bits["index_bits"]) - 1)
        self._last = np.uint64((1 << bits["generation_bits"]) - 1)
        self._handles: EntityArray = saved.arrays[_HANDLES]
        if len(self._handles) > 1 << bits["index_bits"]:
            saved.refuse("more cells than there are indices", _HANDLES)
        self._check_free(self._waiting())

    def __len__(self) -> int:
        """Return how many indices were ever given out."""
        return len(self._handles)

    def indices(self, owners: EntityArray) -> NDArray[np.intp]:
        """Return the index of each entity."""
        indices: NDArray[np.intp] = (owners & self._mask).view(np.intp)
        return indices

    def check_owners(self, tensor: str, owners: EntityArray, living: bool) -> None:
        """Refuse owners that were never created, or with `living` those that are dead; O(n)."""

        def wrong(block: slice) -> NDArray[np.bool_]:
            es = owners[block]
            if not len(self._handles):
                return np.ones(len(es), np.bool_)
            cells = self._handles.take(self.indices(es), mode="clip")
            mask: NDArray[np.bool_] = cells != es
            if not living and mask.any():
                mask &= ~self._were_created(es, cells)
            return mask

        def why(row: int) -> str:
            what = "is not alive" if living else "was never created"
            return f"entity {int(owners[row]):#x} {what}"

        refuse_wrong(self._saved, tensor, len(owners), wrong, why)

    def _were_created(self, es: EntityArray, cells: EntityArray) -> NDArray[np.bool_]:
        """Return which entities that do not live did once, by the cells of their indices.

        A cell has the generation of who lives, or who will next; of who was the last, none.
        """
        generations, next_ones = es >> self._bits, cells >> self._bits
        created = (generations > 0) & (generations <= self._last)
        created &= (next_ones == 0) | (generations < next_ones)
        known: NDArray[np.bool_] = created & (self.indices(es) < len(self._handles))
        return known

    def _waiting(self) -> NDArray[np.bool_]:
        """Return which indices must be in the queue, when all cells are right."""
        waiting = np.zeros(len(self._handles), np.bool_)
        n_retired = 0
        for block in cell_blocks(len(self._handles)):
            cells = self._handles[block]
            generations = cells >> self._bits
            # 0 where the index's own handle lives, 1 where it waits for its next one
            state = cells & self._mask
            state ^= np.arange(block.start, block.stop, dtype=np.uint64)
            lowest, highest = generations.min(), generations.max()
            if state.max() > 1 or highest > self._last:
                self._refuse_cell(block, (state > 1) | (generations > self._last))
            if not state.any() and lowest:
                continue
            is_retired = generations == 0
            if (is_retired & (state == 0)).any():
                self._refuse_cell(block, is_retired & (state == 0))
            n_retired += int(np.count_nonzero(is_retired))
            waiting[block] = (state == 1) & ~is_retired
        said = self._saved.state["entities"]["n_retired"]
        if n_retired != said:
            self._saved.refuse(
                f"{n_retired} are retired, the state says {said}", _HANDLES
            )
        return waiting

    def _refuse_cell(self, block: slice, wrong: NDArray[np.bool_]) -> None:
        index = block.start + int(wrong.argmax())
        cell = int(self._handles[index])
        self._saved.refuse(f"{cell:#x} is no handle of this index", _HANDLES, index)

    def _check_free(self, waiting: NDArray[np.bool_]) -> None:
        """Refuse a queue that is not, in some order, that of the indices that wait."""
        free = self._saved.arrays[_FREE]
        count = len(self._handles)

        def not_waiting(block: slice) -> NDArray[np.bool_]:
            if not count:
                return np.ones(block.stop - block.start, np.bool_)
            indices = free[block]
            mask: NDArray[np.bool_] = ~waiting.take(indices, mode="clip")
            return mask | (indices >= count)

        def why(place: int) -> str:
            return f"index {int(free[place])} is not free"

        refuse_wrong(self._saved, _FREE, len(free), not_waiting, why)
        queued = np.zeros(count, np.bool_)
        queued[free] = True
        if int(np.count_nonzero(queued)) != len(free):
            self._saved.refuse("an index waits twice", _FREE)
        if int(np.count_nonzero(waiting)) != len(free):
            index = int((waiting & ~queued).argmax())
            self._saved.refuse("its index waits nowhere", _HANDLES, index)
