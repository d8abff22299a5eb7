"""What all managers have in common: a version, locks, room for rows, saving."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from operator import index
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from .broken import break_down
from .callbacks import Dispatch
from .columns.buffers import Column
from .columns.rows import Rows
from .convert.base import FieldTable
from .errors import StructureLockedError
from .fast import speed_up
from .handles import Columns, EntityArray, Instance, RowArray
from .parts import FixedParts
from .per_class import copy_methods
from .placement.rows import distinct, locked
from .state import numbers_of


class Manager(FixedParts, ABC):
    """Owns all instances of one component.

    Rows are good until the next structural change; `version` counts those. Not
    thread-safe.
    """

    __slots__ = ("__weakref__", "_locks", "data")

    LAYOUT: ClassVar[tuple[Column, ...]]
    """Where each column lies in the buffer."""
    _ROWS: ClassVar[type[Rows]]
    _CAPACITY: ClassVar[int] = 0
    _FIELDS: ClassVar[FieldTable] = {}
    _PARTS: ClassVar[tuple[str, ...]] = ("data",)
    _NUMBERS: ClassVar[tuple[str, ...]] = ()
    _RELEASES: ClassVar[bool] = False
    """Whether callbacks are told of rows about to go."""
    _locks: int
    data: Rows

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "LAYOUT" in vars(cls):
            copy_methods(cls)
            speed_up(cls)

    def __init__(self) -> None:
        self._locks = 0
        self.data = self._ROWS(self._CAPACITY)
        self._start()
        self._attach()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        numbers = {name: getattr(self, name) for name in numbers_of(type(self))}
        return {"data": self.data, "numbers": numbers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._locks = 0
        self.data = state["data"]
        for name, number in state["numbers"].items():
            setattr(self, name, number)
        self._attach()

    @property
    def version(self) -> int:
        """How many structural changes there were; views and rows are good until the next."""
        return self.data._version

    @property
    def capacity(self) -> int:
        """Rows that fit before the buffer must grow."""
        return self.data._allocated

    @property
    def nbytes(self) -> int:
        """Bytes that the manager holds: columns, map, and what kernels work on; O(1)."""
        return self._nbytes()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block."""
        self._lock()
        try:
            yield
        finally:
            self._unlock()

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if rows < 0:
            raise ValueError(f"{type(self).__name__}: can't reserve {rows} rows")
        if self._locks:
            raise self._locked()
        self.data._version += self.data._reserve(rows)

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            raise self._locked()
        self._shrink()

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            raise self._locked()
        given = self._rows_given(rows)
        self._destroy_rows(distinct(given, self.data._n, type(self).__name__))

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            raise self._locked()
        self._destroy_rows(self._all_rows())

    @abstractmethod
    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""

    @abstractmethod
    def _destroy_rows(self, gone: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""

    @abstractmethod
    def _row(self, row: object) -> Instance:
        """Return a row that is in use, or raise StaleInstanceError."""

    @abstractmethod
    def _rows_given(self, rows: ArrayLike) -> RowArray:
        """Return rows that are in use, given as numbers or as a mask."""

    def _all_rows(self) -> RowArray:
        """Return all rows in use, ascending."""
        return self.data._used_rows()

    @property
    @abstractmethod
    def _dispatch(self) -> Dispatch:
        """Where failures of callbacks are gathered."""

    def _start(self) -> None:
        """Set what policies know when there are no rows."""

    def _attach(self) -> None:
        """Set what is not saved."""

    def _nbytes(self) -> int:
        return self.data._nbytes()

    def _shrink(self) -> None:
        self.data._version += self.data._shrink()

    def _lock(self) -> None:
        self._locks += 1

    def _unlock(self) -> None:
        self._locks -= 1

    def _locked(self) -> StructureLockedError:
        return locked(type(self).__name__)

    def _break(self) -> None:
        """Let later calls raise: a change failed halfway."""
        break_down(self.data)
        break_down(self)

    def _convert(self, count: int, given: Mapping[str, Any]) -> Columns:
        """Check columns for `count` new rows; fields that are not given take their defaults."""
        buffer = self.data._buffer
        return {
            name: field.many(given.get(name, default), count, buffer)
            for name, (field, default) in self._FIELDS.items()
        }

    @property
    def _is_watched(self) -> bool:
        """Whether callbacks run when what a dead entity has left goes."""
        return False

    def _checked(self, count: int, given: Mapping[str, Any]) -> Columns:
        """Check columns for the rows of `count` entities that are about to be created."""
        columns = self._convert(count, given)
        if self._locks:
            raise self._locked()
        return columns

    def _own(self, columns: Columns) -> Columns:
        """Return checked columns that no later step of a creation can change."""
        return columns

    def _make_way(self, count: int) -> int:
        """Remove rows that would be too many with `count` more; return how many went."""
        return 0

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Allocate what the rows of these entities need, which are NULL_ENTITY where rows have no
        owners. `borrowed`: the caller's arguments."""
        self._reserve_rows(len(entities), columns, borrowed)

    def _reserve_rows(
        self, count: int, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Make room for `count` more rows. `borrowed`: the caller's arguments."""
        data = self.data
        needed = data._rows_for(count)
        if needed > data._allocated:
            data._grow(needed, borrowed)
