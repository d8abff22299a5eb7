"""Components with positions: rows near each other, or near any point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, ClassVar, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import short_repr
from ...base.fast_typing import NamedTuple
from ...base.handles import EntityArray, Neighbours, RowArray
from ...base.specialisation import NO_SLOTS
from ...managers.manager import Manager
from ...managers.policies.owners import Owned
from ...tables.columns import owner_column
from ...tables.placement import NO_ROWS
from ...values.field_types import FloatField
from ...values.interchange import plain_array
from .cell_lists import NO_KEYS, CellNumbers, EntityKeys, Positions
from .neighbour_search import NeighbourSearch


class SpaceLayout(NamedTuple):
    """Fields and axes of a component's positions, as its schema says."""

    field: str
    columns: tuple[str, ...]
    """Attribute with all axes, or one attribute for each axis."""
    rows: str
    """Attribute with the number of visible rows."""
    wrap: tuple[float, ...]
    """Size of each axis; 0 where it is open."""


class Spatial(Manager):
    """A manager whose rows have positions."""

    __slots__ = NO_SLOTS
    _SPACE: ClassVar[SpaceLayout]
    _wrap: tuple[float, ...]

    @property
    def wrap(self) -> tuple[float, ...]:
        """Size of each axis of the space that wraps; 0 where it is open.

        Assigning other than finite numbers from 0, one per axis, is a ValueError. Saved
        and copied with the rest.
        """
        return self._wrap

    @wrap.setter
    def wrap(self, wrap: Sequence[float]) -> None:
        self._wrap = checked_wrap(self, wrap)

    def near(self, points: ArrayLike, radius: float) -> Neighbours:
        """Return the rows within a radius of each of k points, cell by cell; O(n log n + k).

        Only active rows of alive entities, at finite positions. `points`: shape (k, axes), or
        (k,) along a single axis.

        Raises:
            ValueError: the radius is no finite number above 0, or `points` have another
                shape.
            TypeError, OverflowError: points that are no numbers, or too large.
        """
        reach = checked_radius(f"{type(self).__name__}.near: radius", radius)
        positions = self._positions(getattr(self.data, self._SPACE.rows))
        label = f"{type(self).__name__}.near: points"
        axes, scalar = len(positions), f"f{8 * positions.dtype.itemsize}"
        array = plain_array(points, label)
        is_flat = axes == array.ndim == 1
        if not is_flat and array.shape[1:] != (axes,):
            wanted = f"{'(k,) or ' if axes == 1 else ''}(k, {axes})"
            raise ValueError(f"{label}: wanted shape {wanted}, not {array.shape}")
        field = FloatField(label, scalar, () if is_flat else (axes,))
        asking = field.to_column(points, len(array)).reshape(-1, axes).T
        asking_positions, visible = np.ascontiguousarray(asking), self._visible_positions(positions)
        neighbours = NeighbourSearch(asking_positions, visible, reach, self._wrap).neighbours()
        return Neighbours(*neighbours)

    def _search(
        self, kernel: str, radius: SupportsFloat, n: int, named: RowArray | None = None
    ) -> NeighbourSearch:
        """Return a search for the neighbours of the first n rows, or of those that a call names, or
        raise ValueError for the radius."""
        arguments = self._search_arguments(kernel, radius, n)
        if named is None:
            return NeighbourSearch(*arguments, is_one=True)
        positions, visible, reach, wrap = arguments
        keys = np.arange(positions.shape[1], dtype=np.uint64)
        asking_positions = positions.take(named, axis=1)
        return NeighbourSearch(asking_positions, visible, reach, wrap, names=(keys[named], keys))

    def _search_arguments(
        self, kernel: str, radius: SupportsFloat, n: int
    ) -> tuple[Positions, Positions, float, tuple[float, ...]]:
        """Return positions of the first n rows, visible positions, a radius and the wrap."""
        reach = checked_radius(f"{type(self).__name__}.{kernel}", radius)
        positions = self._positions(n)
        return positions, self._visible_positions(positions), reach, self._wrap

    def _all_positions(self) -> tuple[Positions, Positions]:
        """Return positions and visible positions of all rows."""
        positions = self._positions(self.data.n)
        return positions, self._visible_positions(positions)

    def _positions(self, n: int) -> Positions:
        """Return a copy of the positions of the first n rows, shape (axes, n)."""
        columns = [getattr(self.data, name)[:n] for name in self._SPACE.columns]
        if len(columns) > 1:
            return np.stack(columns)
        positions: Positions = np.atleast_2d(columns[0].T).copy()
        return positions

    def _visible_positions(self, positions: Positions) -> Positions:
        """Return positions of the first rows, NaN for those that are not visible."""
        is_visible = self._visible_rows(positions.shape[1])
        if is_visible is None:
            return positions
        return np.where(is_visible, positions, np.nan).astype(positions.dtype)

    def _visible_rows(self, n: int) -> NDArray[np.bool_] | None:
        """Return a mask of the visible rows among the first n, None if it is all."""
        active = getattr(self.data, self._SPACE.rows)
        return None if active >= n else np.arange(n) < active

    def _init_empty(self) -> None:
        super()._init_empty()
        self._wrap = self._SPACE.wrap

    def json_state(self) -> dict[str, Any]:
        return {**super().json_state(), "wrap": list(self._wrap)}

    def load_json_state(self, state: Mapping[str, Any]) -> None:
        super().load_json_state(state)
        wrap = tuple(state.get("wrap", ()))
        fits = len(wrap) == len(self._SPACE.wrap)
        self._wrap = wrap if fits else self._SPACE.wrap


class OwnedSpatial(Spatial, Owned):
    """A manager whose rows have positions and owners; rows of dead entities are not visible."""

    __slots__ = NO_SLOTS

    def _all_owners(self) -> EntityArray:
        """Return the owner of each row, or an array that begins with the owners."""
        return owner_column(self.data)

    def _visible_rows(self, n: int) -> NDArray[np.bool_] | None:
        active = super()._visible_rows(n)
        if self.are_all_alive():
            return active
        owners = owner_column(self.data)[:n]
        alive = self._entities.are_alive(owners)
        if active is not None:
            return alive & active
        return None if alive.all() else alive


def checked_wrap(owner: Spatial, wrap: Sequence[float]) -> tuple[float, ...]:
    """Return sizes of axes as floats, or raise ValueError."""
    label, axes = f"{type(owner).__name__}.wrap", len(owner._SPACE.wrap)
    try:
        sizes = FloatField(label, "f64", (axes,)).to_cell(wrap)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None
    if not all(isfinite(size) and size >= 0 for size in sizes):
        raise ValueError(f"{label}: wanted finite numbers from 0, not {short_repr(wrap)}")
    return tuple(float(size) for size in sizes)


def checked_radius(label: str, radius: SupportsFloat) -> float:
    """Return a radius as a float, or raise ValueError that begins with `label`."""
    number: Any = radius
    if not isinstance(radius, float):
        try:
            number = FloatField(label, "f64").to_cell(radius)
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from None
    if not (isfinite(number) and number > 0):
        wanted = "wanted a finite number above 0"
        raise ValueError(f"{label}: {wanted}, not {short_repr(float(number))}")
    return float(number)


NearNames = tuple[EntityKeys, EntityKeys]
SearchArguments = tuple[Positions, Positions, float, tuple[float, ...], bool, NearNames | None]
"""Asking positions, members, radius, wrap, True if both are one set, and the keys of two sets."""
LiveSearchArguments = tuple[
    Positions, CellNumbers, EntityKeys, EntityKeys, float, tuple[float, ...]
]
"""Positions of members, NaN for hidden ones; each row's member number, -1 for none; keys of asking
rows and of members, if they are two sets; the radius, and the wrap."""


def join_search_arguments(
    kernel: str,
    manager: Spatial,
    radius: SupportsFloat,
    asking: RowArray,
    members: RowArray | None = None,
    hidden: RowArray = NO_ROWS,
    named: RowArray | None = None,
) -> SearchArguments:
    """Return arguments to search for `members`, by default `asking`, near the rows `asking`, or
    near those that a call names.

    Hidden rows are not found, nor, of two sets, rows of the same entity. Raises ValueError for the
    radius.
    """
    reach = checked_radius(kernel, radius)
    positions, visible = manager._all_positions()
    if len(hidden):
        visible = visible.copy()
        visible[:, hidden] = np.nan
    asking_positions = positions.take(asking if named is None else named, axis=1)
    if members is None and named is not None:
        keys = named.astype(np.uint64), asking.astype(np.uint64)
        return asking_positions, visible.take(asking, axis=1), reach, manager.wrap, False, keys
    if members is None:
        others = asking_positions if visible is positions else visible.take(asking, axis=1)
        return asking_positions, others, reach, manager.wrap, True, None
    owners = manager._all_owners()  # type: ignore[attr-defined]  # in a group or query
    names = owners[asking if named is None else named], owners[members]
    return asking_positions, visible.take(members, axis=1), reach, manager.wrap, False, names


def live_search_arguments(
    kernel: str, manager: Spatial, radius: SupportsFloat
) -> LiveSearchArguments:
    """Return arguments for a search among all rows of a manager, or raise ValueError."""
    n = manager.data.n
    _, visible, reach, wrap = manager._search_arguments(kernel, radius, n)
    return visible, _numbers(manager, np.arange(n)), NO_KEYS, NO_KEYS, reach, wrap


def join_live_search_arguments(
    kernel: str,
    manager: Spatial,
    radius: SupportsFloat,
    asking: RowArray,
    members: RowArray | None = None,
    hidden: RowArray = NO_ROWS,
) -> LiveSearchArguments:
    """Return arguments to search for `members`, by default `asking`, near the rows `asking`. Hidden
    rows are not found, nor, of two sets, rows of the same entity."""
    arguments = join_search_arguments(kernel, manager, radius, asking, members, hidden)
    _, positions, reach, wrap, _, names = arguments
    met = asking if members is None else members
    keys, other_keys = names or (NO_KEYS, NO_KEYS)
    return positions, _numbers(manager, met, hidden), keys, other_keys, reach, wrap


def _numbers(manager: Spatial, members: RowArray, hidden: RowArray = NO_ROWS) -> CellNumbers:
    """Return each row's member number, -1 for none and for hidden rows; members that are ghosts
    come after the rows."""
    n = manager.data.n
    numbers = np.full(max(n, members.max(initial=-1) + 1), -1, np.int64)
    numbers[members] = np.arange(len(members))
    numbers[hidden] = -1
    seen = manager._visible_rows(n)
    return numbers[:n] if seen is None else np.where(seen, numbers[:n], -1)
