"""Links of networks, as lines between places on the map."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from ecsgen_runtime.base.handles import NIL
from numpy.typing import NDArray

from ecsgen.inspector.component_readers import ManagerReader, Rows

MOST_LINKS: Final = 10_000
"""Maximum of links on a map; of more, every second, every third … is shown."""


def is_network(reader: ManagerReader) -> bool:
    """Return whether the rows of a component are links."""
    return hasattr(reader.manager.data, "ENDS")


def rows_of_ends(network: ManagerReader, component: ManagerReader) -> tuple[NDArray[np.intp], int]:
    """Return the rows of a component at both ends of at most MOST_LINKS links, shape (2, k).

    NIL where there is none; and how many links there are. Called in a tick.
    """
    data = network.manager.data
    n = int(getattr(data, "n_active", data.n))
    rows: Rows = slice(0, n, max(1, -(-n // MOST_LINKS)))
    ends = np.concatenate([_end(network, name, rows) for name in data.ENDS])
    numbers = component.find(ends)
    numbers[~network.manager.end_entities.alive_many(ends)] = NIL
    return numbers.reshape(2, -1), n


def _end(network: ManagerReader, name: str, rows: Rows) -> NDArray[Any]:
    return network.owners(rows) if name == "entity" else network.cells(name, rows)


def places_of_links(numbers: NDArray[np.intp], places: NDArray[Any], rows: Rows) -> NDArray[Any]:
    """Return the places of both ends of links between rows with places, shape (k, 2, axes)."""
    if not isinstance(rows, slice):
        numbers = _positions(numbers, rows)
    is_link = (numbers < len(places)).all(0) & (numbers[0] != numbers[1])
    return places[numbers[:, is_link].T]


def _positions(numbers: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return where rows stand among others, NIL if they do not."""
    if not numbers.size or not len(rows):
        return np.full_like(numbers, NIL)
    order = rows.argsort()
    places = rows[order].searchsorted(numbers).clip(max=len(rows) - 1)
    nearest = order[places]
    return np.where(rows[nearest] == numbers, nearest, NIL)


def lines_of(places: NDArray[Any], wrap: list[float]) -> NDArray[np.float32]:
    """Return the ends of lines between places of the shape (k, 2, axes), one axis after the other.

    A link that is shorter across a border becomes two lines, one from each end to the border.
    """
    sizes = np.array(wrap)
    first, second = places[:, 0].astype(np.float64), places[:, 1].astype(np.float64)
    way = second - first
    with np.errstate(invalid="ignore", divide="ignore"):
        wraps = (sizes > 0) & (np.abs(way) > sizes / 2)
        way -= np.where(wraps, np.copysign(sizes, way), 0.0)
        # where, from 0 to 1, the way meets the border of each axis that it crosses
        part = (np.where(way > 0, sizes, 0.0) - first) / way
    crosses: NDArray[np.bool_] = np.any(wraps, axis=1)
    stop = np.where(wraps, part, 1.0).min(1, initial=1.0)[:, None]
    start = np.where(wraps, part, 0.0).max(1, initial=0.0)[:, None]
    lines = np.stack([first, np.where(crosses[:, None], first + stop * way, second)], 1)
    beyond = np.stack([second - (1 - start) * way, second], 1)[crosses]
    ends = np.concatenate([lines, beyond]).reshape(-1, len(wrap))
    return ends.astype("<f4").T
