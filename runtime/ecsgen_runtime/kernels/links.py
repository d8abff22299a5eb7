"""Neighbours by links: from the rows of a kernel to the rows of those at the other ends."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..base.handles import NIL, EntityArray, IdArray, RowArray
from ..managers.policies.networks import Links, Network, ranges_of
from ..managers.policies.owners import Owned
from ..tables.columns import owner_column
from ..tables.placement import joined_ranges
from ..world.queries.join_rows import JoinRows, member_row_array
from .random_streams import DrawnWords, streams_of_passes
from .spaces.neighbour_search import NeighbourPairs

_PAIRS: Final = 1 << 16
"""Number of pairs that are looked at together, so that they stay in the cache."""

SourceRows = slice | JoinRows
"""Rows of a component in a group, a query or the component itself."""
Side = tuple[Owned, SourceRows]
"""A manager with entities, and its rows that ask or are asked."""


_NOTHING_KEPT: Final[tuple[Any, Any, Any]] = (), (), None


class NetworkRows:
    """Links of each row that asks: those of row i are `[starts[i] : starts[i + 1]]`."""

    def __init__(
        self,
        starts: RowArray,
        rows: RowArray,
        links: RowArray,
        owners: EntityArray,
        ask_each_other: bool = False,
    ) -> None:
        self.owners = owners
        """Entities of the rows that ask."""
        self.ask_each_other = ask_each_other
        """True if the same rows are asked, and links lead both ways."""
        self.starts = starts
        """Shape (asking + 1,)."""
        self.rows = rows
        """Number of the neighbour among those that may be, by link."""
        self.links = links
        """Row that is the link."""
        self._streams: DrawnWords | None = None

    def streams(self, row_keys: DrawnWords, ids: IdArray) -> DrawnWords:
        """Return what random numbers of the pass of a loop over each link depend on but for the
        call. `row_keys`, shape (asking,), tells rows apart; `ids` are those of links by row.
        O(links) the first time, then O(1)."""
        if self._streams is None:
            who = row_keys.repeat(np.diff(self.starts))
            self._streams = streams_of_passes(who, ids[self.links])
        return self._streams

    @cached_property
    def blocks(self) -> list[tuple[slice, RowArray, RowArray]]:
        """Asking rows whose links are looked at together, how many each has, and the number of the
        asking row by link, from the first one of the block on."""
        starts, n, blocks, start = self.starts, len(self.starts) - 1, [], 0
        while start < n:
            stop = int(starts.searchsorted(starts[start] + _PAIRS, "right")) - 1
            stop = min(max(stop, start + 1), n)
            counts = np.diff(starts[start : stop + 1])
            blocks.append((slice(start, stop), counts, np.arange(stop - start).repeat(counts)))
            start = stop
        return blocks

    @cached_property
    def most(self) -> int:
        """The most links of a row."""
        return int(np.diff(self.starts).max(initial=0))


def network_of(
    network: Network, back: bool, asking: Side, asked: Side, *parts: tuple[SourceRows, Owned]
) -> NetworkRows:
    """Return the links of rows that ask to rows that are asked; kept until something changes.

    `parts`: the rows of those who are asked in components of which some rows may be inactive.
    O(links) after a change, else O(1).
    """
    index = network.data.link_index
    links, key = network.links_by_slot(back), (back, id(asking[0]), id(asked[0]), len(parts))
    held, versions, known = index.kept.get(key, _NOTHING_KEPT)
    now = asking[1], asked[1], *(rows for rows, _ in parts)
    stamp = [asking[0].version, asked[0].version, *(manager.version for _, manager in parts)]
    if known is None or stamp != versions or not all(map(_are_same, now, held)):
        ask_each_other = network.IS_MUTUAL and not parts and asking[0] is asked[0]
        ask_each_other &= isinstance(asking[1], slice) and _are_same(asking[1], asked[1])
        known = _extended(known, network, links, asking) if ask_each_other and known else None
        known = known or _linked_rows(network, links, asking, asked, parts, ask_each_other)
        index.kept[key] = now, stamp, known
    result: NetworkRows = known
    return result


def link_ids(network: Network) -> IdArray:
    """Return the id of each row that is a link, kept until something changes. Follows `network_of`,
    which drops what was kept."""
    cache = network.data.link_index.kept
    if "ids" not in cache:
        rows: Any = network  # which have ids
        cache["ids"] = rows.ids_by_row()
    ids: IdArray = cache["ids"]
    return ids


def _are_same(rows: SourceRows, before: SourceRows) -> bool:
    return rows is before or (isinstance(rows, slice) and rows == before)


def _linked_rows(
    network: Network,
    links: Links,
    asking: Side,
    asked: Side,
    parts: tuple[tuple[SourceRows, Owned], ...],
    ask_each_other: bool,
) -> NetworkRows:
    manager, rows = asking
    owners = owner_column(manager.data)[rows if isinstance(rows, slice) else member_row_array(rows)]
    starts, indices = ranges_of(network.end_entities, links, owners)
    numbers = _numbers(*asked, links.others.take(indices))
    is_asked = numbers >= 0
    for part, partitioned in parts:
        active = getattr(partitioned.data, "n_active", partitioned.data.n)
        is_asked &= (member_row_array(part) < active).take(numbers, mode="clip")
    link_rows = links.rows.take(indices)
    if not is_asked.all():
        ends = np.zeros(len(indices) + 1, np.intp)
        np.cumsum(is_asked, out=ends[1:])
        starts, numbers = ends[starts], numbers.compress(is_asked)
        link_rows = link_rows.compress(is_asked)
    return NetworkRows(starts, numbers, link_rows, owners.copy(), ask_each_other)


def _extended(
    known: NetworkRows, network: Network, links: Links, asking: Side
) -> NetworkRows | None:
    """Return the links of rows that ask each other, of which the first are those before, and the
    others have no links; None if they are not. O(rows)."""
    (manager, rows), count = asking, len(known.owners)
    assert isinstance(rows, slice)
    owners = owner_column(manager.data)[rows]
    if not known.ask_each_other or not np.array_equal(owners[:count], known.owners):
        return None
    starts = ranges_of(network.end_entities, links, owners[count:])[0]
    if starts[-1]:
        return None
    starts += known.starts[-1]
    starts = np.concatenate((known.starts[:-1], starts))
    return NetworkRows(starts, known.rows, known.links, owners.copy(), ask_each_other=True)


def _numbers(manager: Owned, rows: SourceRows, entities: NDArray[np.uint64]) -> RowArray:
    """Return the number of each entity's row among some rows, -1 for none."""
    row_numbers = manager.lookup_many(entities)
    if isinstance(rows, slice):
        row_numbers -= rows.start
        row_numbers[row_numbers >= rows.stop - rows.start] = -1  # NIL is larger
        return row_numbers
    members = member_row_array(rows)
    numbers = np.full(manager.data.n + 1, -1, np.intp)
    numbers[members] = np.arange(len(members))
    row_numbers[row_numbers == NIL] = manager.data.n
    return numbers[row_numbers]


class LinkedPairs:
    """Pairs of rows and their neighbours by links, in the order of rows and of links."""

    def __init__(self, network: NetworkRows, chosen: RowArray | None = None) -> None:
        """`chosen`: the rows that ask, if not all."""
        if chosen is not None:
            counts = np.diff(network.starts)[chosen]
            starts, places = joined_ranges(network.starts[chosen], counts)
            links, owners = network.links[places], network.owners[chosen]
            network = NetworkRows(starts, network.rows[places], links, owners)
        self._network = network
        self.asking = np.arange(len(network.starts) - 1)
        self.members = slice(None)
        """Columns are gathered by `rows_in`, and then in the order of pairs."""
        self.links = network.links
        """Row that is the link of each pair."""

    def rows_in(self, rows: SourceRows) -> RowArray:
        """Return the neighbour's row of each pair, by those of all who may be neighbours."""
        if isinstance(rows, slice):
            return self._network.rows
        return member_row_array(rows).take(self._network.rows)

    def blocks(self) -> Iterator[NeighbourPairs]:
        """Iterate over all pairs; each asking row is in one block."""
        starts, blocks = self._network.starts, self._network.blocks
        no_square = np.empty(max((len(who) for _, _, who in blocks), default=0))
        no_offset = np.empty((0, len(no_square)))
        for rows, counts, who in blocks:
            links = slice(starts[rows.start], starts[rows.stop])
            pairs = NeighbourPairs(rows, who, links, no_offset, no_square[: len(who)])
            pairs.counts = counts
            yield pairs
