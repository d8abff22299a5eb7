"""owner: none: a packed array on its own; its rows are reached by id (Molecule's packed array)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from operator import index
from typing import Any, SupportsIndex

import numpy as np

from ..bulk import SMALL_BATCH
from ..callbacks import Dispatch
from ..errors import EcsError
from ..handles import NIL, Columns, Id, IdArray
from ..interchange import GivenTable
from ..locks import break_since
from ..per_class import NO_SLOTS
from ..placement import NO_ROWS, is_integer, whole_count
from ..proxies import ProxyT, following, new_proxy, resolved
from .ids import IdCalls


class Unowned(IdCalls):
    """A manager whose rows belong to nobody; a creation returns ids."""

    __slots__ = NO_SLOTS
    _failures: Dispatch

    def _attach(self) -> None:
        super()._attach()
        self._failures = Dispatch()

    @property
    def _dispatch(self) -> Dispatch:
        return self._failures

    def __iter__(self) -> Iterator[Id]:
        """Iterate over the ids, in row order."""
        return iter(self.id_of_many(np.arange(self.data._n)).tolist())

    def __contains__(self, id: object) -> bool:
        """Return whether an id has an instance; O(1)."""
        return is_integer(id) and self.resolve(Id(index(id))) != NIL

    def _proxy(self, kind: type[ProxyT], id: Id) -> ProxyT:
        """Return a proxy of the row of an id, or raise StaleIdError; O(1)."""
        id = Id(index(id))
        proxy = new_proxy(kind)
        proxy._manager = self
        proxy._owner = id
        proxy._row = resolved(self, id)
        proxy._version = self.data._version
        return proxy

    def _proxies(self, kind: type[ProxyT]) -> Iterator[ProxyT]:
        """Iterate over proxies of the present rows, which follow their ids; O(n)."""
        rows = self.data._used_rows()
        ids = self.id_of_many(rows).tolist()
        return following(kind, self, self.resolve, ids, rows.tolist())

    @abstractmethod
    def _append_many(self, count: int, columns: Columns) -> IdArray:
        """Add rows of checked columns, for which there is room."""

    def _create_many(
        self,
        count: SupportsIndex,
        given: Mapping[str, Any],
        table: GivenTable | None = None,
    ) -> IdArray:
        """Add `count` instances of these fields; O(count)."""
        count = whole_count(type(self).__name__, count)
        if table is not None:
            given = self._columns_beside(given, table, count)
        if 0 < count <= SMALL_BATCH:
            ids = self._create_small_batch(count, given)
            if ids is not None:
                return ids
        self._check_names(given)
        columns = self._convert(count, given)
        if self._locks:
            self._refuse_locked()
        nobody = np.zeros(count, np.uint64)
        self._make_room(nobody, columns, tuple(given.values()))
        if count == 0:
            return np.empty(0, np.uint64)
        columns = self._own(columns)
        if self._RELEASES:
            return self._dispatch.run(self._replace, count, columns)
        return self._replace(count, columns)

    def _create_small_batch(
        self, count: int, given: Mapping[str, Any]
    ) -> IdArray | None:
        """Create a few plain instances one by one; None if something is not that plain."""
        fields = self._small_values(count, given)
        if fields is None:
            return None
        version = self.data._version
        try:
            ids = np.array([self.create(**values) for values in fields], np.uint64)
        except BaseException:
            break_since(self, version)
            raise
        self.data._version = version + 1
        return ids

    @property
    @abstractmethod
    def create(self) -> Callable[..., Id]:
        """Add an instance and return its id; O(1)."""

    def _replace(self, count: int, columns: Columns) -> IdArray:
        """Append rows once those that are too many are gone; these cannot be taken back, so then
        nothing may fail any more."""
        gone = self._too_many(count, NO_ROWS)
        _left = self._objects_that_go(gone)  # until the new rows are there
        version = self.data._version
        try:
            if self._destroy_rows(gone):
                # again: callbacks may have used the room
                self._reserve_rows(count, columns, ())
            return self._append_many(count, columns)
        except EcsError:
            raise  # what callbacks did is in the way
        except BaseException:
            break_since(self, version)
            raise
