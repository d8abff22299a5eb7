"""Base classes of all managers: a version, locks, capacity, saving."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from operator import index
from typing import Any, ClassVar, Final, Self, TypeAlias, TypeVar
from weakref import ref

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.callbacks import Callbacks, Dispatch
from ..base.errors import EcsError, StaleInstanceError, StructureLockedError
from ..base.fast_typing import NamedTuple
from ..base.handles import NIL, Columns, EntityArray, Instance, RowArray
from ..base.locks import (
    BROKEN_MARKER,
    Lockable,
    ReadOnlyAttributes,
    mark_broken,
    mark_broken_if_changed,
)
from ..base.specialisation import (
    NO_SLOTS,
    collect_hooks,
    install_accelerator,
    specialise_methods,
    specialised,
)
from ..base.text import format_bytes, format_count
from ..tables.buffers import Column
from ..tables.bulk import SMALL_REMOVAL, small_values
from ..tables.changes import ChangeReader
from ..tables.columns import Rows, used_rows
from ..tables.html_reprs import manager_table
from ..tables.placement import NO_ROWS, integers, locked_error
from ..tables.table_arguments import table_columns
from ..values.array_coercion import as_small_int_list
from ..values.field_tables import FieldInfo, unexpected_keyword_error
from ..values.field_types import FieldTable
from ..values.interchange import TableLike

_Made = TypeVar("_Made")

Hooks: TypeAlias = tuple[Callable[..., Any], ...]


class ManagerParts(NamedTuple):
    """Features with a part in a generated manager's one-row methods."""

    row: type[Any] | None = None
    """Named tuple of a row."""
    accessors: tuple[str, ...] = ()
    """Of accessors and of `row`."""
    create: tuple[str, ...] = ()
    create_many: tuple[str, ...] = ()
    destroy_row: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    """Accessors that do more than read or write a cell."""


class BaseManager(Lockable, ReadOnlyAttributes):
    """Owns all instances of one component, wherever they come from. Not thread-safe."""

    __slots__ = ("__weakref__", "_holds", "_locks", "data")

    LAYOUT: ClassVar[tuple[Column, ...]]
    """Columns of the buffer, in order."""
    FIELDS: ClassVar[tuple[FieldInfo, ...]] = ()
    """Name, type, shape and default of each field, in the schema's order."""
    ROWS: ClassVar[type[Rows]]
    _CAPACITY: ClassVar[int] = 0
    CONVERTERS: ClassVar[FieldTable] = {}
    PARTS: ClassVar[ManagerParts] = ManagerParts()
    """Said by the generator, for methods in C and compiled commands."""
    READ_ONLY: ClassVar[tuple[str, ...]] = ("data",)
    _ALLOWS_ONE_BY_ONE: ClassVar[bool] = True
    """True if a batch may be created or removed row by row: a removal leaves the other rows where
    they are, or moves the last one into the hole."""
    _ACCEPTS_ANY_VALUES: ClassVar[bool] = True
    """True if any values that fit their fields may be created."""
    _EVICTS_STALE_ROWS: ClassVar[bool] = False
    """True if a dead entity's rows are removed before another entity of its index gets one."""
    HAS_ORDER: ClassVar[bool] = False
    """True if rows have an order, independent of owners, that moves do not change."""
    HAS_RELEASE_CALLBACKS: ClassVar[bool] = False
    """True if callbacks run when rows are removed."""
    HAS_ADD_CALLBACKS: ClassVar[bool] = False
    """True if callbacks run when rows have come."""
    DESPAWNS_OWNERS: ClassVar[bool] = False
    """True if removing rows destroys entities."""
    _HOLDS_OBJECTS: ClassVar[bool] = False
    """True if removing rows drops Python objects, which may run any code."""
    _CASCADES: ClassVar[bool] = False
    """True if removing rows removes other rows."""
    _BEFORE_REMOVE: ClassVar[tuple[str, ...]] = ()
    """Methods that forget rows about to be removed, which are still readable; each class lists its
    own."""
    _PLAN_REMOVE: ClassVar[tuple[str, ...]] = ()
    """Methods that plan what to do once rows are removed; likewise."""
    _AFTER_MOVE: ClassVar[tuple[str, ...]] = ()
    """Methods that take the rows that have moved, where they are now; likewise."""
    REMOVE_HOOKS: ClassVar[tuple[Hooks, Hooks, bool]]
    """The first two, and True if removals run callbacks, remove other rows or drop objects."""
    _MOVE_HOOKS: ClassVar[Hooks]
    """The methods in `_AFTER_MOVE`."""
    ALLOWS_MANY: ClassVar[bool] = False
    """True if an entity may have several instances."""
    CAN_ACCELERATE: ClassVar[bool] = True
    """True if methods in C can find rows: by an entity's index, or by the slot in an id."""
    data: Rows

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise TypeError if a user's subclass redefines a member of its generated manager."""
        super().__init_subclass__(**options)
        generated = next((b for b in cls.__mro__[1:] if "LAYOUT" in vars(b)), None)
        if generated is not None:
            if BROKEN_MARKER not in vars(cls):
                _refuse_overriding(cls, generated)
        elif "ROWS" in vars(cls):
            rows = cls.ROWS
            cls.LAYOUT, cls.FIELDS = rows.LAYOUT, rows.FIELDS
            specialise_methods(cls, rows.ENTITIES.HANDLE_LAYOUT)
            cls.REMOVE_HOOKS = (
                collect_hooks(cls, "_BEFORE_REMOVE"),
                collect_hooks(cls, "_PLAN_REMOVE"),
                cls.HAS_RELEASE_CALLBACKS or cls._CASCADES or cls._HOLDS_OBJECTS,
            )
            cls._MOVE_HOOKS = collect_hooks(cls, "_AFTER_MOVE")
            if cls.CAN_ACCELERATE:
                install_accelerator(cls)

    def __init__(self) -> None:
        self._unlock()
        self.data = self.ROWS(self._CAPACITY)
        self._init_empty()
        self._init_transient()

    @abstractmethod
    def __len__(self) -> int: ...

    def __repr__(self) -> str:
        rows, size = format_count(len(self), "row"), format_bytes(self.nbytes)
        return f"<{type(self).__name__}: {rows}, room for {self.capacity}, {size}>"

    def _repr_html_(self) -> str:
        """Return a table of the first and last rows, for notebooks."""
        return manager_table(self)

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        return {"data": self.data, "extras": self.extra_arrays(), "notes": self.json_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._unlock()
        self.data = state["data"]
        self._restore({name: a.copy() for name, a in state["extras"].items()})
        self.load_json_state(state["notes"])
        self._init_transient()

    def __copy__(self) -> Self:
        """Return a manager with rows of its own, of the same entities; for `copy.copy`. O(n)"""
        twin = type(self).__new__(type(self))
        twin.__setstate__({**self.__getstate__(), "data": self.data.__copy__()})
        return twin

    def extra_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays saved beside the columns: views or copies, by name."""
        return {}

    def _restore(self, extras: Mapping[str, NDArray[Any]]) -> None:
        """Restore the policies' state from saved columns and `extras`; O(n).

        The extras are kept, whatever is missing is computed.
        """

    def first_invalid_cell(self) -> tuple[str, int, str] | None:
        """Return the column, row and flaw of a cell that contradicts others, or None; O(n)."""
        return None

    def json_state(self) -> dict[str, Any]:
        """Return the state saved as JSON beside arrays, without whatever is as in a new manager."""
        return {}

    def load_json_state(self, notes: Mapping[str, Any]) -> None:
        """Restore the state that `json_state` returned."""

    @property
    def version(self) -> int:
        """Number of structural changes; views and rows are good until the next."""
        return self.data._version

    @property
    def capacity(self) -> int:
        """Rows that fit before the buffer must grow."""
        return self.data.allocated

    @property
    def nbytes(self) -> int:
        """Bytes that the manager holds: columns, map, and kernels' scratch; O(1)."""
        return self._nbytes()

    def changes(self, /, *fields: str) -> ChangeReader:
        """Return a reader of how rows change from now on: which come, which go, and what their
        `fields` were; O(n). There may be any number of readers; they cost other calls nothing.

        Raises:
            ValueError: no such field, or one of objects or with a buffer of its own.
            TypeError: nothing tells an entity's rows apart; `ids: true` does.
        """
        return ChangeReader(self, fields)

    @abstractmethod
    def row_keys(self) -> NDArray[np.uint64]:
        """Return what tells rows apart, shape (n,), 0 where there is no row of an alive entity: a
        copy; O(n)."""

    @property
    def row_keys_version(self) -> tuple[int, ...]:
        """Numbers that change whenever rows, or what tells them apart, change."""
        return self.data._version, self.data.n

    def _require_row(self, row: object) -> Instance:
        """Return a row that is in use (anything with `__index__`), or raise StaleInstanceError."""
        number = index(row)  # type: ignore[arg-type]  # raises TypeError for what is no integer
        if 0 <= number < self.data.n:
            return Instance(number)
        raise self._unused_row_error(number)

    def _unused_row_error(self, row: int) -> StaleInstanceError:
        shown, n = f"NIL ({NIL})" if row == NIL else str(row), self.data.n
        used = f"rows are 0 to {n - 1}" if n else "there are no rows"
        manager = type(self).__name__
        return StaleInstanceError(f"{manager}: row {shown} is not in use; {used}")

    def _require_rows(self, rows: ArrayLike) -> RowArray:
        """Return `rows` (row numbers, or a bool mask of length n) as numbers of rows in use; O(k).

        A view is copied: it may be one of a column that is going to move. The number of rows is
        asked for after the conversion, which may run code of the caller's.

        Raises:
            TypeError: they are not integers.
            ValueError: a mask of another length, or more than one dimension.
            StaleInstanceError: a row is not in use.
        """
        name = type(self).__name__
        numbers = integers(rows, name, "rows")
        n = self.data.n
        if numbers.dtype == np.bool_:
            if len(numbers) != n:
                raise ValueError(f"{name}: a mask of length {len(numbers)} for {n} rows")
            return numbers.nonzero()[0]
        if len(numbers) == 0:
            return np.empty(0, np.intp)
        wrong = (numbers < 0) | (numbers >= n)
        # `any` and `all` are written in Python, and call these
        if np.logical_or.reduce(wrong):
            raise self._unused_row_error(int(numbers[wrong.argmax()]))
        return numbers.astype(np.intp, copy=numbers.base is not None)

    def _distinct(self, rows: RowArray) -> RowArray:
        """Return rows in use, ascending; StaleInstanceError if one is given twice."""
        data = self.data
        return data.BULK.sort_distinct(rows, data.n, type(self).__name__)

    @property
    @abstractmethod
    def _dispatch(self) -> Dispatch:
        """Runner of callbacks, which collects their failures."""

    def _init_empty(self) -> None:
        """Set the policies' state to that without rows."""

    def _init_transient(self) -> None:
        """Set the state that is not saved."""

    def _nbytes(self) -> int:
        return self.data._nbytes()

    def _lock_error(self) -> StructureLockedError:
        return locked_error(type(self).__name__)

    def _mark_broken(self) -> None:
        """Mark the manager and its rows broken, after a change that failed halfway."""
        mark_broken(self.data)
        mark_broken(self)

    def _commit(self, act: Callable[..., object], *arguments: Any) -> None:
        """Call `act`, which must not fail halfway, and count it as a change."""
        try:
            act(*arguments)
            self.data._version += 1
        except BaseException:
            self._mark_broken()
            raise

    def _check_names(self, arguments: Mapping[str, Any]) -> None:
        """Raise TypeError for a keyword that names no field."""
        if not arguments.keys() <= self.CONVERTERS.keys():
            method = f"{type(self).__name__}.create_many"
            raise unexpected_keyword_error(method, arguments, self.CONVERTERS.keys())

    def _convert(self, count: int, arguments: Mapping[str, Any]) -> Columns:
        """Check columns for `count` new rows; missing fields take their defaults."""
        buffer = self.data.buffer
        columns: Columns = {}
        for name, (field, default) in self.CONVERTERS.items():
            columns[name] = field.to_column(arguments.get(name, default), count, buffer)
        return columns

    def _set_value(self, name: str, row: int, value: Any) -> None:
        """Write a checked value to a row in use; O(1)."""
        getattr(self.data, f"_{name}_column")[row] = value

    def _used_cells(self) -> memoryview[Any] | None:
        """Return a memoryview that is 0 at holes; None if rows are packed. O(1)."""
        return None


class Manager(BaseManager):
    """A manager whose instances are created and destroyed by calls.

    Rows are good until the next structural change; `version` counts those.
    """

    __slots__ = NO_SLOTS
    _CREATED_TYPE: ClassVar[type[np.integer[Any]]] = np.intp
    """Dtype of what creations of many return: rows, or ids."""

    def reserve(self, rows: int, /) -> None:
        """Make room for `rows` instances in all, so that creating them moves nothing; O(n)."""
        rows = index(rows)
        if rows < 0:
            raise ValueError(f"{type(self).__name__}: can't reserve {rows} rows")
        if self._locks:
            self._raise_if_locked()
        self.data.reserve_rows(rows, is_counted=True)

    def shrink_to_fit(self) -> None:
        """Give back the memory of rows not in use; O(n)."""
        if self._locks:
            self._raise_if_locked()
        self._shrink()

    def destroy_many(self, rows: ArrayLike, /) -> None:
        """Remove k instances, given as distinct rows or as a mask of length n; O(k).

        Raises:
            StaleInstanceError: a row is not in use, or is given twice.
            StructureLockedError: the manager is locked.
        """
        if self._locks:
            self._raise_if_locked()
        few = as_small_int_list(rows, SMALL_REMOVAL)
        if not few or not self._destroy_small_batch(few):
            checked = self._require_rows(rows)
            self.destroy_rows(self._distinct(checked))

    def clear(self) -> None:
        """Remove every instance; the capacity stays. O(n)."""
        if self._locks:
            self._raise_if_locked()
        self.destroy_rows(used_rows(self.data))

    @abstractmethod
    def _destroy_row(self, row: Instance) -> int:
        """Remove a row that is known to be in use and return how many went."""

    @specialised
    def destroy_rows(self, removed: RowArray) -> int:
        """Remove rows in use, ascending and distinct, and return how many went."""
        if len(removed) == 0:
            return 0
        before_remove, plan_remove, is_more = self.REMOVE_HOOKS
        if is_more:
            if self.HAS_RELEASE_CALLBACKS and not self._dispatch.is_open():
                # raises what callbacks raise when all is done
                return self._dispatch.run(self.destroy_rows, removed)
            removed = self._with_cascaded(removed)
        closing = self._plan_compaction(removed)
        data = self.data
        if is_more:
            self._notify_release(removed)
            # callbacks may have changed values, but no row
            _objects = data.objects_of(removed) if self._HOLDS_OBJECTS else None
        steps = []
        for plan in plan_remove:
            steps.append(plan(self, removed))  # a comprehension takes longer
        try:
            for hook in before_remove:
                hook(self, removed)
            self._compact(removed, closing)
            for step in steps:
                step()
            if is_more and data.OBJECTS:
                data.clear_objects(removed)
            data._version += 1
        except BaseException:
            self._mark_broken()
            raise
        return len(removed)

    @abstractmethod
    def _plan_compaction(self, removed: RowArray) -> Any:
        """Plan the removal of ascending rows, and allocate whatever that needs."""

    @abstractmethod
    def _compact(self, removed: RowArray, closing: Any) -> None:
        """Remove rows as planned."""

    def _notify_release(self, rows: RowArray) -> None:
        """Notify the callbacks of rows about to be removed."""

    def _notify_locked(
        self, dispatch: Dispatch, callbacks: Callbacks[RowArray], rows: RowArray
    ) -> None:
        """Notify callbacks of rows, the manager locked meanwhile. They share `rows`, read-only."""
        rows.flags.writeable = False
        with BytesIO() as hold:  # as `locked` does it
            self._lock(ref(hold))
            del hold  # the block alone keeps it
            dispatch.notify(callbacks.run, rows)

    def _complete_rows(self, rows: RowArray) -> None:
        """Do what is left to be done with new rows, in the order of their creation, before the
        callbacks are notified of them."""

    def _shrink(self) -> None:
        self.data._shrink(is_counted=True)

    def _columns_beside(
        self, arguments: Mapping[str, Any], table: TableLike, count: int
    ) -> Mapping[str, Any]:
        """Return a table's columns for `count` rows beside `arguments`, which win."""
        component = self.data.MANAGER.removesuffix("Manager")
        fields, buffer = self.CONVERTERS, self.data.buffer
        columns = table_columns(component, fields, table, count, buffer)
        return {**columns, **arguments}

    @property
    def _has_release_listeners(self) -> bool:
        """True if there are callbacks for rows of dead entities."""
        return False

    def prepare_columns(self, count: int, arguments: Mapping[str, Any]) -> Columns:
        """Check columns for the rows of `count` entities that are about to be created."""
        columns = self._convert(count, arguments)
        if self._locks:
            self._raise_if_locked()
        return columns

    @specialised
    def _has_capacity(self, count: int) -> bool:
        """Return whether `count` more rows surely need no memory."""
        return self.data.n + count <= self.data.allocated

    @specialised
    def takes_small_batch(self, count: int) -> bool:
        """Return whether `count` entities may get a row one by one, and surely all will."""
        return not self._locks and self._ACCEPTS_ANY_VALUES and self._has_capacity(count)

    def _destroy_small_batch(self, rows: list[int]) -> bool:
        """Remove a few rows, the last one first, and return True; False if that does not serve.

        It serves if it leaves rows where the bulk way does: the last ones in the holes, in
        ascending order.
        """
        if not self._ALLOWS_ONE_BY_ONE or (
            self.HAS_RELEASE_CALLBACKS and self._has_release_listeners
        ):
            return False
        data, ordered = self.data, sorted(rows, reverse=True)
        used = self._used_cells()
        before = end = data.n
        n_kept = end - len(rows)
        for row in ordered:
            if row == end - 1 >= 0:
                end = row
            elif not 0 <= row < n_kept or row == before:
                return False
            if used is not None and not used[row]:
                return False
            before = row
        objects = data.objects_of(ordered) if self._HOLDS_OBJECTS else None
        version = data._version
        try:
            for row in ordered:
                self._destroy_row(row)  # type: ignore[arg-type]  # a call takes time
        except BaseException:
            mark_broken_if_changed(self, version)
            raise
        data._version = version + 1
        del objects  # in the end: that may run code
        return True

    def _small_values(
        self, count: int, arguments: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]] | None:
        """Return the fields of each of a few rows that are plain to create one by one."""
        if self._locks or not self._ALLOWS_ONE_BY_ONE:
            return None
        fields = small_values(self.CONVERTERS, arguments, count)  # quick for arrays
        if fields is None or (self.HAS_RELEASE_CALLBACKS and self._has_release_listeners):
            return None
        return fields if self._has_capacity(count) else None

    def _own(self, columns: Columns) -> Columns:
        """Return checked columns that no later step of a creation can change."""
        return columns

    def _own_entities(self, entities: EntityArray) -> EntityArray:
        """Return entities that no later step of a creation can change."""
        return entities

    def _with_cascaded(self, removed: RowArray) -> RowArray:
        """Return rows and all that are removed with them, ascending."""
        return removed

    def _add_overflow_rows(self, count: int, removed: RowArray) -> RowArray:
        """Return the rows to remove for `count` more: `removed`, and those beyond the capacity."""
        return removed

    def _rows_to_evict(self, entities: EntityArray) -> RowArray:
        """Return the rows to evict before these entities get new ones, ascending."""
        return self._add_overflow_rows(len(entities), NO_ROWS)

    def _create_many(self, *arguments: Any) -> NDArray[Any]:
        """Add rows, for entities or so many; return them, or their ids."""
        raise NotImplementedError

    @abstractmethod
    def _append_many(self, entities: EntityArray, columns: Columns) -> NDArray[Any]:
        """Add rows of checked columns, for which there is room; return them, or their ids."""

    def create_checked(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> NDArray[Any]:
        """Add a row for each of k entities that may have one, or for NULL_ENTITY; O(k)."""
        self._ensure_capacity(entities, columns, borrowed)
        if len(entities) == 0:
            return np.empty(0, self._CREATED_TYPE)
        entities, columns = self._own_entities(entities), self._own(columns)
        if self.HAS_RELEASE_CALLBACKS:
            return self._dispatch.run(self.evict_and_append, entities, columns)
        return self.evict_and_append(entities, columns)

    def evict_and_append(self, entities: EntityArray, columns: Columns) -> NDArray[Any]:
        """Evict rows, then append new ones. A counted change cannot be undone: after it a failure
        marks the manager broken."""
        removed = self._rows_to_evict(entities)
        _left = None
        if self._HOLDS_OBJECTS and len(removed):  # objects live until the new rows are there
            _left = self.data.objects_of(self._with_cascaded(removed))
        version = self.data._version
        try:
            if self.destroy_rows(removed):
                # callbacks may have written values, and used the capacity
                self._ensure_capacity(entities, columns, ())
            return self._append_many(entities, columns)
        except EcsError:
            raise  # what callbacks did is in the way
        except BaseException:
            mark_broken_if_changed(self, version)
            raise

    def _evict_and_create(
        self,
        remove: Callable[[Instance], object],
        row: Instance,
        create: Callable[..., _Made],
        /,  # fields may be called like these
        *args: Any,
        **fields: Any,
    ) -> _Made:
        """Evict a row, then create a new one; a failure in between marks the manager broken."""

        def exchange() -> _Made:
            version = self.data._version
            try:
                remove(row)
                return create(*args, **fields)
            except EcsError:
                raise  # what callbacks did is in the way
            except BaseException:
                mark_broken_if_changed(self, version)
                raise

        return self._dispatch.run(exchange)

    def order_rows(self, rows: RowArray) -> RowArray:
        """Return the same rows, in their own order if they have one."""
        return rows

    def _evict_row(self, row: Instance) -> None:
        """Remove a row to make room for one that is being created."""
        self._destroy_row(row)

    def _ensure_capacity(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...]
    ) -> None:
        """Allocate for the rows of these entities, NULL_ENTITY for rows without owners.

        `borrowed`: the caller's arguments.
        """
        data = self.data
        needed = data.capacity_for(len(entities))
        if needed > data.allocated:
            data._grow(needed, borrowed)


_OPERATORS: Final = ("__contains__", "__getitem__", "__iter__", "__len__")
_REMOVE: Final = ("clear", "collect", "destroy", "gc", "remove")


def _refuse_overriding(kind: type[Any], generated: type[Any]) -> None:
    """Raise TypeError if a subclass, or a base before the generated class, has one of its names.

    Bulk calls, kernels and C reach rows without the public methods, and would bypass it. Names
    that only Python asks for, such as `__repr__`, are free.
    """
    known = frozenset(dir(generated))
    for base in kind.__mro__[: kind.__mro__.index(generated)]:
        for name in vars(base):
            is_free = name[0] == name[-1] == "_" and name not in _OPERATORS
            if name in known and not is_free:
                raise _overrides(kind, generated, name)


def _overrides(kind: type[Any], generated: type[Any], name: str) -> TypeError:
    message = (
        f"{kind.__name__}: {generated.__name__} has {name!r} and does not always call it, "
        "so yours needs another name"
    )
    if name.removesuffix("_many").removesuffix("_id") in _REMOVE:
        is_told = hasattr(generated, "on_release")
        how = "" if is_told else "with `release: true` in the schema, "
        message += f"; {how}on_release is told of all rows that go"
    return TypeError(message)
