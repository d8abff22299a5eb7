"""network: rows that are links between entities, sorted by their ends on request."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.fast_typing import NamedTuple
from ...base.handles import EntityArray, RowArray
from ...base.specialisation import NO_SLOTS
from ...entities.entity_manager import EntityManagerBase
from ...tables.columns import Rows
from ...tables.placement import joined_ranges
from ...values.array_coercion import as_entities
from ..manager import Manager
from .owners import known_entities


class Links(NamedTuple):
    """Links of k entities: those of entity i are `[starts[i] : starts[i + 1]]`, in row order."""

    starts: RowArray
    """Shape (k + 1,)."""
    rows: RowArray
    others: EntityArray
    """The entity at the other end of each."""


class LinkIndex:
    """Links by the slots of entities at one end, renewed on request after changes."""

    def __init__(self) -> None:
        self.writes = 0
        """Number of writes to the ends, without creations and removals."""
        self.stamp: tuple[int, ...] = ()
        self.by_slot: dict[bool, Links] = {}
        """By direction, True for back: the links of each slot."""
        self.may_revive = False
        """True if ends are not alive that may be some day: handles of no entity yet."""
        self.kept: dict[Any, Any] = {}
        """Links by rows, as kernels have made them of these."""

    def clear(self) -> None:
        """Drop all, since links may be others."""
        self.by_slot.clear()
        self.kept.clear()
        self.may_revive = False

    @property
    def nbytes(self) -> int:
        """Bytes of the sorted links."""
        return sum(part.nbytes for links in self.by_slot.values() for part in links)


class LinkRows(Rows):
    """Rows that are links; the columns of their ends are read-only."""

    __slots__ = NO_SLOTS
    ENDS: ClassVar[tuple[str, str]]
    """Names of both ends."""
    link_index: LinkIndex

    def _init_empty(self) -> None:
        super()._init_empty()
        self.link_index = LinkIndex()

    def _nbytes(self) -> int:
        return super()._nbytes() + self.link_index.nbytes

    def _assign_values(self, name: str, bound: int, cells: NDArray[Any]) -> None:
        self.link_index.writes += name in self.ENDS
        super()._assign_values(name, bound, cells)

    def _write_values(self, name: str, rows: RowArray, cells: NDArray[Any]) -> None:
        self.link_index.writes += name in self.ENDS
        super()._write_values(name, rows, cells)


class Network(Manager):
    """A manager whose rows are links between entities."""

    __slots__ = NO_SLOTS
    IS_MUTUAL: ClassVar[bool]
    """True if links lead both ways."""
    data: LinkRows

    @property
    def end_entities(self) -> EntityManagerBase:
        """Manager of the entities at the ends."""
        return known_entities(self)

    def links_by_slot(self, back: bool) -> Links:
        """Return the links of each slot of entities; O(n log n) after a change, else O(1)."""
        index = self.data.link_index
        if index.stamp != self.link_stamp():
            index.clear()
        if back not in index.by_slot:
            index.by_slot[back] = self._sorted_links(back)
            index.stamp = self.link_stamp()
        return index.by_slot[back]

    def link_stamp(self) -> tuple[int, ...]:
        """Return numbers that change if other rows may be links, or may have other ends."""
        entities, index = self.end_entities, self.data.link_index
        stamp = self.version, index.writes, entities.despawn_count
        births = (entities.n_used, entities.free_indices.head) if index.may_revive else ()
        return (*stamp, *births)

    def _sorted_links(self, back: bool) -> Links:
        data, entities = self.data, self.end_entities
        n = getattr(data, "n_active", data.n)
        first, second = (getattr(data, f"_{name}_column")[:n] for name in data.ENDS)
        alive = entities.are_alive(first)
        alive &= entities.are_alive(second)
        if not alive.all():
            ends = np.concatenate((first, second))
            data.link_index.may_revive |= _may_be_born(entities, ends)
        owners = getattr(data, "_entity_column", None)
        if owners is not None and "entity" not in data.ENDS:  # rows of the dead go some day
            alive &= entities.are_alive(owners[:n])
        alive &= first != second
        rows = None if alive.all() else alive.nonzero()[0]
        if rows is not None:
            first, second = first[rows], second[rows]
        if self.IS_MUTUAL:
            both = np.stack((first, second), axis=1)
            first, second = both.reshape(-1), both[:, ::-1].reshape(-1)
        elif back:
            first, second = second, first
        starts, order = data.BULK.group_by(entities.slots(first), entities.span(first))
        others = second.take(order)
        order >>= self.IS_MUTUAL
        return Links(starts, order if rows is None else rows.take(order), others)

    def _links_of(self, es: ArrayLike, back: bool) -> Links:
        handles, links = as_entities(es), self.links_by_slot(back)
        starts, indices = ranges_of(self.end_entities, links, handles)
        return Links(starts, links.rows[indices], links.others[indices])

    def _set_value(self, name: str, row: int, value: Any) -> None:
        self.data.link_index.writes += name in self.data.ENDS
        super()._set_value(name, row, value)


class DirectedNetwork(Network):
    """A manager whose rows are links from one end to the other."""

    __slots__ = NO_SLOTS
    IS_MUTUAL: ClassVar[bool] = False

    def links_of(self, es: ArrayLike, /, *, back: bool = False) -> Links:
        """Return the links that lead from each of k entities, or `back` those that lead to them.

        A row is a link if it is active, and its owner and its ends are alive, and these are two.
        The dead have none.
        O(k + links), and O(n log n) first after a change.
        """
        return self._links_of(es, bool(back))


class MutualNetwork(Network):
    """A manager whose rows are links that lead both ways."""

    __slots__ = NO_SLOTS
    IS_MUTUAL: ClassVar[bool] = True

    def links_of(self, es: ArrayLike, /) -> Links:
        """Return the links of each of k entities, whichever end it is.

        A row is a link if it is active, and its owner and its ends are alive, and these are two.
        The dead have none.
        O(k + links), and O(n log n) first after a change.
        """
        return self._links_of(es, False)


def ranges_of(
    entities: EntityManagerBase, links: Links, handles: EntityArray
) -> tuple[RowArray, RowArray]:
    """Return where the links of each of k entities begin, shape (k + 1,), and the index of each
    among the links by slot. O(k + links)."""
    slots, last = entities.slots(handles), len(links.starts) - 2
    has_links = entities.are_alive(handles)
    has_links &= slots <= last
    lows = links.starts.take(slots, mode="clip")
    counts = links.starts.take(slots + 1, mode="clip")
    counts -= lows
    counts[~has_links] = 0
    return joined_ranges(lows, counts)


def _may_be_born(entities: EntityManagerBase, handles: EntityArray) -> bool:
    """Return True if some handles are of no entity yet, but may be: those with an index of which
    they are no earlier generation."""
    strange = handles[~entities.are_alive(handles)]
    strange = strange[strange != 0]
    if not len(strange):
        return False
    cells = entities.handles.take(entities.slots(strange), mode="clip")
    return bool((strange | np.uint64(1) >= cells).any())
