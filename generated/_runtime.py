"""What is the same for every schema: errors, handles, buffers, rows, values."""

from __future__ import annotations

import mmap
import operator
import os
import sys
import warnings
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum, IntEnum, IntFlag
from itertools import chain, pairwise
from math import frexp, inf, isfinite, isinf, isnan, nan, nextafter, prod
from operator import index
from reprlib import Repr
from types import TracebackType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Final,
    Generic,
    NamedTuple,
    NewType,
    NoReturn,
    Protocol,
    Self,
    SupportsIndex,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    overload,
)
from weakref import WeakMethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SHOWN: Final = 80
"""Characters of a value that an error message shows."""

_SINGLE: Final = (float, int, str, bytes, bytearray, np.generic, Mapping)
"""Types of one value, elements or `__array__` notwithstanding."""

_ARRAY_PROTOCOLS: Final = ("__array__", "__array_interface__", "__array_struct__")


def shown(value: object) -> str:
    """Return a short `repr` for error messages, whatever the value is."""
    short = Repr()
    short.maxstring = short.maxother = short.maxlong = _SHOWN
    try:
        text = short.repr(value)
    except Exception:  # integers of over 4300 digits, broken __repr__ of a nested value
        return f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def is_array_like(kind: type) -> bool:
    """Whether values of a type have elements: sequences and arrays, 0-d arrays included."""
    if kind is list or kind is tuple or kind is np.ndarray:
        return True
    if issubclass(kind, _SINGLE):
        return False
    # `hasattr` would find what a metaclass defines, such as the length of an enum.
    defined = set(chain.from_iterable(map(vars, kind.__mro__)))
    return (
        not defined.isdisjoint(_ARRAY_PROTOCOLS)
        or {"__len__", "__getitem__"} <= defined
    )


def gathered(value: Any, depth: int, wanted: str) -> NDArray[Any]:
    """Return an array-like as an array of a plain type or of objects; O(elements).

    An array is returned as it is, unless it is one of objects. Lists may be nested `depth` levels.
    Error messages begin with `wanted`.

    Raises:
        TypeError: an element is masked.
        ValueError: the lists are nested deeper, or of different lengths.
    """
    if isinstance(value, np.ndarray):
        array = value if type(value) is np.ndarray else _unmasked(value, wanted)
        if array.dtype.kind != "O" or array.ndim == 0 or array.size == 0:
            return array
        return _from_sequence(array.tolist(), max(depth, array.ndim), wanted)
    if isinstance(value, (list, tuple)):
        return _from_sequence(value, depth, wanted)
    if any(hasattr(type(value), protocol) for protocol in _ARRAY_PROTOCOLS):
        return gathered(np.asarray(value), depth, wanted)
    try:
        view = memoryview(value)
    except TypeError:
        return _from_sequence(list(value), depth, wanted)
    return np.asarray(view)


def leaves(value: Any, shape: tuple[int, ...]) -> Sequence[Any] | None:
    """Return the elements of nested lists and tuples of exactly a shape, or None for others."""
    level: Sequence[Any] = (value,)
    for size in shape:
        for row in level:
            if (type(row) is not tuple and type(row) is not list) or len(row) != size:
                return None
        level = list(chain.from_iterable(level))
    return level


def _unmasked(array: NDArray[Any], wanted: str) -> NDArray[Any]:
    # Only subclasses get here, because numpy.ma is imported on first use.
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise TypeError(f"{wanted}, not masked elements")
    return np.asarray(array)


def _from_sequence(items: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    if depth == 0:
        raise ValueError(f"{wanted}, not {shown(items)}")
    kinds = set(map(type, items))
    if len(kinds) == 1:
        (kind,) = kinds
        if kind is float or kind is bool or issubclass(kind, (np.number, np.bool_)):
            return np.array(items)
        if kind is int:
            return _from_ints(items)
        if kind is list or kind is tuple:
            return _from_rows(items, depth, wanted)
    if any(is_array_like(kind) for kind in kinds):
        return _from_parts(items, depth, wanted)
    return np.fromiter(items, object, len(items))


def _from_ints(items: Collection[int]) -> NDArray[Any]:
    """Return integers as int64 or uint64, or as objects if they fit into neither."""
    try:
        return np.array(items, np.int64)
    except OverflowError:
        wide = min(items) < 0 or max(items) >= 2**64
        return np.array(items, object if wide else np.uint64)


def _from_rows(rows: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    """Return a list of lists: the leaves gathered at once, then shaped."""
    lengths = set(map(len, rows))
    if len(lengths) > 1:
        raise ValueError(f"{wanted}, not rows that differ in length: {shown(rows)}")
    if depth == 1:
        raise ValueError(f"{wanted}, not {shown(rows)}")
    flat = _from_sequence(list(chain.from_iterable(rows)), depth - 1, wanted)
    return flat.reshape(len(rows), lengths.pop(), *flat.shape[1:])


def _from_parts(items: Collection[Any], depth: int, wanted: str) -> NDArray[Any]:
    """Return a sequence of arrays, lists and single values, all of one shape."""
    parts = [
        (
            gathered(item, depth - 1, wanted)
            if is_array_like(type(item))
            else np.fromiter((item,), object, 1).reshape(())
        )
        for item in items
    ]
    shape = parts[0].shape
    if any(part.shape != shape for part in parts):
        raise ValueError(f"{wanted}, not rows that differ in shape: {shown(items)}")
    if all(part.dtype == parts[0].dtype for part in parts):
        return np.stack(parts)
    flat = chain.from_iterable(part.flat for part in parts)
    count = len(parts) * parts[0].size
    return np.fromiter(flat, object, count).reshape(len(parts), *shape)


class ObjectField:
    """Any objects, never looked into."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def one(self, value: Any) -> Any:
        """Return the object itself."""
        return value

    def many(
        self, value: Any, rows: int, buffer: NDArray[np.uint8] | None = None
    ) -> NDArray[np.object_]:
        """Return a new object array of shape `(rows,)`, or `(1,)` with one object for all; O(rows).

        A list or an array of length `rows` is one object per row, anything else is one for all.
        """
        if isinstance(value, np.ndarray) and value.ndim and len(value) == rows:
            own = buffer is not None and np.may_share_memory(value, buffer)
            return np.fromiter(value.copy() if own else value, object, rows)
        if isinstance(value, list) and len(value) == rows:
            return np.fromiter(value, object, rows)
        return np.fromiter((value,), object, 1)


class EcsError(Exception):
    """Base of every error that is about entities, instances or ids."""


class StaleEntityError(EcsError, LookupError):
    """The entity is dead, or was never created."""


class MissingInstanceError(EcsError, LookupError):
    """The entity has no instance of the component."""


class StaleIdError(EcsError, LookupError):
    """The id's instance is gone."""


class StaleInstanceError(EcsError, IndexError):
    """The row is not in use, or was given twice."""


class DuplicateInstanceError(EcsError, ValueError):
    """The entity has an instance already, and the component allows one."""


class HierarchyError(EcsError, ValueError):
    """The change would make an instance its own ancestor."""


class StructureLockedError(EcsError, RuntimeError):
    """The manager is locked: a `locked()` block or one of its own callbacks is running."""


class CapacityError(EcsError, MemoryError):
    """No index, generation or row is left."""


class StaleViewWarning(UserWarning):
    """A manager's buffer moved while someone outside still held a view of the old one."""


FieldsT = TypeVar("FieldsT", bound=Mapping[str, Any])


def known_fields(component: type[tuple[Any, ...]], fields: FieldsT) -> FieldsT:
    """Return fields by name; TypeError for one that there is not, or for no mapping.

    The component is given by its row class, a NamedTuple.
    """
    if not isinstance(fields, Mapping):
        kind = type(fields).__name__
        raise TypeError(f"{component.__name__} takes a dict of its fields, not {kind}")
    known: tuple[str, ...] = component._fields  # type: ignore[attr-defined]  # see above
    for name in fields:
        if name not in known:
            raise _unknown_field(component.__name__, name, known)
    return fields


def _unknown_field(component: str, name: object, known: tuple[str, ...]) -> TypeError:
    from difflib import get_close_matches  # which takes a while, for errors alone

    near = get_close_matches(str(name), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
    if not known:
        hint = "it has none"
    return TypeError(f"{component} has no field {name!r}; {hint}")


Entity = NewType("Entity", int)
"""An entity: `generation << index_bits | index`."""

Instance = NewType("Instance", int)
"""A row of one manager, valid until that manager's next structural change."""

Id = NewType("Id", int)
"""A stable id of one instance: `generation << 32 | slot`."""

EntityArray: TypeAlias = NDArray[np.uint64]
IdArray: TypeAlias = NDArray[np.uint64]
RowArray: TypeAlias = NDArray[np.intp]
Columns: TypeAlias = dict[str, NDArray[Any]]

NULL_ENTITY: Final = Entity(0)
"""Never alive: generations start at 1."""

NIL: Final = Instance(0xFFFF_FFFF)
"""No instance. Out of range on purpose, so that no accessor takes it for a row."""


class IndexQueue:
    """First in, first out: indices below 2**32 in a ring, one at a time or in bulk by slices."""

    __slots__ = ("_cells", "_head", "_mask", "_ring", "count")

    # `_head` counts what was taken; where it is in the ring, the mask tells.

    def __init__(self) -> None:
        self.count = 0
        self._head = 0
        self._place(np.empty(64, np.uint32))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._ring.nbytes

    @property
    def pushed(self) -> int:
        """How many were ever appended. O(1)."""
        return self._head + self.count

    def push(self, index: int) -> None:
        """Append one. O(1) amortised."""
        count = self.count
        if count > self._mask:
            self._grow(count + 1)
        self._cells[(self._head + count) & self._mask] = index
        self.count = count + 1

    def pop(self) -> int:
        """Take the first one, which must exist. O(1)."""
        head = self._head
        self._head = head + 1
        self.count -= 1
        return self._cells[head & self._mask]

    def reserve(self, count: int) -> None:
        """Make room for `count` indices in all, so that pushing them can't fail."""
        if count > self._mask + 1:
            self._grow(count)

    def push_many(self, indices: NDArray[np.int64]) -> None:
        """Append all, in order. O(k) amortised."""
        self.reserve(self.count + len(indices))
        self._fill((self._head + self.count) & self._mask, indices)
        self.count += len(indices)

    def first(self, n: int) -> NDArray[np.int64]:
        """The first n, which must exist, without taking them. O(n)."""
        indices = np.empty(n, np.int64)
        start = self._head & self._mask
        front = self._ring[start : start + n]
        indices[: len(front)] = front
        indices[len(front) :] = self._ring[: n - len(front)]
        return indices

    def drop(self, n: int) -> None:
        """Take the first n, which must exist. O(1)."""
        self._head += n
        self.count -= n

    def put_back(self, indices: NDArray[np.int64]) -> None:
        """Insert all at the front, in order: they are the next to be popped. O(k) amortised."""
        self.reserve(self.count + len(indices))
        self._head -= len(indices)
        self._fill(self._head & self._mask, indices)
        self.count += len(indices)

    def _fill(self, start: int, indices: NDArray[np.int64]) -> None:
        room = len(self._ring) - start
        self._ring[start : start + len(indices)] = indices[:room]
        self._ring[: max(0, len(indices) - room)] = indices[room:]

    def _grow(self, count: int) -> None:
        ring = np.empty(1 << (count - 1).bit_length(), np.uint32)
        indices = self.first(self.count)
        self._place(ring)
        self._fill(self._head & self._mask, indices)

    def _place(self, ring: NDArray[np.uint32]) -> None:
        self._ring = ring
        self._cells: memoryview[int] = ring.data
        self._mask = len(ring) - 1


class WorldParts:
    """What a world is made of stays; it may have attributes of other names besides."""

    _PARTS: ClassVar[tuple[str, ...]] = ()

    if not TYPE_CHECKING:  # checkers would take it to mean that any attribute will do

        def __setattr__(self, name: str, value: Any) -> None:
            if name in self._PARTS and hasattr(self, name):
                raise not_replaced(self, name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            if name in self._PARTS:
                raise not_replaced(self, name)
            super().__delattr__(name)


def not_replaced(whole: object, name: str) -> AttributeError:
    """Return the error of assigning to a part of a world or a group."""
    part = type(getattr(whole, name)).__name__
    message = f"{type(whole).__name__}.{name} is its {part} and can't be replaced"
    return AttributeError(message, name=name, obj=whole)


_Argument = TypeVar("_Argument")


class Subscription:
    """A registered callback; `cancel()` takes it out of its list again."""

    __slots__ = ("_remove",)

    def __init__(self, remove: Callable[[Subscription], None]) -> None:
        self._remove: Callable[[Subscription], None] | None = remove

    @property
    def active(self) -> bool:
        """Whether the callback is still going to be called."""
        return self._remove is not None

    def cancel(self) -> None:
        """Never call the callback again, not even in a run that is going on. May be repeated."""
        remove, self._remove = self._remove, None
        if remove is not None:
            remove(self)


class _Entry(Generic[_Argument]):
    """One callback of a list, with the guard that may refuse the run."""

    __slots__ = ("callback", "guard", "subscription")

    def __init__(
        self,
        subscription: Subscription,
        callback: Callable[[], Callable[[_Argument], object] | None],
        guard: Callable[[], Callable[[], object] | None] | None = None,
    ) -> None:
        self.subscription = subscription
        self.callback = callback
        self.guard = guard


class Callbacks(Generic[_Argument]):
    """Callables that are told about one argument, in order of registration.

    `entries`, empty when there are none, is replaced and never changed in place, so a run is not
    disturbed by what its callbacks add or cancel: added ones wait for the next run, cancelled ones
    are skipped from then on.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: tuple[_Entry[_Argument], ...] = ()

    def add(self, callback: Callable[[_Argument], object]) -> Subscription:
        """Call `callback` from the next run on. Registered twice, it is called twice. O(k)."""
        if not callable(callback):
            raise TypeError(f"a callback must be callable, not {callback!r}")
        return self._append(lambda: callback, None)

    def add_weak(
        self,
        method: Callable[[_Argument], object],
        guard: Callable[[], object] | None = None,
    ) -> Subscription:
        """The same for a bound method, without keeping its object alive.

        `guard`, a bound method too, is asked by `check()`; it raises to refuse a run.
        """
        return self._append(
            WeakMethod(method), None if guard is None else WeakMethod(guard)
        )

    def check(self) -> None:
        """Ask every guard; what the first one raises passes through."""
        for entry in self.entries:
            guard = entry.guard() if entry.guard is not None else None
            if guard is not None:
                guard()

    def run(self, argument: _Argument, errors: list[BaseException]) -> None:
        """Call all of them; what they raise is appended to `errors` and stops nothing."""
        for callback in self._live():
            try:
                callback(argument)
            except BaseException as error:
                errors.extend(_leaves(error))

    def _live(self) -> Iterator[Callable[[_Argument], object]]:
        for entry in self.entries:
            if not entry.subscription.active:
                continue
            callback = entry.callback()
            if callback is None:
                entry.subscription.cancel()
            else:
                yield callback

    def _append(
        self,
        callback: Callable[[], Callable[[_Argument], object] | None],
        guard: Callable[[], Callable[[], object] | None] | None,
    ) -> Subscription:
        subscription = Subscription(self._remove)
        alive = tuple(entry for entry in self.entries if entry.callback() is not None)
        self.entries = (*alive, _Entry(subscription, callback, guard))
        return subscription

    def _remove(self, subscription: Subscription) -> None:
        self.entries = tuple(
            e for e in self.entries if e.subscription is not subscription
        )


class Dispatch:
    """Gathers what callbacks raise and which entities they destroy, until the outermost call ends.

    A re-entrant context manager: every call that runs callbacks enters it. Leaving the outermost
    level first destroys the queued entities, in order, those queued meanwhile included, then raises
    everything in `errors` as one flat exception group. `drain` (a bound method, held weakly)
    destroys one queued batch. An exception of the body itself passes through and ends with that
    group as its context.
    """

    __slots__ = ("_drain", "depth", "errors", "queue")

    def __init__(self, drain: Callable[[EntityArray], object] | None = None) -> None:
        self._drain = None if drain is None else WeakMethod(drain)
        self.depth = 0
        self.errors: list[BaseException] = []
        self.queue: deque[EntityArray] = deque()

    def __enter__(self) -> Self:
        self.depth += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.depth == 1:
            self._empty_queue()
        self.depth -= 1
        if self.depth or not self.errors:
            return
        errors, self.errors = self.errors, []
        group = BaseExceptionGroup("callbacks failed", tuple(errors))
        errors.clear()
        try:
            if error is None:
                raise group
            _set_innermost_context(error, group)
        finally:
            # Cycles through tracebacks would keep the frames of managers, with their views.
            del group

    def _empty_queue(self) -> None:
        while self.queue:
            batch = self.queue.popleft()
            drain = None if self._drain is None else self._drain()
            if drain is None:
                continue
            try:
                drain(batch)
            except BaseException as error:
                self.errors.extend(_leaves(error))


def _leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in a group and its subgroups, in order; any other exception alone."""
    found: list[BaseException] = []
    pending = [error]
    while pending:
        current = pending.pop()
        if isinstance(current, BaseExceptionGroup):
            pending.extend(reversed(current.exceptions))
        else:
            found.append(current)
    return found


def _set_innermost_context(error: BaseException, context: BaseException) -> None:
    """Put `context` where a traceback of `error` shows it: at the end of its chain."""
    seen = set()
    while id(error) not in seen:
        seen.add(id(error))
        following = error.__cause__ if error.__suppress_context__ else error.__context__
        if following is None:
            error.__context__ = context
            error.__suppress_context__ = False
            return
        error = following


_IMMUTABLE: Final = frozenset((bool, int, float))


class Field:
    """One field of a component: checks values and converts them to the column's dtype."""

    __slots__ = (
        "_checked",
        "_wanted_many",
        "_wanted_one",
        "dtype",
        "name",
        "shape",
        "wanted",
    )

    _kinds: ClassVar[str] = ""
    """The dtype kinds of arrays that `_cast` takes."""

    def __init__(
        self, name: str, dtype: str, shape: tuple[int, ...], wanted: str
    ) -> None:
        self.name = name
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self.shape = shape
        self.wanted = wanted
        rows = ", ".join(["rows", *map(str, shape)])
        self._wanted_one = f"{name}: wanted " + (
            f"shape {shape}" if shape else f"one {wanted}"
        )
        self._checked: tuple[object, Any] = (self, None)  # a value, and its cell
        self._wanted_many = f"{name}: wanted shape ({rows}{'' if shape else ','})"

    def cell(self, value: Any) -> Any:
        """Return one element as the builtin that the column's memoryview stores unchanged; O(1)."""
        raise NotImplementedError

    def one(self, value: Any) -> Any:
        """Return what one cell stores: an element, or a flat tuple of them in C order.

        A builtin of the right type costs a few comparisons. Shapes must match exactly.

        Raises:
            TypeError, ValueError, OverflowError: the value is not one that the field holds.
        """
        return self.cell(value)

    def many(
        self, value: Any, rows: int, buffer: NDArray[np.uint8] | None = None
    ) -> NDArray[Any]:
        """Return an array of the column's dtype that broadcasts to `(rows, *shape)`; O(elements).

        The result may be the argument itself, but never shares memory with `buffer`.

        Raises:
            TypeError, ValueError, OverflowError: a value is not one that the field holds, or the
                shape does not broadcast.
        """
        if not is_array_like(type(value)):
            return np.array(self.cell(value), self.dtype)
        array = self._converted(gathered(value, 1 + len(self.shape), self._wanted_many))
        if array.shape and array.shape != (rows, *self.shape):
            array = self._fitted(array, (rows, *self.shape))
        if buffer is not None and np.may_share_memory(array, buffer):
            return array.copy()
        return array

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        """Return an array of one of `_kinds` in the column's dtype, after checking its elements."""
        raise NotImplementedError

    def _converted(self, array: NDArray[Any]) -> NDArray[Any]:
        kind = array.dtype.kind
        if kind in self._kinds:
            return self._cast(array)
        if kind == "O":
            return self._from_elements(array)
        raise TypeError(
            f"{self.name}: wanted {self.wanted}, not an array of {array.dtype}"
        )

    def _from_elements(self, array: NDArray[Any]) -> NDArray[Any]:
        elements = array.ravel().tolist()
        try:
            cells = list(map(self.cell, elements))
        except (TypeError, ValueError, OverflowError):
            self._blame(array)
        return np.array(cells, self.dtype).reshape(array.shape)

    def _blame(self, array: NDArray[Any]) -> NoReturn:
        """Raise the error of the first bad element, with its position."""
        for position, element in enumerate(array.ravel().tolist()):
            try:
                self.cell(element)
            except (TypeError, ValueError, OverflowError) as error:
                place = tuple(map(int, np.unravel_index(position, array.shape)))
                at = place[0] if len(place) == 1 else place
                suffix = f" (at position {at})" if place else ""
                raise type(error)(f"{error}{suffix}") from None
        raise AssertionError(f"{self.name}: no element is wrong on its own")

    def _fitted(self, array: NDArray[Any], wanted: tuple[int, ...]) -> NDArray[Any]:
        """Return the array if it broadcasts to the shape, as the empty list does to no rows."""
        shape = array.shape
        if shape == (0,) and wanted[0] == 0:
            return np.empty(wanted, self.dtype)
        ends = zip(reversed(shape), reversed(wanted), strict=False)
        if len(shape) <= len(wanted) and all(
            given in (size, 1) for given, size in ends
        ):
            return array
        raise ValueError(f"{self.name}: wanted shape {wanted}, not {shape}")

    def _element(self, value: Any) -> Any:
        """Return a single value as it is, a 0-d array's element; ValueError for other arrays."""
        if not is_array_like(type(value)):
            return value
        if not isinstance(value, (list, tuple)):
            array = gathered(value, 0, self._wanted_one)
            if array.ndim == 0:
                return array[()]
        raise ValueError(f"{self.name}: wanted one {self.wanted}, not {shown(value)}")

    def _integer(self, value: Any) -> int:
        """Return whatever has `__index__`, bools apart, as an int."""
        value = self._element(value)
        if not isinstance(value, (bool, np.bool_)):
            try:
                return index(value)
            except TypeError:
                pass
        raise self._wrong_type(value)

    def _wrong_type(self, value: object) -> TypeError:
        kind = type(value).__name__
        return TypeError(
            f"{self.name}: wanted {self.wanted}, not {shown(value)} ({kind})"
        )

    def _does_not_fit(self, value: object) -> OverflowError:
        return OverflowError(
            f"{self.name}: {shown(value)} does not fit into {self.wanted}"
        )


class ShapedField(Field):
    """A field of a fixed shape: a cell is a tuple of `prod(shape)` elements.

    The last tuple that was checked is remembered, since most calls leave a field at its
    default, which is one object each time.
    """

    __slots__ = ()

    def one(self, value: Any) -> Any:
        checked = self._checked
        if value is checked[0]:
            return checked[1]
        cell = self._cell_of(value)
        if type(value) is tuple and _IMMUTABLE.issuperset(map(type, value)):
            self._checked = value, cell
        return cell

    def _cell_of(self, value: Any) -> Any:
        elements = leaves(value, self.shape)
        if elements is not None:
            return tuple(map(self.cell, elements))
        if not is_array_like(type(value)):
            self.cell(value)
            raise ValueError(f"{self._wanted_one}, not {shown(value)}")
        array = gathered(value, len(self.shape), self._wanted_one)
        if array.shape != self.shape:
            raise ValueError(f"{self._wanted_one}, not {array.shape}")
        return tuple(self._converted(array).ravel().tolist())


_HANDLE_BITS: Final = 64

_BLOCK: Final = 16_384
"""Handles checked at once, so that the scratch stays in the cache."""


def as_entities(es: ArrayLike) -> EntityArray:
    """The handles as a flat `uint64` array: the argument itself where it is one already.

    Numbers that can't be handles (negative, over 64 bits) become 0, which is never alive. Integers
    never pass through floats. Raises TypeError for anything but integers (an empty sequence is
    fine), ValueError for more than one dimension. O(k).
    """
    given: NDArray[Any] = np.asarray(es)
    if given.ndim == 0 or _is_masked(es):
        raise TypeError(
            f"expected an array or a sequence of entities, not {type(es).__name__}"
        )
    if given.ndim > 1:
        raise ValueError(
            f"expected a flat array of entities, not one of shape {given.shape}"
        )
    kind = given.dtype.kind
    if kind in "ui":
        natural = given if kind == "u" else np.maximum(given, 0)
        handles: EntityArray = natural.astype(np.uint64, copy=False)
        return handles
    if kind == "O" or (kind == "f" and given is not es):
        # numpy makes floats of an empty list, and of ints that share no integer type.
        return _from_integers(cast(Iterable[SupportsIndex], es), len(given))
    raise TypeError(f"entities are integers, not {given.dtype}")


def _is_masked(es: ArrayLike) -> bool:
    # An exact array is not asked, because numpy.ma is imported on first use.
    subclass = isinstance(es, np.ndarray) and type(es) is not np.ndarray
    return subclass and isinstance(es, np.ma.MaskedArray)


def _from_integers(numbers: Iterable[SupportsIndex], count: int) -> EntityArray:
    indices = map(operator.index, numbers)
    handles = (n if n >= 0 and n.bit_length() <= _HANDLE_BITS else 0 for n in indices)
    return np.fromiter(handles, np.uint64, count)


def are_held(cells: EntityArray, es: EntityArray, mask: int) -> NDArray[np.bool_]:
    """Whether cell `e & mask` holds e, for each handle; the last cell stands for those behind it.

    O(k), three times faster in blocks than with whole arrays; and again for blocks of entities
    in order of creation.
    """
    k = len(es)
    if k <= _BLOCK:
        return np.equal(cells.take((es & mask).view(np.int64), mode="clip"), es)
    held = np.empty(k, np.bool_)
    indices = np.empty(_BLOCK, np.uint64)
    found = np.empty(_BLOCK, np.uint64)
    for start in range(0, k, _BLOCK):
        block = es[start : start + _BLOCK]
        n = len(block)
        if _is_run(cells, block, mask):
            held[start : start + n] = True
            continue
        np.bitwise_and(block, mask, out=indices[:n])
        cells.take(indices[:n].view(np.int64), out=found[:n], mode="clip")
        np.equal(found[:n], block, out=held[start : start + n])
    return held


def _is_run(cells: EntityArray, es: EntityArray, mask: int) -> bool:
    """Whether the handles are those of consecutive cells, which is seen without an index for
    each; most others are told by the first and the last."""
    first, end = int(es[0]) & mask, (int(es[-1]) & mask) + 1
    return end - first == len(es) and np.array_equal(cells[first:end], es)


def all_different(indices: NDArray[np.integer[Any]], bound: int) -> bool:
    """Whether no index in `[0, bound)` occurs twice. O(k log k), or O(k + bound) for large k."""
    k = len(indices)
    if k < 2:
        return True
    if k * 16 < bound:
        ascending = np.sort(indices)
        return bool((ascending[1:] != ascending[:-1]).all())
    seen = np.zeros(bound, np.bool_)
    seen[indices] = True
    return int(np.count_nonzero(seen)) == k


def first_repeat(values: NDArray[Any]) -> int:
    """The position of the first value that occurred before; `len(values)` if none does.
    O(k log k)."""
    _, first = np.unique(values, return_index=True)
    repeats = np.ones(len(values) + 1, np.bool_)
    repeats[first] = False
    return int(repeats.argmax())


def hash_lookup(rows: dict[int, Instance], entities: EntityArray) -> RowArray:
    """Return the row of each entity, NIL where it has none; 0.1 µs and more per entity."""
    found = (rows.get(entity, NIL) for entity in entities.tolist())
    return np.fromiter(found, np.intp, len(entities))


def remember(
    rows: dict[int, Instance], entities: EntityArray, places: RowArray
) -> None:
    """Enter the row of each entity."""
    rows.update(zip(entities.tolist(), places.tolist(), strict=True))


def forget(rows: dict[int, Instance], entities: EntityArray) -> None:
    """Remove entities that are in the map."""
    for entity in entities.tolist():
        del rows[entity]


def dict_bytes(rows: dict[int, Instance]) -> int:
    """Return the bytes of the map: its table, and an int object for each key and row."""
    return sys.getsizeof(rows) + len(rows) * (
        sys.getsizeof(1 << 32) + sys.getsizeof(1 << 16)
    )


SLOT_BITS: Final = 32
SLOT_MASK: Final = 0xFFFF_FFFF
LAST_GENERATION: Final = 0xFFFF_FFFF


def ids_of(slots: NDArray[Any], generations: NDArray[np.uint32]) -> IdArray:
    """Return the ids of slots: `generation << 32 | slot`; O(k)."""
    upper = generations[slots].astype(np.uint64) << np.uint64(SLOT_BITS)
    ids: IdArray = upper | slots.astype(np.uint64)
    return ids


def resolve_ids(
    ids: IdArray, rows: NDArray[Any], generations: NDArray[np.uint32]
) -> RowArray:
    """Return the row of each id, NIL where the slot's generation is another; O(k)."""
    if len(rows) == 0:
        return np.full(len(ids), NIL, np.intp)
    slots = (ids & np.uint64(SLOT_MASK)).view(np.intp)
    alive = generations.take(slots, mode="clip") == ids >> np.uint64(SLOT_BITS)
    alive &= slots < len(rows)
    return np.where(alive, rows.take(slots, mode="clip"), NIL).astype(
        np.intp, copy=False
    )


def rows_of_ids(manager: str, ids: EntityArray, rows: RowArray) -> RowArray:
    """Return the rows, ascending, or raise StaleIdError for a stale or repeated id; O(k)."""
    stale = rows == NIL
    if stale.any():
        raise stale_id(manager, int(ids[stale.argmax()]))
    ascending = np.sort(rows)
    again = ascending[1:][ascending[1:] == ascending[:-1]]
    if len(again):
        twice = int(ids[(rows == again[0]).argmax()])
        raise StaleIdError(f"{manager}: id {twice:#x} is given twice")
    return ascending


def stale_id(manager: str, id: SupportsIndex) -> StaleIdError:
    """Return the error of an id whose instance is gone."""
    return StaleIdError(f"{manager}: id {index(id):#x} has no instance, or no longer")


def worn_out(manager: str, row: int) -> CapacityError:
    """Return the error of a row that had as many instances as ids can tell apart."""
    return CapacityError(f"{manager}: row {row} has no generation left for another id")


def first_worn_out(
    manager: str, rows: RowArray, generations: NDArray[np.uint32]
) -> None:
    """Raise CapacityError for the first of the rows that has no generation left."""
    known = rows[rows < len(generations)]
    worn = known[generations[known] == LAST_GENERATION]
    if len(worn):
        raise worn_out(manager, int(worn[0]))


_DENSE = 16
"""Sets of more than one row in 16 are checked through a mask, smaller ones by sorting."""


def is_integer(value: object) -> TypeGuard[SupportsIndex]:
    """Return whether a value can be a handle or a row at all."""
    return hasattr(value, "__index__")


class Rows(Protocol):
    """What has rows. Their number is asked for after arguments are converted, which may run code
    of the caller's that changes it."""

    _n: int


def row_in_use(row: object, data: Rows, manager: str) -> int:
    """Return `row` (anything with `__index__`) as an int, or raise StaleInstanceError."""
    number = index(row)  # type: ignore[arg-type]  # raises TypeError for what is no integer
    if 0 <= number < data._n:
        return number
    raise unused(number, data._n, manager)


def unused(number: int, n: int, manager: str) -> StaleInstanceError:
    """Return the error of a row that is not in use."""
    given = "NIL" if number == NIL else str(number)
    return StaleInstanceError(
        f"{manager}: row {given} is not in use; rows are 0 to {n - 1}"
    )


def rows_in_use(rows: ArrayLike, data: Rows, manager: str) -> RowArray:
    """Return `rows` (row numbers, or a bool mask of length n) as row numbers below n; O(k).

    Raises:
        TypeError: they are not integers.
        ValueError: a mask of another length, or more than one dimension.
        StaleInstanceError: a row is not in use.
    """
    given = integers(rows, manager, "rows")
    n = data._n
    if given.dtype == np.bool_:
        if len(given) != n:
            raise ValueError(f"{manager}: a mask of length {len(given)} for {n} rows")
        return np.flatnonzero(given)
    if len(given) == 0:
        return np.empty(0, np.intp)
    wrong = (given < 0) | (given >= n)
    if wrong.any():
        raise unused(int(given[wrong.argmax()]), n, manager)
    return given.astype(np.intp, copy=False)


def integers(values: ArrayLike, manager: str, what: str) -> NDArray[Any]:
    """Return array-like integers (or bools) as an array of one dimension; TypeError for others."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{manager}: {what} must have one dimension, not {array.ndim}")
    if len(array) == 0 and not isinstance(values, np.ndarray):
        return array.astype(np.intp)
    if array.dtype.kind in "iub":
        return array
    if array.dtype.kind == "O" or (array.dtype.kind == "f" and array is not values):
        # numpy makes floats of integers that share no integer type
        return _from_integers_of_any_size(np.asarray(values, np.object_))
    raise TypeError(f"{manager}: {what} must be integers, not {array.dtype}")


def _from_integers_of_any_size(array: NDArray[Any]) -> NDArray[np.int64]:
    """Return integers as int64; what is no row number becomes -1, a row never in use."""
    numbers = (index(value) for value in array.tolist())
    return np.array([n if 0 <= n <= NIL else -1 for n in numbers], np.int64)


def distinct(rows: RowArray, n: int, manager: str) -> RowArray:
    """Return the rows, ascending, or raise StaleInstanceError if one is twice there; O(k)."""
    if len(rows) < 2:
        return rows
    if len(rows) * _DENSE > n:
        mask = np.zeros(n, np.bool_)
        mask[rows] = True
        ascending = np.flatnonzero(mask)
    else:
        ascending = np.unique(rows)
    if len(ascending) < len(rows):
        raise repeated_row(rows, manager)
    return ascending


def repeated_row(rows: RowArray, manager: str) -> StaleInstanceError:
    """Return the error of rows of which one is twice there."""
    ordered = np.sort(rows)
    twice = int(ordered[1:][ordered[1:] == ordered[:-1]][0])
    return StaleInstanceError(f"{manager}: row {twice} is given twice")


def whole_count(manager: str, count: SupportsIndex) -> int:
    """Return a number of instances, or raise ValueError if it is negative."""
    number = index(count)
    if number < 0:
        raise ValueError(f"{manager}: can't create {number} instances")
    return number


def fill(gone: RowArray, n: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst): which of n rows move where when the ascending rows `gone` leave.

    The rows behind the new end move, in ascending order, into the holes before it.
    """
    kept = n - len(gone)
    split = int(np.searchsorted(gone, kept))
    tail = np.ones(n - kept, np.bool_)
    tail[gone[split:] - kept] = False
    return np.flatnonzero(tail) + kept, gone[:split]


def permutation(given: NDArray[Any], n: int, manager: str) -> RowArray:
    """Return integers as rows if they name each of n rows once, or raise ValueError; O(n)."""
    if given.dtype == np.bool_:
        raise ValueError(f"{manager}: an order takes row numbers, not a mask")
    seen = np.zeros(n, np.bool_)
    if len(given) == n and not ((given < 0) | (given >= n)).any():
        seen[given] = True
    if len(given) != n or not seen.all():
        raise ValueError(f"{manager}: the order is not a permutation of the {n} rows")
    return given.astype(np.intp, copy=False)


class Remap:
    """Turns old row numbers into new ones after rows `src` went to `dst`; O(k log k)."""

    __slots__ = ("_dst", "_src", "_table")

    def __init__(self, src: RowArray, dst: RowArray, n: int) -> None:
        self._table: RowArray | None = None
        if len(src) * _DENSE > n:
            self._table = np.arange(n)
            self._table[src] = dst
        else:
            order = np.argsort(src)
            self._src = src[order]
            self._dst = dst[order]

    def __call__(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return where the rows are now; NIL and unmoved rows stay what they are."""
        if self._table is not None:
            moved = self._table.take(rows, mode="clip")
            return np.where(rows == NIL, rows, moved).astype(rows.dtype, copy=False)
        if len(self._src) == 0:
            return rows
        place = np.searchsorted(self._src, rows)
        np.minimum(place, len(self._src) - 1, out=place)
        moved = np.where(self._src[place] == rows, self._dst[place], rows)
        return moved.astype(rows.dtype, copy=False)


def locked(manager: str) -> StructureLockedError:
    """Return the error of a structural change while the manager is locked."""
    return StructureLockedError(
        f"{manager} is locked: a `locked()` block or one of its callbacks is running"
    )


def missing(manager: str, entity: SupportsIndex) -> MissingInstanceError:
    """Return the error of an entity without the component."""
    return MissingInstanceError(f"{manager}: entity {index(entity):#x} has no instance")


def duplicate_instance(manager: str, entity: SupportsIndex) -> DuplicateInstanceError:
    """Return the error of a second instance where one is allowed."""
    return DuplicateInstanceError(
        f"{manager}: entity {index(entity):#x} has an instance already"
    )


def has_row(rows: RowArray) -> NDArray[np.bool_]:
    """Return which of the rows are not NIL."""
    present: NDArray[np.bool_] = rows != NIL
    return present


def first_missing(manager: str, entities: EntityArray, rows: RowArray) -> None:
    """Raise MissingInstanceError for the first entity whose row is NIL, if there is one."""
    absent = rows == NIL
    if absent.any():
        raise missing(manager, int(entities[absent.argmax()]))


def first_present(manager: str, entities: EntityArray, rows: RowArray) -> None:
    """Raise DuplicateInstanceError for the first entity whose row is not NIL, if there is one."""
    present = rows != NIL
    if present.any():
        raise duplicate_instance(manager, int(entities[present.argmax()]))


def first_repeated(manager: str, entities: EntityArray) -> None:
    """Raise DuplicateInstanceError if an entity is there twice; O(k) if ascending."""
    if len(entities) < 2 or bool((entities[1:] > entities[:-1]).all()):
        return
    ordered = np.sort(entities)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(again):
        raise DuplicateInstanceError(
            f"{manager}: entity {int(again[0]):#x} is given twice"
        )


WORD_BITS: Final = 64


class ComponentFlags(IntFlag):
    """What a set of components is asked: flags of one world, or numbers from `signatures`."""

    def any_of(self, other: int, /) -> bool:
        """Return whether this has one of the other's components at least."""
        return self & other != 0

    def all_of(self, other: int, /) -> bool:
        """Return whether this has all of the other's components."""
        return self & other == other

    def none_of(self, other: int, /) -> bool:
        """Return whether this has none of the other's components."""
        return self & other == 0


class ComponentHolder(Protocol):
    """Knows who has a component."""

    def has(self, entity: Entity, /) -> bool: ...

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]: ...


def signature_words(
    holders: Sequence[ComponentHolder], entities: EntityArray
) -> NDArray[np.uint64]:
    """Return the signature of each entity, over 64 components at most; O(k) per component."""
    found = np.zeros(len(entities), np.uint64)
    bits = np.empty(len(entities), np.uint64)
    for place, holder in enumerate(holders):
        np.multiply(holder.has_many(entities), np.uint64(1 << place), out=bits)
        found |= bits
    return found


def wide_signatures(
    holders: Sequence[ComponentHolder], entities: EntityArray
) -> NDArray[np.object_]:
    """Return the signature of each entity as an int of any size; O(k) per component."""
    found: NDArray[Any] = np.zeros(len(entities), np.object_)
    for start, word in _words(holders, entities):
        found |= word.astype(np.object_) << start
    return found


def _words(
    holders: Sequence[ComponentHolder], entities: EntityArray
) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    for start in range(0, len(holders), WORD_BITS):
        yield start, signature_words(holders[start : start + WORD_BITS], entities)


def key_values(key: ArrayLike, manager: str) -> NDArray[Any]:
    """Return a key as an array; objects as their ranks, TypeError if they have no order."""
    array = np.asarray(key)
    if array.dtype.kind == "O" and array.ndim == 1:
        return _ranks(array.tolist(), manager)
    return array


def sort_key(key: NDArray[Any], n: int, manager: str) -> NDArray[Any]:
    """Return a key that has one value per row, or raise ValueError."""
    if key.shape != (n,):
        raise ValueError(f"{manager}: a key of shape {key.shape} for {n} rows")
    return key


def sort_order(key: NDArray[Any]) -> RowArray:
    """Return the stable ascending order of a key with one value per row, NaN last."""
    return np.argsort(key, kind="stable")


def _ranks(values: list[Any], manager: str) -> RowArray:
    """Return the place of each value in their stable ascending order; NaN, which is not equal to
    itself, comes last."""
    try:
        numbers = [k for k, value in enumerate(values) if value == value]
        order = sorted(numbers, key=values.__getitem__)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{manager}: a key's values need an order: {error}") from error
    nans = set(range(len(values))).difference(numbers)
    ranks = np.empty(len(values), np.intp)
    ranks[[*order, *sorted(nans)]] = np.arange(len(values))
    return ranks


BLOCK: Final = 16_384
"""Entities per step of a bulk lookup: the scratch stays in the second-level cache."""


def sparse_map(size: int) -> NDArray[np.uint32]:
    """Return an empty map for entity indices below `size`."""
    return np.full(size, NIL, np.uint32)


def grown_map(old: NDArray[np.uint32], index: int) -> NDArray[np.uint32]:
    """Return a map that holds `index`, at least twice as large as the old one."""
    new = sparse_map(max(64, 2 * len(old), index + 1))
    new[: len(old)] = old
    return new


def indices(entities: EntityArray, index_mask: int) -> RowArray:
    """Return the entities' indices, ready to index an array with."""
    return (entities & np.uint64(index_mask)).view(np.intp)


def predecessors(
    rows_of: NDArray[np.uint32],
    indices: RowArray,
    owners: EntityArray,
    entities: EntityArray,
) -> EntityArray:
    """Return the owners, ascending, that have the index of one of the entities but are none.

    They died, for the entities are alive. `owners` are the rows in use.
    """
    if len(owners) == 0:
        return owners
    heads = rows_of[indices]
    used = np.flatnonzero(heads != NIL)
    found = owners[heads[used]]
    return np.unique(found[found != entities[used]])


def sparse_lookup(
    rows_of: NDArray[np.uint32],
    owners: EntityArray,
    entities: EntityArray,
    index_mask: int,
) -> RowArray:
    """Return the row of each entity, NIL where it has none; 3 ns per entity.

    `owners` are the rows in use. The owner's whole handle decides, so stale handles
    find nothing; an index behind the map or an entry of NIL is clipped to a row that
    belongs to someone else.
    """
    count = len(entities)
    rows = np.empty(count, np.intp)
    if len(owners) == 0:
        rows.fill(NIL)
        return rows
    size = min(count, BLOCK)
    index = np.empty(size, np.uint64)
    row = np.empty(size, np.uint32)
    owner = np.empty(size, np.uint64)
    other = np.empty(size, np.bool_)
    mask = np.uint64(index_mask)
    for start in range(0, count, BLOCK):
        wanted = entities[start : start + BLOCK]
        found = rows[start : start + BLOCK]
        k = len(wanted)
        np.bitwise_and(wanted, mask, out=index[:k])
        rows_of.take(index[:k].view(np.intp), out=row[:k], mode="clip")
        found[:] = row[:k]
        owners.take(found, out=owner[:k], mode="clip")
        np.not_equal(owner[:k], wanted, out=other[:k])
        np.putmask(found, other[:k], NIL)
    return rows


NOWHERE: Final = 0xFFFF_FFFF_FFFF_FFFF
"""The place of an entity without a row."""

POSITION_BITS: Final = 32
POSITION_MASK: Final = (1 << POSITION_BITS) - 1


class EntityPlaces:
    """Sparse arrays by entity index: whose row it is, and `archetype << 32 | position`.

    The whole handle decides, so stale handles find nothing.
    """

    __slots__ = ("_mask", "_owner_cells", "_owners", "_place_cells", "_places")

    def __init__(self, index_mask: int) -> None:
        self._mask = index_mask
        self._hold(np.zeros(64, np.uint64), np.full(64, NOWHERE, np.uint64))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._owners.nbytes + self._places.nbytes

    def get(self, entity: int) -> int:
        """Return an entity's place, or NOWHERE; O(1)."""
        index = entity & self._mask
        if index < len(self._owners) and self._owner_cells[index] == entity:
            place: int = self._place_cells[index]
            return place
        return NOWHERE

    def get_many(self, entities: EntityArray) -> NDArray[np.uint64]:
        """Return each entity's place; O(k)."""
        index = indices(entities, self._mask)
        places: NDArray[np.uint64] = self._places.take(index, mode="clip")
        others = self._owners.take(index, mode="clip") != entities
        np.putmask(places, others, np.uint64(NOWHERE))
        return places

    def set(self, entity: int, place: int) -> None:
        """Remember an entity's place; its index was covered before."""
        index = entity & self._mask
        self._owner_cells[index] = entity
        self._place_cells[index] = place

    def set_many(self, entities: EntityArray, places: NDArray[np.uint64]) -> None:
        """Remember each entity's place; O(k)."""
        index = indices(entities, self._mask)
        self._owners[index] = entities
        self._places[index] = places

    def forget(self, entity: int) -> None:
        """An entity has no row any more."""
        index = entity & self._mask
        self._owner_cells[index] = 0
        self._place_cells[index] = NOWHERE

    def forget_many(self, entities: EntityArray) -> None:
        """These entities have no rows any more; O(k)."""
        index = indices(entities, self._mask)
        self._owners[index] = 0
        self._places[index] = NOWHERE

    def cover(self, entity: int) -> int:
        """Make room for an entity and return whose row its index leads to, or 0; O(1) amortised."""
        index = entity & self._mask
        if index >= len(self._owners):
            self._grow(index)
        owner: int = self._owner_cells[index]
        return owner

    def cover_many(self, entities: EntityArray) -> EntityArray:
        """Make room for entities and return the others that their indices lead to; O(k)."""
        if len(entities) == 0:
            return entities
        index = indices(entities, self._mask)
        last = int(index.max())
        if last >= len(self._owners):
            self._grow(last)
        owners = self._owners[index]
        others: EntityArray = owners[(owners != 0) & (owners != entities)]
        return others

    def _grow(self, index: int) -> None:
        size = max(2 * len(self._owners), index + 1)
        owners, places = np.zeros(size, np.uint64), np.full(size, NOWHERE, np.uint64)
        owners[: len(self._owners)] = self._owners
        places[: len(self._places)] = self._places
        self._hold(owners, places)

    def _hold(self, owners: EntityArray, places: NDArray[np.uint64]) -> None:
        self._owners = owners
        self._places = places
        self._owner_cells: memoryview[Any] = owners.data
        self._place_cells: memoryview[Any] = places.data


def by_archetype(
    places: NDArray[np.uint64],
) -> Iterator[tuple[int, RowArray | None, RowArray]]:
    """Yield (archetype, which, positions) for each archetype that places lead to.

    `which` are the places concerned, in order of position, or None for all of them as they stand;
    the positions ascend. O(k log k), O(k) if the places ascend. NOWHERE is an archetype, too.
    """
    if len(places) == 0:
        return
    order = None
    if not bool((places[1:] >= places[:-1]).all()):
        order = np.argsort(places)
        places = places[order]
        order[np.searchsorted(places, np.uint64(NOWHERE)) :].sort()  # only these tie
    first, last = int(places[0]), int(places[-1])
    positions = (places & np.uint64(POSITION_MASK)).view(np.intp)
    if first >> POSITION_BITS == last >> POSITION_BITS:
        yield first >> POSITION_BITS, order, positions
        return
    numbers = places >> np.uint64(POSITION_BITS)
    bounds = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    edges = [0, *bounds.tolist(), len(places)]
    for start, stop in pairwise(edges):
        which = np.arange(start, stop) if order is None else order[start:stop]
        yield int(numbers[start]), which, positions[start:stop]


CACHE_LINE: Final = 64
"""Columns start on cache lines, so the capacity is a multiple of 64 rows."""

PAGE: Final = 4096
"""Buffers are whole pages: the granularity of a page allocator."""


class Column(NamedTuple):
    """Where one column lies in the buffer."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Shape of one cell: `()` for scalars."""
    nbytes: int
    """Bytes per row."""
    tags: tuple[str, ...]
    before: int
    """Bytes per row of all columns in front of this one."""

    def offset(self, capacity: int) -> int:
        """Return the column's first byte in a buffer of `capacity` rows."""
        return self.before * capacity


def whole_rows(rows: int) -> int:
    """Round up to a capacity: a multiple of 64 rows, within the range of rows."""
    capacity = -(-rows // CACHE_LINE) * CACHE_LINE
    if capacity >= NIL:
        raise CapacityError(f"{rows} rows are more than a manager can number")
    return capacity


def grown_capacity(allocated: int, rows: int) -> int:
    """Return the capacity that makes place for `rows`: at least double the present one."""
    return whole_rows(max(rows, min(2 * allocated, NIL - CACHE_LINE)))


def allocate(row_bytes: int, capacity: int) -> NDArray[np.uint8]:
    """Return a zeroed buffer for `capacity` rows: whole pages, starting on a cache line."""
    size = -(-row_bytes * capacity // PAGE) * PAGE
    raw = np.zeros(size + CACHE_LINE, np.uint8)
    start = -int(raw.__array_interface__["data"][0]) % CACHE_LINE
    return raw[start : start + size]


def cut(buffer: NDArray[np.uint8], column: Column, capacity: int) -> NDArray[Any]:
    """Return a column of a buffer of `capacity` rows, shape (capacity, *shape); O(1)."""
    start = column.offset(capacity)
    part = buffer[start : start + column.nbytes * capacity]
    return part.view(column.dtype).reshape(capacity, *column.shape)


def copy_rows(
    layout: tuple[Column, ...],
    old: NDArray[np.uint8],
    held: int,
    new: NDArray[np.uint8],
    capacity: int,
    n: int,
) -> None:
    """Copy the first n rows of every column from a buffer of `held` rows to one of `capacity`."""
    for column in layout:
        size = column.nbytes * n
        source, target = column.offset(held), column.offset(capacity)
        new[target : target + size] = old[source : source + size]


def saved_rows(
    layout: tuple[Column, ...], buffer: NDArray[np.uint8], capacity: int, n: int
) -> dict[str, NDArray[Any]]:
    """Return views of the first n rows of every column, by name."""
    return {column.name: cut(buffer, column, capacity)[:n] for column in layout}


def load_rows(
    layout: tuple[Column, ...],
    buffer: NDArray[np.uint8],
    capacity: int,
    rows: dict[str, NDArray[Any]],
) -> None:
    """Copy saved rows into the columns of a buffer."""
    for column in layout:
        saved = rows[column.name]
        cut(buffer, column, capacity)[: len(saved)] = saved


def cells(column: NDArray[Any]) -> memoryview[Any]:
    """Return a memoryview of a column of scalars: one cell in half numpy's time."""
    return column.data


def flat_cells(column: NDArray[Any]) -> memoryview[Any]:
    """Return the scalars of a column of shaped cells, one behind the other."""
    return column.reshape(-1).data


def items(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of shaped cells as one opaque item per row: moves in half the time."""
    nbytes = prod(column.shape[1:]) * column.itemsize
    word = nbytes in (1, 2, 4, 8)
    return column.reshape(-1).view(f"u{nbytes}" if word else f"V{nbytes}")


def word(field: Field, cell: Any) -> int:
    """Return the elements of one cell of 1, 2, 4 or 8 bytes as the unsigned integer in `items`."""
    elements = np.array(cell, field.dtype)
    return int(elements.view(f"u{elements.nbytes}")[0])


def put_cells(
    column: NDArray[Any],
    items: NDArray[Any],
    rows: slice | RowArray,
    values: NDArray[Any],
) -> None:
    """Fill shaped cells of a column, which `items` shows as one item each, with checked values.

    One value for all goes in as an item: numpy's loop over a few elements takes ten times as long.
    """
    if values.ndim < column.ndim:
        cell = np.ascontiguousarray(np.broadcast_to(values, column.shape[1:]))
        items[rows] = cell.reshape(-1).view(items.dtype)
    else:
        column[rows] = values


def copied_if_view(array: NDArray[Any], buffer: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the array, or a copy of it if it may be a view of the buffer."""
    return array.copy() if np.may_share_memory(array, buffer) else array


def nested(values: Iterable[Any], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the flat values of one cell as (nested) tuples of its shape."""
    cell = tuple(values)
    for size in reversed(shape[1:]):
        cell = tuple(zip(*[iter(cell)] * size, strict=True))
    return cell


def is_same_view(column: NDArray[Any], values: object) -> bool:
    """Return whether `values` is that very view, as in `data.x *= 2`: written already."""
    return (
        isinstance(values, np.ndarray)
        and values.dtype == column.dtype
        and values.shape == column.shape
        and values.__array_interface__["data"] == column.__array_interface__["data"]
        and values.strides == column.strides
    )


def _references(buffer: NDArray[np.uint8]) -> int:
    """Count what refers to a buffer, and to the memory that it and its views are views of."""
    return sys.getrefcount(buffer) + sys.getrefcount(buffer.base)


def _count(buffer: NDArray[np.uint8]) -> int:
    return _references(buffer)


def _unshared() -> int:
    """Return the count for a buffer that one caller has and passes on, as managers do."""
    buffer = allocate(1, CACHE_LINE)
    return _count(buffer)


_UNSHARED: Final = _unshared()


def warn_if_viewed(
    buffer: NDArray[np.uint8], manager: str, borrowed: tuple[object, ...]
) -> None:
    """Warn, at the first line outside the package, if someone still holds a view of `buffer`.

    The caller has the last reference to `buffer`; every view of it is one reference more
    to its base. Views among `borrowed`, the arguments of the running call, are forgiven.
    """
    seen = {id(view) for view in borrowed if getattr(view, "base", None) is buffer.base}
    views = _references(buffer) - _UNSHARED - len(seen)
    if views > 0:
        warnings.warn(
            f"{manager}: the buffer moved, and {views} view(s) of the old one are still held; "
            "take the columns from `data` again",
            StaleViewWarning,
            stacklevel=_outside_level(),
        )


def _outside_level() -> int:
    """Return the warning's stacklevel of the first frame outside this package's own modules."""
    package = os.path.dirname(__file__)
    level = 2
    frame = sys._getframe(level)
    while (
        frame.f_back is not None
        and os.path.dirname(frame.f_code.co_filename) == package
    ):
        frame = frame.f_back
        level += 1
    return level


Links = NDArray[np.uint32]
_Owner = TypeVar("_Owner", np.uint64, np.intp)

ROUNDS: Final = 64
"""Steps along all chains at once before a scan of the owners is cheaper."""


def walk(nexts: memoryview[Instance], first: int) -> RowArray:
    """Return the rows of the chain that begins at `first`, in its order; O(length)."""
    rows = []
    row = first
    while row != NIL:
        rows.append(row)
        row = nexts[row]
    return np.array(rows, np.intp)


def chain_lengths(
    nexts: Links, owners: EntityArray, entities: EntityArray, heads: RowArray
) -> RowArray:
    """Return the length of each entity's chain, shape (k,); O(k), O(n log n) for long ones."""
    counts = np.zeros(len(entities), np.intp)
    active = np.flatnonzero(heads != NIL)
    here = heads[active]
    for _ in range(ROUNDS):
        if len(active) == 0:
            return counts
        counts[active] += 1
        following = nexts[here]
        more = following != NIL
        active, here = active[more], following[more].astype(np.intp)
    ordered = np.sort(owners)
    rest = entities[active]
    counts[active] = ordered.searchsorted(rest, "right") - ordered.searchsorted(
        rest, "left"
    )
    return counts


def chain_rows(
    nexts: Links, owners: NDArray[Any], wanted: NDArray[Any], heads: RowArray
) -> RowArray:
    """Return all rows of the wanted owners' chains, ascending and distinct."""
    here: RowArray = np.unique(heads[heads != NIL])
    found = [here]
    for _ in range(ROUNDS):
        following = nexts[here]
        here = following[following != NIL].astype(np.intp)
        if len(here) == 0:
            break
        found.append(here)
    else:
        found.append(np.flatnonzero(np.isin(owners, wanted)))
    return np.unique(np.concatenate(found))


def first_rows(nexts: Links, previous: Links) -> RowArray:
    """Return the first row of every chain, ascending; O(rows)."""
    is_first: NDArray[np.bool_] = nexts[previous] == NIL
    return np.flatnonzero(is_first)


def link(
    nexts: Links, previous: Links, owners: NDArray[_Owner], rows: RowArray
) -> tuple[RowArray, RowArray, NDArray[_Owner]]:
    """Chain new rows by owner, in the order given; return each chain's first, last and owner."""
    order = np.argsort(owners, kind="stable")
    owners, ordered = owners[order], rows[order]
    starts = np.ones(len(rows), np.bool_)
    starts[1:] = owners[1:] != owners[:-1]
    ends = np.roll(starts, -1)
    first, last = ordered[starts], ordered[ends]
    nexts[ordered[:-1]] = ordered[1:]
    previous[ordered[1:]] = ordered[:-1]
    nexts[last] = NIL
    previous[first] = last
    return first, last, owners[starts]


def join(
    nexts: Links, previous: Links, heads: RowArray, first: RowArray, last: RowArray
) -> None:
    """Append the chains first … last to those that begin at `heads`."""
    tails = previous[heads]
    nexts[tails] = first
    previous[first] = tails
    previous[heads] = last


def unlink(
    nexts: Links, previous: Links, heads: RowArray, gone: RowArray
) -> tuple[RowArray, NDArray[np.bool_]]:
    """Take the ascending rows `gone` out of the chains that begin at `heads`.

    `heads` are the first rows of all chains concerned. Returns their first rows from now on and
    which chains are empty. O(k log k): runs of neighbours are bridged by pointer jumping.
    """
    is_first = nexts[previous[gone]] == NIL
    after = _bridge(nexts[gone].astype(np.intp), gone)
    before = _bridge(np.where(is_first, NIL, previous[gone]).astype(np.intp), gone)
    tails = _survivor(previous[heads].astype(np.intp), gone, before)
    heads = _survivor(heads, gone, after)
    inner = before != NIL
    nexts[before[inner]] = after[inner]
    inner &= after != NIL
    previous[after[inner]] = before[inner]
    empty = heads == NIL
    previous[heads[~empty]] = tails[~empty]
    return heads, empty


def _bridge(neighbours: RowArray, gone: RowArray) -> RowArray:
    """Return, for each row of `gone`, the first row along its neighbours that stays, or NIL."""
    place = np.searchsorted(gone, neighbours)
    np.minimum(place, len(gone) - 1, out=place)
    active = np.flatnonzero(gone[place] == neighbours)
    jump = np.full(len(gone), -1, np.intp)
    jump[active] = place[active]
    while len(active):
        through = jump[active]
        neighbours[active], jump[active] = neighbours[through], jump[through]
        active = active[jump[active] >= 0]
    return neighbours


def _survivor(rows: RowArray, gone: RowArray, instead: RowArray) -> RowArray:
    """Return `rows`, with those that are gone replaced by their `instead`."""
    place = np.minimum(np.searchsorted(gone, rows), len(gone) - 1)
    return np.where(gone[place] == rows, instead[place], rows)


def remap_links(
    nexts: Links, previous: Links, src: RowArray, dst: RowArray, n: int
) -> RowArray:
    """Mend links after rows src[k] were copied to dst[k]; return the moved rows that are first."""
    return mend_links(nexts, previous, dst, Remap(src, dst, n))


def mend_links(nexts: Links, previous: Links, dst: RowArray, remap: Remap) -> RowArray:
    """Mend links after rows were copied to dst; return the moved rows that are first."""
    nexts[dst] = remap(nexts[dst])
    previous[dst] = remap(previous[dst])
    before, after = previous[dst], nexts[dst]
    is_first = nexts[before] == NIL
    nexts[before[~is_first]] = dst[~is_first]
    followed = after != NIL
    previous[after[followed]] = dst[followed]
    first: RowArray = dst[is_first]
    return first


class EnumField(Field):
    """Members of one enum, or their numbers; for flags any combination of the members' bits."""

    __slots__ = ("_enum", "_has_gaps", "_mask", "_members", "_sorted")

    _kinds: ClassVar[str] = "iu"

    def __new__(
        cls,
        name: str,
        enum: type[IntEnum | IntFlag],
        scalar: str,
        shape: tuple[int, ...] = (),
    ) -> EnumField:
        return super().__new__(_ShapedEnumField if shape else cls)

    def __init__(
        self,
        name: str,
        enum: type[IntEnum | IntFlag],
        scalar: str,
        shape: tuple[int, ...] = (),
    ) -> None:
        super().__init__(name, f"u{int(scalar[1:]) // 8}", shape, enum.__name__)
        numbers = sorted({member.value for member in enum.__members__.values()})
        self._enum = enum
        self._mask = 0
        if issubclass(enum, IntFlag):
            for number in numbers:
                self._mask |= number
        self._members = frozenset(numbers)
        self._sorted: NDArray[Any] = np.array(numbers, self.dtype)
        self._has_gaps = len(numbers) <= numbers[-1]

    def cell(self, value: Any) -> Any:
        if type(value) is self._enum:
            number = value._value_
        elif type(value) is int:
            number = value
        else:
            number = self._number(value)
        if number in self._members or (number & self._mask == number and self._mask):
            return number
        what = "has bits outside" if self._mask else "is no member of"
        raise ValueError(f"{self.name}: {shown(value)} {what} {self.wanted}")

    one = cell

    def _number(self, value: Any) -> int:
        value = self._element(value)
        if type(value) is self._enum:
            return int(value)
        if isinstance(value, Enum):
            raise self._wrong_type(value)
        return self._integer(value)

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.size == 0:
            return array.astype(self.dtype)
        largest = self._mask or int(self._sorted[-1])
        if int(array.min()) < 0 or int(array.max()) > largest:
            self._blame(array)
        numbers = array.astype(self.dtype, copy=False)
        if self._mask:
            bad = bool((numbers & ~self.dtype.type(self._mask)).any())
        elif self._has_gaps:
            bad = bool(
                (self._sorted[self._sorted.searchsorted(numbers)] != numbers).any()
            )
        else:
            bad = False
        if bad:
            self._blame(array)
        return numbers


class _ShapedEnumField(ShapedField, EnumField):
    __slots__ = ()


_EXACT: Final = 2**53
"""Up to here every integer is a float of 64 bits."""

_ROUNDS_TO_INF: Final = {"f32": float.fromhex("0x1.ffffffp127"), "f64": inf}
"""Where rounding makes a finite number infinite: half a step over the largest finite one."""


_NOT_REAL: Final = (
    bool,
    np.bool_,
    np.complexfloating,
    np.flexible,
    np.datetime64,
    np.timedelta64,
)
"""Types that have `__float__` or `__index__` all the same."""


def _is_finite(value: Any) -> bool:
    """Whether a number says so: `float` makes large Decimals infinite without an error."""
    try:
        return bool(-inf < value < inf)
    except TypeError:
        return False


class BoolField(Field):
    """Bools, and nothing that merely looks like one."""

    __slots__ = ()

    _kinds: ClassVar[str] = "b"

    def __new__(cls, name: str, shape: tuple[int, ...] = ()) -> BoolField:
        return super().__new__(_ShapedBoolField if shape else cls)

    def __init__(self, name: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, "bool", shape, "bool")

    def cell(self, value: Any) -> Any:
        if value is True or value is False:
            return value
        value = self._element(value)
        if isinstance(value, (bool, np.bool_)):
            return bool(value)
        raise self._wrong_type(value)

    one = cell

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        return array


class _ShapedBoolField(ShapedField, BoolField):
    __slots__ = ()


class IntField(Field):
    """Integers of 8 to 64 bits: whatever has `__index__`, bools apart, if it fits."""

    __slots__ = ("_high", "_low")

    _kinds: ClassVar[str] = "iu"

    def __new__(cls, name: str, scalar: str, shape: tuple[int, ...] = ()) -> IntField:
        return super().__new__(_ShapedIntField if shape else cls)

    def __init__(self, name: str, scalar: str, shape: tuple[int, ...] = ()) -> None:
        bits = int(scalar[1:])
        super().__init__(name, f"{scalar[0]}{bits // 8}", shape, scalar)
        signed = scalar[0] == "i"
        self._low = -(2 ** (bits - 1)) if signed else 0
        self._high = 2 ** (bits - signed) - 1

    def cell(self, value: Any) -> Any:
        if type(value) is int and self._low <= value <= self._high:
            return value
        number = self._integer(value)
        if self._low <= number <= self._high:
            return number
        raise self._does_not_fit(number)

    one = cell

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype == self.dtype:
            return array
        if not self._holds(array):
            self._blame(array)
        return array.astype(self.dtype)

    def _holds(self, array: NDArray[Any]) -> bool:
        given, own = array.dtype, self.dtype
        is_narrower = given.itemsize < own.itemsize and given.kind in ("u", own.kind)
        if is_narrower or array.size == 0:
            return True
        return self._low <= int(array.min()) and int(array.max()) <= self._high


class _ShapedIntField(ShapedField, IntField):
    __slots__ = ()


class HandleField(IntField):
    """Handles of entities and ids: integers of 64 bits, alive or not."""

    __slots__ = ()

    def __new__(cls, name: str, shape: tuple[int, ...] = ()) -> HandleField:
        return object.__new__(_ShapedHandleField if shape else cls)

    def __init__(self, name: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, "u64", shape)


class _ShapedHandleField(ShapedField, HandleField):
    __slots__ = ()


class FloatField(Field):
    """Real numbers, rounded to the float's precision; finite ones never become infinite."""

    __slots__ = ("_limit", "_low")

    _kinds: ClassVar[str] = "fiu"

    def __new__(cls, name: str, scalar: str, shape: tuple[int, ...] = ()) -> FloatField:
        shaped = _FLOATS_BY_SHAPE.get(shape, _ShapedFloatField)
        return super().__new__(shaped if shape else cls)

    def __init__(self, name: str, scalar: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, f"f{int(scalar[1:]) // 8}", shape, scalar)
        self._limit = _ROUNDS_TO_INF[scalar]
        self._low = -self._limit

    def cell(self, value: Any) -> Any:
        if type(value) is float and self._low < value < self._limit:
            return value
        if type(value) is int and -_EXACT <= value <= _EXACT:
            return float(value)
        return self._real(value)

    one = cell

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype == self.dtype:
            return array
        if array.dtype.kind != "f" or array.dtype.itemsize <= self.dtype.itemsize:
            return array.astype(self.dtype)
        with np.errstate(all="ignore"):
            rounded = array.astype(self.dtype)
        # Counting is the fastest way to ask for all, in small arrays by a microsecond.
        if np.count_nonzero(np.isfinite(rounded)) < rounded.size:
            self._check_infinite(array, rounded)
        return rounded

    def _check_infinite(self, array: NDArray[Any], rounded: NDArray[Any]) -> None:
        if (np.isinf(rounded) & np.isfinite(array)).any():
            self._blame(array)

    def _real(self, value: Any) -> float:
        value = self._element(value)
        if isinstance(value, np.longdouble):
            return self._from_longdouble(value)
        try:
            number = self._nearest(value)
        except TypeError:
            raise self._wrong_type(value) from None
        except OverflowError:
            raise self._does_not_fit(value) from None
        except ValueError as error:  # a signalling NaN
            raise ValueError(
                f"{self.name}: wanted {self.wanted}, not {shown(value)}"
            ) from error
        if self._low < number < self._limit or isnan(number):
            return number
        if isinf(number) and not _is_finite(value):
            return number
        raise self._does_not_fit(value)

    def _from_longdouble(self, value: np.longdouble) -> float:
        with np.errstate(all="ignore"):
            number = float(value.astype(self.dtype))
        if isinf(number) and not np.isinf(value):
            raise self._does_not_fit(value)
        return number

    def _nearest(self, value: Any) -> float:
        kind = type(value)
        if hasattr(kind, "__index__") and not issubclass(kind, _NOT_REAL):
            value = index(value)
        elif not hasattr(kind, "__float__") or issubclass(kind, _NOT_REAL):
            raise TypeError
        return self._once(float(value), value)

    def _once(self, number: float, value: Any) -> float:
        """Return the float of 64 bits that rounds on as `value` itself does: of the two next to an
        inexact one the odd one, so that f32 is not rounded twice."""
        if self.dtype.itemsize == 8 or number == value or not isfinite(number):
            return number
        if int(frexp(number)[0] * _EXACT) & 1:
            return number
        try:
            return nextafter(number, inf if value > number else -inf)
        except (
            TypeError
        ):  # a class that has `__float__` alone: what it returns is its value
            return number


class _ShapedFloatField(ShapedField, FloatField):
    __slots__ = ()


class _FloatPairField(_ShapedFloatField):
    __slots__ = ()

    def one(self, value: Any) -> Any:
        if type(value) is tuple:
            try:
                x, y = value
            except ValueError:  # another length
                return super().one(value)
            if type(x) is type(y) is float:
                low, high = self._low, self._limit
                if low < x < high and low < y < high:
                    return value
        return super().one(value)


class _FloatTripleField(_ShapedFloatField):
    __slots__ = ()

    def one(self, value: Any) -> Any:
        if type(value) is tuple:
            try:
                x, y, z = value
            except ValueError:  # another length
                return super().one(value)
            if type(x) is type(y) is type(z) is float:
                low, high = self._low, self._limit
                if low < x < high and low < y < high and low < z < high:
                    return value
        return super().one(value)


class _FloatQuadField(_ShapedFloatField):
    __slots__ = ()

    def one(self, value: Any) -> Any:
        if type(value) is tuple:
            try:
                x, y, z, w = value
            except ValueError:  # another length
                return super().one(value)
            if type(x) is type(y) is type(z) is type(w) is float:
                low, high = self._low, self._limit
                finite = low < x < high and low < y < high
                if finite and low < z < high and low < w < high:
                    return value
        return super().one(value)


# Tuples of the common sizes are taken apart by hand: a loop costs half as much again.
_FLOATS_BY_SHAPE: Final[dict[tuple[int, ...], type[_ShapedFloatField]]] = {
    (2,): _FloatPairField,
    (3,): _FloatTripleField,
    (4,): _FloatQuadField,
}


def _characters(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return an array of dtype S as one row of bytes per element."""
    size = array.dtype.itemsize
    return np.frombuffer(array.tobytes(), np.uint8).reshape(array.size, size)


def _decoded(array: NDArray[Any]) -> NDArray[np.object_]:
    """Return an array of dtype S as text; what is not UTF-8 becomes surrogates."""
    texts = (
        encoded.decode(errors="surrogateescape") for encoded in array.ravel().tolist()
    )
    return np.fromiter(texts, object, array.size).reshape(array.shape)


class TextField(Field):
    """Text of at most `size` bytes of UTF-8, without NUL."""

    __slots__ = ("_size",)

    _kinds: ClassVar[str] = "UTS"

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, f"S{size}", (), f"str[{size}]")
        self._size = size

    def cell(self, value: Any) -> Any:
        if type(value) is not str:
            value = self._element(value)
            if not isinstance(value, str):
                raise self._wrong_type(value)
        try:
            text = str.encode(value)
        except UnicodeEncodeError:
            raise ValueError(
                f"{self.name}: {shown(value)} is not valid UTF-8"
            ) from None
        if len(text) <= self._size and 0 not in text:
            return text
        if 0 in text:
            raise ValueError(
                f"{self.name}: {shown(value)} has a NUL, wanted {self.wanted}"
            )
        raise ValueError(
            f"{self.name}: {shown(value)} takes {len(text)} bytes of UTF-8, wanted {self.wanted}"
        )

    one = cell

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        if array.dtype.kind != "S":
            return self._from_elements(array)
        if array.size and array.dtype.itemsize:
            characters = _characters(array)
            ends = characters[:, :-1] == 0
            if (
                characters.max() >= 128
                or characters[:, self._size :].any()
                or (ends & (characters[:, 1:] != 0)).any()
            ):
                return self._from_elements(_decoded(array))
        return array.astype(self.dtype, copy=False)


class BytesField(Field):
    """At most `size` bytes; what is shorter is padded with zeros."""

    __slots__ = ("_size",)

    _kinds: ClassVar[str] = "S"

    def __init__(self, name: str, size: int) -> None:
        super().__init__(name, f"S{size}", (), f"bytes[{size}]")
        self._size = size

    def cell(self, value: Any) -> Any:
        if type(value) is bytes and len(value) <= self._size:
            return value
        value = self._element(value)
        if not isinstance(value, bytes | bytearray):
            raise self._wrong_type(value)
        if len(value) > self._size:
            raise ValueError(
                f"{self.name}: {shown(value)} has {len(value)} bytes, wanted {self.wanted}"
            )
        return bytes(value)

    one = cell

    def _cast(self, array: NDArray[Any]) -> NDArray[Any]:
        longer = array.size > 0 and array.dtype.itemsize > self._size
        if longer and _characters(array)[:, self._size :].any():
            self._blame(array)
        return array.astype(self.dtype, copy=False)


SCAN: Final = 4096
"""Rows looked at per step when the last owner is searched from behind."""


class OwnedRows(Rows, Protocol):
    """Rows with owners."""

    _entity_column: EntityArray


def present_row(row: object, data: OwnedRows, manager: str) -> int:
    """Return `row` as an int, or raise StaleInstanceError if it is not in use or a hole."""
    number = row_in_use(row, data, manager)
    if data._entity_column[number] == 0:
        raise StaleInstanceError(
            f"{manager}: row {number} is not in use: its entity has no instance"
        )
    return number


def present_rows(rows: ArrayLike, data: OwnedRows, manager: str) -> RowArray:
    """Return `rows` (numbers, or a bool mask) as row numbers that are all in use; O(k)."""
    given = rows_in_use(rows, data, manager)
    holes = data._entity_column[given] == 0
    if holes.any():
        present_row(int(given[holes.argmax()]), data, manager)
    return given


def direct_lookup(
    owners: EntityArray, entities: EntityArray, index_mask: int
) -> RowArray:
    """Return the row of each entity, NIL where it has none; O(k)."""
    if len(owners) == 0:
        return np.full(len(entities), NIL, np.intp)
    rows = (entities & np.uint64(index_mask)).view(np.intp)
    found = owners.take(rows, mode="clip") == entities
    found &= entities != 0
    return np.where(found, rows, NIL)


def rows_spanned(entities: EntityArray, index_mask: int) -> int:
    """Return one more than the highest index of the entities, 0 without any; O(k)."""
    if len(entities) == 0:
        return 0
    return int((entities & np.uint64(index_mask)).max()) + 1


def last_owner(owners: EntityArray, n: int) -> int:
    """Return one more than the highest row below n that has an owner; steps back from n."""
    while n > 0:
        start = max(0, n - SCAN)
        used = np.flatnonzero(owners[start:n])
        if len(used):
            return start + int(used[-1]) + 1
        n = start
    return 0


class GroupedColumns(Protocol):
    """What a group needs of a member's columns."""

    _n_grouped: int

    @property
    def entity(self) -> EntityArray: ...


class GroupMember(Protocol):
    """What a group, and its members of each other, need of a member."""

    _holds: int
    _locks: int
    _version: int

    @property
    def data(self) -> GroupedColumns: ...

    def lookup(self, entity: Entity, /) -> Instance: ...

    def lookup_many(self, entities: ArrayLike, /) -> RowArray: ...

    def _link_group(self, mates: tuple[GroupMember, ...], n: int, /) -> None: ...

    def _enter_group(self, row: Instance, /) -> Instance: ...

    def _enter_group_many(self, rows: RowArray, /) -> tuple[RowArray, RowArray]: ...

    def _leave_group(self, row: Instance, /) -> None: ...

    def _leave_group_many(self, gone: RowArray, /) -> None: ...

    def _group_key(self, key: Any, /) -> NDArray[Any]: ...

    def _permute_group(self, src: RowArray, /) -> None: ...


class Group:
    """The entities that have all of several components, in the first rows of each manager.

    Row k of every member belongs to the same entity. Entities join and leave as they get
    and lose components. The dead are in it until one of their rows is collected.
    """

    __slots__ = ("_first", "_members", "_name")

    def __init__(self, name: str, members: Mapping[str, GroupMember], n: int) -> None:
        self._name = name
        self._members = dict(members)
        self._first = next(iter(members.values()))
        for member in members.values():
            mates = tuple(other for other in members.values() if other is not member)
            member._link_group(mates, n)

    if not TYPE_CHECKING:  # checkers would take it to mean that any attribute will do

        def __setattr__(self, name: str, value: Any) -> None:
            if hasattr(self, name):
                raise not_replaced(self, name)
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self._members.values(), self.n)

    @property
    def n(self) -> int:
        """How many entities are in the group: the rows [0, n) of every member; O(1)."""
        return self._first.data._n_grouped

    @property
    def entity(self) -> EntityArray:
        """The entity of each row, shape (n,); read-only."""
        return self._first.data.entity[: self.n]

    def __len__(self) -> int:
        """Return how many entities are in the group; O(1)."""
        return self.n

    def __contains__(self, entity: object) -> bool:
        """Return whether an entity is in the group; O(1)."""
        return is_integer(entity) and self._first.lookup(Entity(index(entity))) < self.n

    def sort(self, member: str, key: str | ArrayLike, /) -> None:
        """Sort the group, in all members alike, by a scalar field of one; O(n log n).

        Ascending, stable, NaN last. Instead of the field's name, a key array may be given
        with one value per row of the group.

        Raises:
            ValueError: no such member or field, or a key of another length.
            StructureLockedError: a member is locked.
        """
        self._check_lock()
        if member not in self._members:
            known = ", ".join(self._members)
            raise ValueError(f"{self._name} has the members {known}, not {member!r}")
        self._permute(sort_order(self._members[member]._group_key(key)))

    def reorder(self, order: ArrayLike, /) -> None:
        """Let row k of the group become what row order[k] was, in all members alike; O(n).

        Raises:
            ValueError: the order is not a permutation of the group's rows.
            StructureLockedError: a member is locked.
        """
        self._check_lock()
        given = integers(order, self._name, "the order")
        self._permute(permutation(given, self.n, self._name))

    def _check_lock(self) -> None:
        if self._first._locks:
            raise locked_in_group(self._name, self._members.values())

    def _permute(self, src: RowArray) -> None:
        for member in self._members.values():
            member._permute_group(src)


def having_all(
    entities: EntityArray, mates: tuple[GroupMember, ...]
) -> tuple[RowArray, list[RowArray]]:
    """Return which of k entities have a row in every mate, and these rows, by mate; O(k)."""
    chosen, wanted = np.arange(len(entities)), entities
    found: list[RowArray] = []
    for mate in mates:
        rows = mate.lookup_many(wanted)
        present = rows != NIL
        if not present.all():
            chosen = chosen[present]
            wanted, rows = wanted[present], rows[present]
            found = [earlier[present] for earlier in found]
        found.append(rows)
        if len(chosen) == 0:
            break
    return chosen, found


def unshared(entities: EntityArray, columns: Columns) -> tuple[EntityArray, Columns]:
    """Copy views: what they look at may be rows of a mate, which may move before they are read."""
    values = {name: c if c.base is None else c.copy() for name, c in columns.items()}
    return entities if entities.base is None else entities.copy(), values


def joined_at(rows: RowArray, start: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) by which k distinct `rows`, none before `start`, come to follow it.

    They keep the order given, which is what aligns the members of a group. Rows that
    were in their way go where they came from.
    """
    end = start + len(rows)
    wanted = np.arange(start, end)
    moving = rows != wanted
    if not moving.any():
        return rows[:0], rows[:0]
    outside = rows >= end
    in_the_way = np.ones(end - start, np.bool_)
    in_the_way[rows[~outside] - start] = False
    displaced = np.flatnonzero(in_the_way) + start
    src = np.concatenate((rows[moving], displaced))
    dst = np.concatenate((wanted[moving], rows[outside]))
    return src, dst


def sorted_by_group(manager: str, group: str) -> StructureLockedError:
    """Return the error of sorting one member of a group on its own."""
    return StructureLockedError(
        f"{manager}: its rows keep in step with those of the group '{group}'; "
        f"sort them with the world's {group}.sort"
    )


def locked_in_group(name: str, members: Iterable[GroupMember]) -> StructureLockedError:
    """Return the error of a structural change while a member's lock holds for its group."""
    holder = next((type(m).__name__ for m in members if m._holds > 0), name)
    if holder == name:
        return locked(name)
    return StructureLockedError(
        f"{name} is locked: a `locked()` block of {holder} or one of its callbacks is "
        "running, which locks the whole group"
    )


def room_at(bound: int, n: int, count: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) that free `count` rows at the bound: those behind it go to the end."""
    end = bound + count
    return np.arange(bound, min(end, n)), np.arange(max(n, end), n + count)


def fill_parts(gone: RowArray, bound: int, n: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) that close both parts when the ascending rows `gone` leave.

    The active part closes as any table does. The rows that it gives up belong to the
    inactive part now: they are holes of that part, like those of its own rows that
    leave.
    """
    split = int(np.searchsorted(gone, bound))
    src, dst = fill(gone[:split], bound)
    start = bound - split
    holes = np.concatenate((np.arange(start, bound), gone[split:]))
    behind, front = fill(holes - start, n - start)
    return np.concatenate((src, behind + start)), np.concatenate((dst, front + start))


def exchange(rows: RowArray, start: int, end: int) -> tuple[RowArray, RowArray]:
    """Return (src, dst) by which the ascending `rows` come to be [start, end), by swaps alone."""
    outside = np.ones(end - start, np.bool_)
    inside = rows[(rows >= start) & (rows < end)]
    outside[inside - start] = False
    leaving = np.flatnonzero(outside) + start
    coming = rows[(rows < start) | (rows >= end)]
    return np.concatenate((leaving, coming)), np.concatenate((coming, leaving))


def parts_sorted(key: NDArray[Any], bound: int) -> RowArray:
    """Return the stable ascending order inside each part, NaN last."""
    return np.concatenate((sort_order(key[:bound]), sort_order(key[bound:]) + bound))


def within_parts(order: RowArray, bound: int, manager: str) -> RowArray:
    """Return an order that keeps every row in its part, or raise ValueError."""
    if len(order) and bound and int(order[:bound].max()) >= bound:
        raise ValueError(f"{manager}: the order moves rows across the active boundary")
    return order


_OWNER: Final = Column("entity", np.dtype(np.uint64), (), 8, ("hot",), 0)


class RowCount:
    """How many rows of a chunk are in use: known to the chunk and to all its columns."""

    __slots__ = ("n",)

    def __init__(self) -> None:
        self.n = 0


class ChunkColumns:
    """The columns of one component in one chunk; a generated class for each adds the fields."""

    __slots__ = ("_rows",)

    _ROW: ClassVar[type[tuple[Any, ...]]]
    _FIELDS: ClassVar[Mapping[str, Field | ObjectField]]
    LAYOUT: ClassVar[tuple[Column, ...]]

    _one: ClassVar[Callable[..., tuple[Any, ...]]]
    """Checks the fields of one new row."""

    _many: ClassVar[Callable[..., tuple[NDArray[Any], ...]]]
    """Checks fields for so many new rows and returns an array for each column."""

    def __init__(self, rows: RowCount, columns: Sequence[NDArray[Any]]) -> None:
        raise NotImplementedError

    @classmethod
    def _some(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Check values for some fields of a row."""
        known = known_fields(cls._ROW, fields).items()
        return {name: cls._FIELDS[name].one(value) for name, value in known}

    def _put(self, row: int, values: tuple[Any, ...]) -> None:
        """Write what `_one` returned to a row."""
        raise NotImplementedError

    def _set(self, row: int, values: dict[str, Any]) -> None:
        """Write what `_some` returned to a row."""
        raise NotImplementedError

    def _row(self, row: int) -> Any:
        """Return a copy of a row."""
        raise NotImplementedError


class ChunkPlace(NamedTuple):
    """Where one column lies in the chunks of an archetype."""

    column: Column
    offset: int
    """Its first byte; -1 for objects, which lie beside the buffer."""
    item: np.dtype[Any]
    """One cell as one opaque item, which moves in half the time."""


class ChunkLayout:
    """What the chunks of one archetype look like: the owner, then each component's columns."""

    __slots__ = ("bits", "capacity", "components", "objects", "places", "starts")

    def __init__(
        self, bits: int, parts: Sequence[type[ChunkColumns]], size: int
    ) -> None:
        self.bits = bits
        self.components = {k: part for k, part in enumerate(parts) if bits >> k & 1}
        self.starts: dict[int, int] = {}
        columns = [_OWNER]
        for component, part in self.components.items():
            self.starts[component] = len(columns)
            columns += part.LAYOUT
        self.capacity = _rows_in(size, columns)
        self.places = _placed(columns, self.capacity)
        self.objects = tuple(k for k, p in enumerate(self.places) if p.offset < 0)


def _rows_in(size: int, columns: Sequence[Column]) -> int:
    """Return how many rows fit into a chunk, each column starting on a cache line."""
    rows = size // sum(column.nbytes for column in columns)
    while sum(_whole_lines(rows * column.nbytes) for column in columns) > size:
        rows -= 1
    return rows


def _placed(columns: Sequence[Column], capacity: int) -> tuple[ChunkPlace, ...]:
    places = []
    offset = 0
    for column in columns:
        is_object = column.dtype.hasobject
        item = column.dtype
        if column.shape:
            word = column.nbytes in (1, 2, 4, 8)
            item = np.dtype(f"{'u' if word else 'V'}{column.nbytes}")
        places.append(ChunkPlace(column, -1 if is_object else offset, item))
        offset += _whole_lines(capacity * column.nbytes)
    return tuple(places)


def _whole_lines(nbytes: int) -> int:
    return -(-nbytes // CACHE_LINE) * CACHE_LINE


_FEW: Final = 32
"""Up to so many elements of a cell are compared one after the other, for all rows at once."""


def default_cell(field: Field, stored: bytes) -> NDArray[Any]:
    """Return a field's default, given as the bytes of its cell, as an array of the cell's shape."""
    return np.frombuffer(stored, field.dtype).reshape(field.shape)


def differing(
    columns: Mapping[str, NDArray[Any]],
    defaults: Mapping[str, NDArray[Any]],
    count: int,
) -> NDArray[np.bool_]:
    """Return which of `count` new rows have a cell that is not the default; O(count).

    Cells are compared bit for bit, so that -0.0 is not 0.0 and a NaN is itself. Objects differ
    from the default unless they are None.
    """
    mask = np.zeros(count, np.bool_)
    for name, default in defaults.items():
        other = _other_cells(_bits(columns[name]), _bits(default))
        if other.any():
            mask |= other
    return mask


def count_differing(
    columns: Mapping[str, NDArray[Any]],
    defaults: Mapping[str, NDArray[Any]],
    count: int,
) -> int:
    """Return how many of `count` new rows have a cell that is not the default; O(count)."""
    return int(np.count_nonzero(differing(columns, defaults, count)))


def _other_cells(bits: NDArray[Any], default: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which cells differ from the default, shape (count,), or (1,) if all are the same.

    Element by element of a cell: `any` over the few elements of each cell takes far longer.
    """
    if default.ndim == 0:
        return np.atleast_1d(bits != default)
    if bits.ndim <= default.ndim:
        return np.array([(bits != default).any()])
    whole = np.broadcast_to(bits, (len(bits), *default.shape))
    if default.size > _FEW:
        found: NDArray[np.bool_] = (whole != default).any(
            axis=tuple(range(1, whole.ndim))
        )
        return found
    other = np.zeros(len(bits), np.bool_)
    for place in np.ndindex(default.shape):
        other |= whole[(slice(None), *place)] != default[place]
    return other


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return scalars as integers of their size; text as it is; objects as whether they are some."""
    if array.dtype.kind == "O":
        some = (value is not None for value in array.flat)
        return np.fromiter(some, np.bool_, array.size).reshape(array.shape)
    return array if array.dtype.kind == "S" else array.view(f"u{array.itemsize}")


def picked(
    values: NDArray[Any], shape: tuple[int, ...], wanted: RowArray
) -> NDArray[Any]:
    """Return the wanted rows of values that broadcast to `shape`, or what is the same for all."""
    by_row = values.ndim == len(shape) and len(values) == shape[0]
    if not by_row:
        return values
    if values.ndim == 1 or values.shape != shape or not values.flags.c_contiguous:
        return values[wanted]
    cells = items(values).take(wanted)
    return cells.view(values.dtype).reshape(-1, *shape[1:])


def without_views(
    columns: dict[str, NDArray[Any]], buffer: NDArray[np.uint8]
) -> dict[str, NDArray[Any]]:
    """Return the columns, with copies of those that may be views of the buffer."""
    return {name: copied_if_view(values, buffer) for name, values in columns.items()}


def follow(
    places: NDArray[np.uint32], cold_rows: NDArray[np.uint32], dst: RowArray
) -> None:
    """Tell the cold rows at `places`, NIL for none, that their instances are at `dst` now; O(k)."""
    held = places != NIL
    cold_rows[places[held]] = dst[held]


def spread(
    values: NDArray[Any],
    cold_rows: NDArray[np.uint32],
    default: NDArray[Any],
    count: int,
) -> NDArray[Any]:
    """Return a cold field's value in each of `count` rows; O(count)."""
    column = np.full(count, default, default.dtype)
    column[cold_rows] = values
    return column


_CACHED: Final = 1 << 20
"""Bytes of a block's columns and working memory together: what a core's own cache holds."""


Cells: TypeAlias = tuple[str, tuple[int, ...], bool]
"""Working memory of a kernel: dtype, shape per row, and whether a row's elements lie together."""


class Blocks:
    """Views of a kernel's columns and of its working memory, block after block.

    Good until the buffer moves or the stamp (the number of rows, or the version) changes.
    """

    __slots__ = ("nbytes", "stamp", "views")

    def __init__(
        self, rows: int, columns: Sequence[NDArray[Any]], working: Sequence[Cells]
    ) -> None:
        self.stamp = rows
        each = [cells_bytes(array.shape[:-1], array.dtype) for array in columns]
        size = min(rows, block_rows(sum(each) + working_bytes(working)))
        memory = [working_memory(cells, size) for cells in working]
        self.nbytes = sum(array.nbytes for array in memory)
        """Bytes that are held beside the columns."""
        self.views: list[tuple[Any, ...]] = [
            (
                *(column[..., start : start + size] for column in columns),
                *(array[..., : rows - start] for array in memory),
            )
            for start in range(0, rows, size or 1)
        ]


class LevelBlocks(Blocks):
    """Rows of a hierarchy with their parents, from the roots down, and working memory.

    A block has the rows of one level, their parents (None for roots) and its memory.
    """

    __slots__ = ()

    def __init__(
        self,
        levels: Sequence[RowArray],
        parents: NDArray[Any],
        stamp: int,
        working: Sequence[Cells],
    ) -> None:
        self.stamp = stamp
        size = block_rows(working_bytes(working))
        size = min(size, max((len(level) for level in levels), default=0))
        memory = [working_memory(cells, size) for cells in working]
        self.nbytes = sum(array.nbytes for array in memory)
        self.views = []
        for depth, level in enumerate(levels):
            for start in range(0, len(level), size or 1):
                rows = level[start : start + size]
                above = parents[rows].astype(np.intp) if depth else None
                self.nbytes += rows.nbytes if depth else 0
                views = (array[..., : len(rows)] for array in memory)
                self.views.append((rows, above, *views))


def working_bytes(working: Sequence[Cells]) -> int:
    """Return the bytes of working memory that go with one row."""
    return sum(cells_bytes(cells[1], cells[0]) for cells in working)


def cells_bytes(shape: tuple[int, ...], dtype: Any) -> int:
    """Return the bytes of one row."""
    return prod(shape) * int(np.dtype(dtype).itemsize)


def block_rows(row_bytes: int) -> int:
    """Return how many rows make a block: a power of two, from 1024 to 65536."""
    fitting = max(1024, min(65536, _CACHED // max(row_bytes, 1)))
    return 1 << (fitting.bit_length() - 1)


def working_memory(cells: Cells, rows: int) -> NDArray[Any]:
    """Return uninitialised memory of shape (*shape, rows)."""
    dtype, shape, together = cells
    if together:
        return rows_last(np.empty((rows, *shape), dtype))
    return np.empty((*shape, rows), dtype)


def rows_last(column: NDArray[Any]) -> NDArray[Any]:
    """Return a view of a column, shape (rows, *shape), as (*shape, rows)."""
    return column.transpose(*range(1, column.ndim), 0)  # moveaxis takes 5 µs


def planes(
    buffer: NDArray[np.uint8], first: Column, capacity: int, shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return the columns of a split field, which follow each other, as (*shape, capacity)."""
    start = first.offset(capacity)
    size = prod(shape) * first.nbytes * capacity
    return buffer[start : start + size].view(first.dtype).reshape(*shape, capacity)


def put_where(target: NDArray[Any], mask: Any, values: Any) -> None:
    """Write values into a block where a mask is true; both fit it as numpy's broadcasting has it.

    Five times as fast as `np.copyto(target, values, where=mask)`.
    """
    if target.shape == np.shape(mask) and target.ndim == 1:
        np.putmask(target, mask, values)
        return
    masks = np.broadcast_to(mask, target.shape)
    given = np.broadcast_to(np.asarray(values, target.dtype), target.shape)
    if target.strides[-1] == target.itemsize:
        for place in np.ndindex(target.shape[:-1]):
            np.putmask(target[place], masks[place], given[place])
    else:  # a row's elements lie together: so shall those of the others
        axes = (target.ndim - 1, *range(target.ndim - 1))
        np.putmask(target.transpose(axes), masks.transpose(axes), given.transpose(axes))


def as_integers(values: Any, dtype: Any) -> NDArray[Any]:
    """Return floats as integers: cut towards zero, the range's end beyond it, 0 for NaN."""
    limits = np.iinfo(dtype)
    low, beyond = float(limits.min), float(limits.max + 1)  # powers of two, so exact
    given = np.asarray(values)
    fits = (given >= low) & (given < beyond)
    if fits.all():
        return given.astype(dtype)
    result = np.where(fits, given, 0).astype(dtype)
    np.copyto(result, limits.min, where=given < low)
    np.copyto(result, limits.max, where=given >= beyond)
    return result


def rows_below(levels: tuple[RowArray, ...], bound: int) -> tuple[RowArray, ...]:
    """Return the rows of each level that are less than a bound: the active ones."""
    return tuple(level[level < bound] for level in levels)


def gather(source: NDArray[Any], rows: RowArray, out: NDArray[Any]) -> None:
    """Copy rows of a column into a block; rows are last in both."""
    take_rows(row_cells(source), rows, row_cells(out))


def scatter(target: NDArray[Any], rows: RowArray, values: NDArray[Any]) -> None:
    """Copy a block over rows of a column; rows are last in both."""
    put_rows(row_cells(target), rows, row_cells(values))


def row_cells(array: NDArray[Any]) -> list[NDArray[Any]]:
    """Return cells, rows last, as arrays of one item per row: one, or one per element."""
    if array.ndim == 1:
        return [array]
    if array.strides[-1] == array.itemsize:
        return [array[place] for place in np.ndindex(array.shape[:-1])]
    return [_row_items(array)]


def take_rows(
    source: Sequence[NDArray[Any]], rows: RowArray, out: Sequence[NDArray[Any]]
) -> None:
    """Copy rows of a column into a block; both as `row_cells` has them."""
    for cells, copy in zip(source, out, strict=True):
        cells.take(rows, out=copy, mode="clip")


def put_rows(
    target: Sequence[NDArray[Any]], rows: RowArray, values: Sequence[NDArray[Any]]
) -> None:
    """Copy a block over rows of a column; both as `row_cells` has them."""
    for cells, copy in zip(target, values, strict=True):
        if cells.dtype.kind == "V":  # `put` takes half the time
            np.put(cells, rows, copy, mode="clip")
        else:
            cells[rows] = copy


def _row_items(array: NDArray[Any]) -> NDArray[Any]:
    """Return cells whose elements lie together as one opaque item per row."""
    return items(array.transpose(-1, *range(array.ndim - 1)))


RowsOrSlice: TypeAlias = slice | RowArray
"""Rows of one manager; a slice where they follow each other."""

FoundRows: TypeAlias = slice | NDArray[Any]
"""The same while a join goes on: u32 or intp."""


class QueriedManager(Protocol):
    """What a query needs of a manager."""

    @property
    def data(self) -> Any: ...

    @property
    def version(self) -> int: ...

    def __len__(self) -> int: ...

    def lookup_many(self, entities: ArrayLike, /) -> RowArray: ...


class QueriedEntities(Protocol):
    """What a query needs of the entity manager."""

    @property
    def _deaths(self) -> int: ...

    def alive_many(self, es: ArrayLike, /) -> NDArray[np.bool_]: ...


class QueriedSparseManager(QueriedManager, Protocol):
    """A manager that finds rows through a sparse array."""

    _sparse: NDArray[np.uint32]


class QueryMember:
    """A component of a query, of which an entity has one instance at most."""

    __slots__ = ("manager",)

    def __init__(self, manager: QueriedManager) -> None:
        self.manager = manager

    def owners(self) -> EntityArray:
        """Return the owner of each row: a view, not to be kept."""
        owners: EntityArray = self.manager.data.entity
        return owners

    def candidates(self) -> RowsOrSlice:
        """Return all rows with an owner, ascending, one for each owner."""
        owners = self.owners()
        if len(self.manager) < len(owners):  # there are holes
            return np.flatnonzero(owners)
        return slice(0, len(owners))

    def find(self, entities: EntityArray, all_live: bool) -> FoundRows:
        """Return the row of each entity, NIL where it has none; O(k).

        Where the owners of consecutive rows are these very entities, that is seen in a fifth
        of the time that looking them up takes. `all_live`: neither these entities nor an owner
        of a row is dead.
        """
        owners, count = self.owners(), len(entities)
        if 0 < count <= len(owners):
            first = int(self.manager.lookup_many(entities[:1])[0])
            rows = slice(first, first + count)
            if rows.stop <= len(owners) and _equal(owners[rows], entities):
                return rows
        return self._look_up(entities, all_live)

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        """Return the row of each entity, NIL where it has none; O(k)."""
        return self.manager.lookup_many(entities)


class QuerySparseMember(QueryMember):
    """A component whose manager finds rows through a sparse array."""

    __slots__ = ("_index_mask",)

    manager: QueriedSparseManager

    def __init__(self, manager: QueriedSparseManager, index_mask: int) -> None:
        super().__init__(manager)
        self._index_mask = index_mask

    def _look_up(self, entities: EntityArray, all_live: bool) -> NDArray[Any]:
        """Return the row of each entity, NIL where it has none; O(k).

        Among the living an index belongs to one, so that the row's owner need not be looked at:
        that is the greater part of a lookup, for owners are far from each other.
        """
        rows_of = self.manager._sparse
        if all_live:
            wanted = indices(entities, self._index_mask)
            if int(wanted.max(initial=0)) < len(rows_of):
                return rows_of.take(wanted, mode="clip")
        return self.manager.lookup_many(entities)


class QueryListMember(QueryMember):
    """A component of a query, of which an entity may have several: its first one counts."""

    __slots__ = ()

    def candidates(self) -> RowsOrSlice:
        """Return the first row of each owner, ascending."""
        data, n = self.manager.data, len(self.manager)
        return first_rows(data._next_column[:n], data._previous_column[:n])

    def find(self, entities: EntityArray, all_live: bool) -> FoundRows:
        """Return the first row of each entity, NIL where it has none; O(k)."""
        return self.manager.lookup_many(entities)


class QueryLiving:
    """Which members have no rows of dead entities; known while nobody dies.

    A component is created for the living alone, so what is known stays true until the next death.
    Finding it out takes as long as it spares a join, so it waits for a second one.
    """

    __slots__ = ("_deaths", "_entities", "_found", "_members")

    def __init__(
        self, entities: QueriedEntities, members: tuple[QueryMember, ...]
    ) -> None:
        self._entities = entities
        self._members = members
        self._deaths = -1
        self._found: frozenset[QueryMember] | None = None

    def members(self) -> frozenset[QueryMember]:
        """Return those that are known to have none; O(rows) once between two deaths."""
        deaths = self._entities._deaths
        if deaths != self._deaths:
            self._deaths, self._found = deaths, None
            return frozenset()
        if self._found is None:
            alive_many = self._entities.alive_many
            self._found = frozenset(
                member for member in self._members if alive_many(member.owners()).all()
            )
        return self._found


def _equal(owners: EntityArray, entities: EntityArray) -> bool:
    """Return whether all are equal, which unequal ones in the middle or at the end refute."""
    ends = (
        owners[-1] == entities[-1]
        and owners[len(owners) // 2] == entities[len(owners) // 2]
    )
    return bool(ends) and bool((owners == entities).all())


def added(parts: list[NDArray[Any]], dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return the sum of the blocks' sums as Python numbers, 0 for none; integers wrap."""
    total = np.zeros(shape, dtype)
    for part in parts:
        total = total + part
    return as_cell(total, shape)


def averaged(parts: list[NDArray[Any]], rows: int, shape: tuple[int, ...]) -> Any:
    """Return the sum of the blocks' sums, divided by the number of rows; NaN for none."""
    if rows == 0:
        return nothing(shape)
    return as_cell(np.add.reduce(np.array(parts)) / rows, shape)


def smallest(parts: list[NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Return the smallest of the blocks' smallest; NaN if one is NaN, and for none."""
    return (
        as_cell(np.minimum.reduce(np.array(parts)), shape) if parts else nothing(shape)
    )


def largest(parts: list[NDArray[Any]], shape: tuple[int, ...]) -> Any:
    """Return the largest of the blocks' largest; NaN if one is NaN, and for none."""
    return (
        as_cell(np.maximum.reduce(np.array(parts)), shape) if parts else nothing(shape)
    )


def nothing(shape: tuple[int, ...]) -> Any:
    """Return NaN as a cell of a shape."""
    return nested([nan] * prod(shape), shape) if shape else nan


def as_cell(array: Any, shape: tuple[int, ...]) -> Any:
    """Return a cell as a Python number, or (nested) tuples of them."""
    return nested(np.ravel(array).tolist(), shape) if shape else array.item()


_NO_RESERVE: Final = 0x4000
"""MAP_NORESERVE of Linux, which the mmap module does not name: no swap space is set aside."""


def reserve_pages(row_bytes: int, capacity: int) -> NDArray[np.uint8]:
    """Return a zeroed buffer for `capacity` rows whose pages take no memory until they are touched.

    So on Linux; elsewhere the whole is allocated. CapacityError if the system refuses.
    """
    if sys.platform != "linux":
        return allocate(row_bytes, capacity)
    size = max(PAGE, -(-row_bytes * capacity // PAGE) * PAGE)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE
    try:
        return np.frombuffer(mmap.mmap(-1, size, flags=flags), np.uint8)
    except (OSError, OverflowError) as error:
        raise CapacityError(
            f"no address space for {capacity} rows of {row_bytes} bytes"
        ) from error


def give_back(
    buffer: NDArray[np.uint8], column: Column, capacity: int, rows: int
) -> None:
    """Give the whole pages of a column behind its first `rows` rows back; they are zeros then.

    Where the buffer is an ordinary allocation nothing happens.
    """
    pages = getattr(buffer.base, "obj", None)
    if sys.platform != "linux" or not isinstance(pages, mmap.mmap):
        return
    start = column.offset(capacity)
    first = -(-(start + column.nbytes * rows) // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (start + column.nbytes * capacity) // mmap.PAGESIZE * mmap.PAGESIZE
    if first < end:
        pages.madvise(mmap.MADV_DONTNEED, first, end - first)


def untouched_objects(capacity: int) -> NDArray[np.object_]:
    """Return `capacity` cells of None that take no memory until they are written.

    np.empty writes None into every cell; an array that an iterator allocates for its output is
    left zeroed, which numpy reads as None.
    """
    length = np.broadcast_to(np.int8(0), capacity)
    with np.nditer(
        [length, None],
        flags=["refs_ok", "zerosize_ok"],
        op_flags=[["readonly"], ["writeonly", "allocate"]],
        op_dtypes=[None, np.dtype(np.object_)],
    ) as cells:
        objects: NDArray[np.object_] = cells.operands[1]
    return objects


def beyond_reserve(manager: str, capacity: int) -> CapacityError:
    """Return the error of more rows than are reserved."""
    return CapacityError(f"{manager} is full: {capacity} rows are all that is reserved")


_SHORT: Final = 16
"""Bits of a key that numpy sorts by radix, ten times faster than longer ones."""


def _upwards(parents: Links) -> RowArray:
    """Return the parents with n, a row above all roots and its own parent, instead of NIL."""
    n = len(parents)
    up = np.full(n + 1, n)
    np.minimum(parents, n, out=up[:n], casting="unsafe")
    return up


def depths(parents: Links) -> NDArray[np.int32]:
    """Return the number of ancestors of each row, shape (n,); O(n log depth)."""
    n = len(parents)
    up = _upwards(parents)
    depth = np.zeros(n + 1, np.int32)
    depth[:n] = parents != NIL
    while not (up == n).all():
        depth += depth.take(up)
        up = up.take(up)
    return depth[:n]


def below(parents: Links, rows: RowArray) -> RowArray:
    """Return the rows and all their descendants, ascending; O(n log depth)."""
    n = len(parents)
    up = _upwards(parents)
    marked = np.zeros(n + 1, np.bool_)
    marked[rows] = True
    while not (up == n).all():
        marked |= marked.take(up)
        up = up.take(up)
    return np.flatnonzero(marked)


def own_ancestor(parents: Links, rows: RowArray) -> int:
    """Return a row that is its own ancestor, or NIL; O(n log depth).

    `rows` are those that may have closed a cycle; if they are few and near their roots, O(rows).
    """
    n = len(parents)
    if len(rows) * ROUNDS <= n:
        here = parents[rows]
        for _ in range(ROUNDS):
            here = parents[here[here != NIL]]
            if len(here) == 0:
                return NIL
    up = _upwards(parents)
    for _ in range(n.bit_length()):
        if (up == n).all():
            return NIL
        up = up.take(up)
    circling = up[up != n]  # climbed at least n steps, so these are on a cycle
    return int(circling[0]) if len(circling) else NIL


def is_below(parents: memoryview[Instance], row: int, ancestor: int) -> bool:
    """Return whether `row` is `ancestor` or one of its descendants; O(depth)."""
    while row != NIL and row != ancestor:
        row = parents[row]
    return row == ancestor


class LevelCache:
    """The levels of a hierarchy: found when asked for, kept until the structure changes."""

    __slots__ = ("_found", "_version", "rows")

    def __init__(self) -> None:
        self.rows: RowArray = np.empty(0, np.intp)
        """All rows by depth; the levels are slices of it."""
        self._found: tuple[RowArray, ...] = ()
        self._version = -1

    def levels(self, parents: Links, version: int) -> tuple[RowArray, ...]:
        """Return the rows of each depth, ascending, read-only; O(n log depth) per version."""
        if version != self._version:
            depth = depths(parents)
            self.rows = _by_depth(depth)
            self.rows.flags.writeable = False
            ends = np.cumsum(np.bincount(depth)).tolist() if len(depth) else []
            self._found = tuple(self.rows[a:b] for a, b in pairwise([0, *ends]))
            self._version = version
        return self._found


def _by_depth(depth: NDArray[np.int32]) -> RowArray:
    """Return the rows in order of depth, then of row: a radix sort, 16 bits at a time."""
    order = np.argsort(depth.astype(np.uint16), kind="stable")
    upper = depth >> _SHORT
    if upper.any():
        order = order[np.argsort(upper.astype(np.uint16)[order], kind="stable")]
    return order


class ChunkParts(dict[int, Any]):
    """The columns of a chunk by component number, made when they are first asked for."""

    __slots__ = ("_columns", "_layout", "_rows")

    def __init__(
        self, layout: ChunkLayout, rows: RowCount, columns: Sequence[NDArray[Any]]
    ) -> None:
        self._layout = layout
        self._rows = rows
        self._columns = columns

    def __missing__(self, component: int) -> ChunkColumns:
        part = self._layout.components.get(component)
        if part is None:
            names = (part._ROW.__name__ for part in self._layout.components.values())
            raise AttributeError(f"the rows of this chunk have {', '.join(names)}")
        start = self._layout.starts[component]
        found = part(self._rows, self._columns[start : start + len(part.LAYOUT)])
        self[component] = found
        return found


class ChunkBase:
    """One buffer with rows of one archetype; the generated class adds the components.

    Its rows, and views of them, are good until the next structural change.
    """

    __slots__ = (
        "_address",
        "_buffer",
        "_cells",
        "_columns",
        "_items",
        "_layout",
        "_parts",
        "_rows",
    )

    def __init__(self, layout: ChunkLayout, buffer: NDArray[np.uint8]) -> None:
        self._layout = layout
        self._buffer = buffer
        self._address = int(buffer.__array_interface__["data"][0])
        self._rows = RowCount()
        capacity = layout.capacity
        columns = [_cut_chunk(buffer, place, capacity) for place in layout.places]
        self._columns: list[NDArray[Any]] = columns
        # `_items` for many rows, `_cells` for one: the fastest way to copy a cell as it is.
        self._items: list[NDArray[Any]] = [
            items(column) if column.ndim > 1 else column for column in columns
        ]
        self._cells: list[Any] = [
            item if item.dtype.kind in "SVO" else cells(item) for item in self._items
        ]
        self._parts = ChunkParts(layout, self._rows, columns)

    def __len__(self) -> int:
        """Return the number of rows; O(1)."""
        return self._rows.n

    @property
    def n(self) -> int:
        """Rows in use."""
        return self._rows.n

    @property
    def capacity(self) -> int:
        """Rows that fit into the chunk."""
        return self._layout.capacity

    @property
    def buffer(self) -> NDArray[np.uint8]:
        """The one buffer that all columns but objects are cut from."""
        return self._buffer

    @property
    def entity(self) -> EntityArray:
        """The owner of each row, shape (n,); read-only."""
        column = self._columns[0][: self._rows.n]
        column.flags.writeable = False
        return column

    @property
    def components(self) -> tuple[type[tuple[Any, ...]], ...]:
        """The row classes of the components that each row has."""
        return tuple(part._ROW for part in self._layout.components.values())

    def has(self, component: type[tuple[Any, ...]], /) -> bool:
        """Return whether the rows have a component, given by its row class."""
        return component in self.components


def _cut_chunk(
    buffer: NDArray[np.uint8], place: ChunkPlace, capacity: int
) -> NDArray[Any]:
    column = place.column
    if place.offset < 0:
        return np.full(capacity, None, np.object_)
    shape = (capacity, *column.shape)
    return np.ndarray(shape, column.dtype, buffer, place.offset)


class ChunkPool:
    """Makes the chunks of all archetypes, and keeps those that became empty for any of them."""

    __slots__ = ("_free", "_kind", "_size", "_taken")

    def __init__(self, kind: type[ChunkBase], size: int) -> None:
        self._kind = kind
        self._size = size
        self._free: list[ChunkBase] = []
        self._taken = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all chunks, the empty ones included."""
        return self._size * (self._taken + len(self._free))

    def take(self, layout: ChunkLayout) -> Any:
        """Return an empty chunk: an old one of this archetype or of another, or a new one."""
        if self._free:
            chunk = self._free.pop()
            if chunk._layout is not layout:
                chunk = self._kind(layout, chunk._buffer)
        else:
            chunk = self._kind(layout, _chunk_buffer(self._size))
        self._taken += 1
        return chunk

    def give(self, chunk: ChunkBase) -> None:
        """Take an empty chunk back."""
        self._taken -= 1
        self._free.append(chunk)

    def clear(self) -> None:
        """Give the memory of empty chunks back to the system."""
        self._free.clear()


def _chunk_buffer(size: int) -> NDArray[np.uint8]:
    """Return a buffer that starts on a cache line; its bytes are whatever they are."""
    raw = np.empty(size + CACHE_LINE, np.uint8)
    start = -int(raw.__array_interface__["data"][0]) % CACHE_LINE
    return raw[start : start + size]


_MANY: Final = 16
"""For more than one row in 16 a pass over all rows is cheaper than following links."""


class FamilyLinks(NamedTuple):
    """The four link columns of a hierarchy, uncut: rows may move behind the last one in use."""

    parents: Links
    first: Links
    """First children."""
    nexts: Links
    previous: Links


def parent_numbers(parents: ArrayLike, manager: str) -> NDArray[Any]:
    """Return `parents`, one for all or one per row, as integers; TypeError for others."""
    if np.ndim(parents) == 0:
        number = index(cast(SupportsIndex, parents))
        return np.array(number if 0 <= number <= NIL else -1)
    given = integers(parents, manager, "parents")
    if given.dtype == np.bool_:
        raise TypeError(f"{manager}: parents are rows, not a mask")
    return given


def parents_given(given: NDArray[Any], count: int, n: int, manager: str) -> RowArray:
    """Return the numbers (one for all, or one per row; NIL for none) as `count` rows; O(count).

    Raises:
        ValueError: their number is not `count`.
        StaleInstanceError: one of them is neither NIL nor a row in use.
    """
    if given.ndim and len(given) != count:
        raise ValueError(f"{manager}: {len(given)} parents for {count} rows")
    wrong = ((given < 0) | (given >= n)) & (given != NIL)
    if wrong.any():
        raise unused(int(given.flat[wrong.argmax()]), n, manager)
    return np.broadcast_to(given.astype(np.intp, copy=False), count)


def closed_circle(links: FamilyLinks, rows: RowArray, parents: RowArray, n: int) -> int:
    """Return a row that would be its own ancestor if `rows` had these parents, or NIL.

    O(rows * depth), at most O(n log depth). The parents are tried and put back: a copy of the
    column would cost O(n) each time.
    """
    column = links.parents[:n]
    before = column[rows]
    column[rows] = parents
    try:
        return own_ancestor(column, rows)
    finally:
        column[rows] = before


def circular(manager: str, row: int) -> HierarchyError:
    """Return the error of a row that would get itself or a descendant as its parent."""
    return HierarchyError(f"{manager}: row {row} would become its own ancestor")


def set_parents(links: FamilyLinks, rows: RowArray, parents: RowArray) -> None:
    """Take rows out of their parents' chains and append them to others, in the order given."""
    leave_parents(links, np.sort(rows[links.parents[rows] != NIL]))
    rooted = parents == NIL
    make_roots(links, rows[rooted])
    links.parents[rows] = parents
    rows, parents = rows[~rooted], parents[~rooted]
    if len(rows) == 0:
        return
    first, last, owners = link(links.nexts, links.previous, parents, rows)
    heads = links.first[owners].astype(np.intp)
    new, old = heads == NIL, heads != NIL
    links.first[owners[new]] = first[new]
    join(links.nexts, links.previous, heads[old], first[old], last[old])


def make_roots(links: FamilyLinks, rows: RowArray) -> None:
    """Make each of the rows a root, whatever its links were."""
    links.parents[rows] = NIL
    links.nexts[rows] = NIL
    links.previous[rows] = rows


def leave_parents(links: FamilyLinks, gone: RowArray) -> None:
    """Take ascending rows, none of them a root, out of their parents' chains."""
    if len(gone) == 0:
        return
    owners = np.unique(links.parents[gone]).astype(np.intp)
    heads = links.first[owners].astype(np.intp)
    links.first[owners], _ = unlink(links.nexts, links.previous, heads, gone)


def leave_family(links: FamilyLinks, gone: RowArray, n: int) -> None:
    """Take ascending rows that go out of the chains of the parents that stay."""
    parents = links.parents[gone]
    staying = (parents != NIL) & ~_among(parents, gone, n)
    leave_parents(links, gone[staying])


def children_of(links: FamilyLinks, rows: RowArray, n: int) -> RowArray:
    """Return all children of ascending rows, ascending; O(children), at most O(n)."""
    parents = links.parents[:n]
    if len(rows) * _MANY > n:
        return np.flatnonzero(_among(parents, rows, n))
    return chain_rows(links.nexts, parents, rows, links.first[rows].astype(np.intp))


def with_descendants(links: FamilyLinks, rows: RowArray, n: int) -> RowArray:
    """Return ascending rows and all their descendants, ascending.

    O(descendants) as long as 64 steps along first children and next siblings reach them all, else
    O(n log depth).
    """
    here = links.first[rows]
    here = here[here != NIL]
    if len(here) == 0:
        return rows
    if len(rows) * _MANY > n:
        return below(links.parents[:n], rows)
    found = [rows]
    for _ in range(ROUNDS):
        # a row that is in `rows` itself has sent its children already
        new = here[~_among(here, rows, n)].astype(np.intp)
        found.append(new)
        here = np.concatenate((links.nexts[here], links.first[new]))
        here = here[here != NIL]
        if len(here) == 0:
            return np.sort(np.concatenate(found))
    return below(links.parents[:n], rows)


def remap_family(links: FamilyLinks, src: RowArray, dst: RowArray, n: int) -> None:
    """Mend parents, children and siblings after rows src[k] of n were copied to dst[k]."""
    remap = Remap(src, dst, n)
    firsts = mend_links(links.nexts, links.previous, dst, remap)
    links.first[dst] = remap(links.first[dst])
    _remap_parents(links, dst, remap, n)
    owners = links.parents[firsts]
    owned = owners != NIL
    links.first[owners[owned]] = firsts[owned]
    owners = links.parents[dst]
    lasts = (owners != NIL) & (links.nexts[dst] == NIL)
    links.previous[links.first[owners[lasts]]] = dst[lasts]


def _remap_parents(links: FamilyLinks, dst: RowArray, remap: Remap, n: int) -> None:
    """Tell moved rows where their parents are now, and moved rows' children where they are."""
    own = remap(links.parents[dst])
    found = _children_with_parents(links, dst) if len(dst) * _MANY <= n else None
    if found is None:
        links.parents[:n] = remap(links.parents[:n])
        links.parents[dst] = own
        return
    links.parents[dst] = own
    children, parents = found
    links.parents[children] = parents


def _children_with_parents(
    links: FamilyLinks, rows: RowArray
) -> tuple[NDArray[Any], RowArray] | None:
    """Return the children of rows and the parent of each, or None if a chain is long."""
    here, owners = links.first[rows], rows
    children, parents = [], []
    for _ in range(ROUNDS):
        more = here != NIL
        here, owners = here[more], owners[more]
        if len(here) == 0:
            break
        children.append(here)
        parents.append(owners)
        here = links.nexts[here]
    else:
        return None
    if not children:
        return np.empty(0, np.intp), np.empty(0, np.intp)
    return np.concatenate(children), np.concatenate(parents)


def _among(rows: NDArray[Any], ascending: RowArray, n: int) -> NDArray[np.bool_]:
    """Return which of `rows` (NIL is none) are in `ascending`, rows below n."""
    if (len(rows) + len(ascending)) * _MANY > n:
        mask = np.zeros(n + 1, np.bool_)
        mask[ascending] = True
        return mask.take(rows, mode="clip")
    place = np.minimum(np.searchsorted(ascending, rows), len(ascending) - 1)
    found: NDArray[np.bool_] = ascending[place] == rows
    return found


class QueryBlock:
    """The entities of a block that fulfil the conditions so far, and their rows by member."""

    __slots__ = ("_entities", "_kept", "_live", "count", "rows")

    def __init__(
        self,
        entities: EntityArray,
        rows: dict[int, FoundRows],
        live: frozenset[QueryMember] = frozenset(),
    ) -> None:
        self._entities = entities
        self._kept: RowArray | None = None
        self.count = len(entities)
        self.rows = rows
        self._live = live
        """Members none of whose rows' owners is dead; only if no candidate is dead either."""

    @property
    def entities(self) -> EntityArray:
        """Those that are left, put together when somebody asks."""
        if self._kept is not None:
            self._entities, self._kept = self._entities.take(self._kept), None
        return self._entities

    def find(self, member: QueryMember) -> FoundRows:
        """Return the row of each entity, NIL where it has none."""
        return member.find(self.entities, member in self._live)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Drop the entities that are not to be kept."""
        if kept.all():
            return
        places = np.flatnonzero(
            kept
        )  # a mask takes ten times as long where it is random
        self._kept = places if self._kept is None else self._kept.take(places)
        self.count = len(places)
        for place, rows in self.rows.items():
            if isinstance(rows, slice):
                self.rows[place] = places + rows.start
            else:
                self.rows[place] = rows.take(places)

    def require(self, place: int, member: QueryMember) -> None:
        """Keep those that have a component, and their rows."""
        rows = self.rows[place] = self.find(member)
        if not isinstance(rows, slice):
            self.keep(rows != NIL)

    def keep_any(self, members: tuple[QueryMember, ...]) -> None:
        """Keep those that have one component at least."""
        kept = np.zeros(self.count, np.bool_)
        for member in members:
            rows = self.find(member)
            kept |= True if isinstance(rows, slice) else rows != NIL
        self.keep(kept)

    def drop(self, member: QueryMember) -> None:
        """Keep those that have not a component."""
        rows = self.find(member)
        none = np.zeros(self.count, np.bool_)
        self.keep(none if isinstance(rows, slice) else rows == NIL)


_SAMPLES: Final = 16
_SAMPLE: Final = 256
"""Rows that follow each other in a sample of many."""

_NEAR: Final = 1 << 20
"""Bytes that a processor reads in any order without waiting long."""

_CROWDED: Final = 4
"""Among more than four times as many, rows are not put in order: finding them takes too long."""

_PLAIN: Final = (1, 2, 4, 8, 16, 32)
"""Sizes of cells that numpy copies without a call: many of them are on their way at once."""

_STEP: Final = 16_384
"""Cells that are on their way from order to order: a core's own cache holds them."""


class RowOrder(NamedTuple):
    """Rows that ascend, and the place of each in a result that has another order."""

    rows: RowsOrSlice
    places: RowArray

    def gather(self, cells: NDArray[Any], out: NDArray[Any]) -> None:
        """Copy the rows' cells to their places; both arrays of one item per row.

        A processor waits for what it reads, but not for what it writes: reading in the order of
        memory takes half the time of reading in that of the places.
        """
        if isinstance(self.rows, slice):
            np.put(out, self.places, cells[self.rows], mode="clip")
            return
        for start in range(0, len(self.places), _STEP):
            part = slice(start, start + _STEP)
            np.put(out, self.places[part], cells.take(self.rows[part]), mode="clip")


class QueryRows:
    """The rows of one member in the result of a join, in its order."""

    __slots__ = ("_is_ordered", "_order", "has_nil", "rows")

    def __init__(self, rows: RowsOrSlice, has_nil: bool) -> None:
        self.rows = rows
        self.has_nil = has_nil
        """Whether it is NIL for some entities, as an optional component's may be."""
        self._order: RowOrder | None = None
        self._is_ordered = has_nil

    def gather(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return the cells of these rows, a copy; O(k)."""
        order = self.order(column.strides[0])
        rows = as_array(self.rows)
        if order is None:
            return column.take(rows, axis=0)
        cells = np.empty((len(rows), *column.shape[1:]), column.dtype)
        order.gather(items(column), items(cells))
        return cells

    def order(self, nbytes: int) -> RowOrder | None:
        """Return in which order cells of so many bytes are gathered, if not in that of the rows.

        That is where they are strewn over more than a processor has near.
        """
        rows = self.rows
        if isinstance(rows, slice) or nbytes in _PLAIN or len(rows) * nbytes < _NEAR:
            return None
        if not self._is_ordered:
            self._is_ordered = True
            self._order = _in_order(rows) if is_strewn(rows) else None
        return self._order


def is_strewn(rows: RowArray) -> bool:
    """Return whether rows go up and down, judged by a sample: in no order half the steps go down,
    and where fewer than a third do, nothing is won by going about it in another order.
    """
    rows = sample_rows(rows)
    down = int(np.count_nonzero(rows[1:] < rows[:-1]))
    return down * 3 > len(rows)


def sample_rows(rows: RowsOrSlice) -> RowArray:
    """Return all rows if they are few, otherwise neighbours from places all over them."""
    count = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
    if count <= _SAMPLES * _SAMPLE:
        return as_array(rows)
    starts = range(0, count - _SAMPLE, count // _SAMPLES)
    if isinstance(rows, slice):
        first: int = rows.start
        spans = [np.arange(first + k, first + k + _SAMPLE) for k in starts]
    else:
        spans = [rows[k : k + _SAMPLE] for k in starts]
    return np.concatenate(spans)


def row_blocks(rows: RowsOrSlice, size: int) -> Iterator[RowsOrSlice]:
    """Yield the rows, some at a time."""
    if isinstance(rows, slice):
        for start in range(rows.start, rows.stop, size):
            yield slice(start, min(start + size, rows.stop))
    else:
        for start in range(0, len(rows), size):
            yield rows[start : start + size]


def has_nil(rows: RowsOrSlice) -> bool:
    """Return whether some entity has no row."""
    return not isinstance(rows, slice) and bool((rows == NIL).any())


def as_array(rows: RowsOrSlice) -> RowArray:
    """Return rows as an array."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def merged_rows(pieces: list[FoundRows]) -> RowsOrSlice:
    """Return pieces of rows one behind the other, as a slice where all follow each other."""
    if not pieces:
        return slice(0, 0)
    spans = [piece for piece in pieces if isinstance(piece, slice)]
    follows = all(one.stop == next_.start for one, next_ in pairwise(spans))
    if len(spans) == len(pieces) and follows:
        return slice(spans[0].start, spans[-1].stop)
    arrays = [as_array(piece) for piece in pieces]
    return _as_slice(np.concatenate(arrays, dtype=np.intp))


def _as_slice(rows: RowArray) -> RowsOrSlice:
    """Return rows that follow each other as a slice, others as they are."""
    if len(rows) == 0 or rows[0] == NIL:
        return rows
    first, end = int(rows[0]), int(rows[-1]) + 1
    if end - first == len(rows) and np.array_equal(rows, np.arange(first, end)):
        return slice(first, end)
    return rows


def _in_order(rows: RowArray) -> RowOrder | None:
    """Return distinct rows in order; None if they are few among many."""
    first, count = int(rows.min()), len(rows)
    span = int(rows.max()) + 1 - first
    if span > _CROWDED * count:
        return None
    place = np.full(span, NIL, np.uint32)
    place[rows - first] = np.arange(count, dtype=np.uint32)
    if span == count:
        return RowOrder(slice(first, first + count), place.astype(np.intp))
    used = np.flatnonzero(place != NIL)
    return RowOrder(used + first, place.take(used).astype(np.intp))


ChunkRun = tuple[Any, slice | RowArray, slice]
"""A chunk, some of its rows, and their part of the whole."""


class ArchetypeEdge:
    """The way to the archetype with one component more or less."""

    __slots__ = ("archetype", "shared")

    def __init__(self, archetype: int, shared: tuple[tuple[int, int], ...]) -> None:
        self.archetype = archetype
        self.shared = shared
        """The columns that both have: which of the one, which of the other."""


class Archetype:
    """All rows of one signature; row k of chunk c is position `c * capacity + k`."""

    __slots__ = ("_pool", "capacity", "chunks", "edges", "layout", "n")

    def __init__(self, layout: ChunkLayout, pool: ChunkPool) -> None:
        self._pool = pool
        self.layout = layout
        self.capacity = layout.capacity
        self.n = 0
        self.chunks: list[Any] = []
        self.edges: dict[int, ArchetypeEdge] = {}

    def has(self, component: int) -> bool:
        """Whether the rows have a component."""
        return bool(self.layout.bits >> component & 1)

    def used(self) -> list[Any]:
        """The chunks that have rows."""
        return self.chunks[: -(-self.n // self.capacity)]

    def reserve(self, rows: int) -> None:
        """Have chunks for so many rows in all: all that can fail in what comes then."""
        if rows >= NIL:
            raise CapacityError(f"{rows} rows are more than an archetype can number")
        while len(self.chunks) * self.capacity < rows:
            self.chunks.append(self._pool.take(self.layout))

    def trim(self) -> None:
        """Give back the chunks without rows."""
        kept = -(-self.n // self.capacity)
        while len(self.chunks) > kept:
            self._pool.give(self.chunks.pop())

    # --- one row -----------------------------------------------------------------------

    def at(self, position: int) -> tuple[ChunkBase, int]:
        """Return a position's chunk and row; O(1)."""
        number, row = divmod(position, self.capacity)
        return self.chunks[number], row

    def push(self, entity: int) -> tuple[ChunkBase, int]:
        """Append a row, which only has its owner yet, to chunks with room for it; O(1)."""
        number, row = divmod(self.n, self.capacity)
        chunk: ChunkBase = self.chunks[number]
        chunk._cells[0][row] = entity
        chunk._rows.n = row + 1
        self.n += 1
        return chunk, row

    def pull(self, position: int) -> int:
        """Remove a row and return whose row moved there from the end, or 0; O(columns)."""
        last = self.n - 1
        chunk, row = self.at(last)
        moved = 0
        if position != last:
            hole, place = self.at(position)
            for source, target in zip(chunk._cells, hole._cells, strict=True):
                target[place] = source[row]
            moved = hole._cells[0][place]
        for column in self.layout.objects:
            chunk._columns[column][row] = None
        chunk._rows.n = row
        self.n = last
        if row == 0:
            self.trim()
        return moved

    # --- many rows ---------------------------------------------------------------------

    def extend(self, entities: EntityArray) -> RowArray:
        """Append a row for each entity and return the positions; only the owners are written."""
        start, end = self.n, self.n + len(entities)
        for chunk, rows, part in self._spans(start, end):
            chunk._columns[0][rows] = entities[part]
            chunk._rows.n = rows.stop
        self.n = end
        return np.arange(start, end)

    def write(self, column: int, start: int, values: NDArray[Any]) -> None:
        """Fill a column from a position on: with one value per row, or with the same for all."""
        count = self.n - start
        each = values.ndim > len(self.layout.places[column].column.shape)
        each = each and len(values) == count
        for chunk, rows, part in self._spans(start, self.n):
            given = values[part] if each else values
            if chunk._columns[column].ndim > 1:
                put_cells(chunk._columns[column], chunk._items[column], rows, given)
            else:
                chunk._columns[column][rows] = given

    def take(self, column: int, count: int, runs: list[ChunkRun]) -> NDArray[Any]:
        """Return the cells of `count` rows, one item each; O(k)."""
        items = np.empty(count, self.layout.places[column].item)
        for chunk, rows, part in runs:
            if isinstance(rows, slice):
                items[part] = chunk._items[column][rows]
            else:
                chunk._items[column].take(rows, out=items[part], mode="clip")
        return items

    def paste(self, column: int, start: int, items: NDArray[Any]) -> None:
        """Fill a column from a position on with items of another archetype's."""
        for chunk, rows, part in self._spans(start, self.n):
            chunk._items[column][rows] = items[part]

    def cut_out(self, gone: RowArray) -> tuple[EntityArray, RowArray]:
        """Remove the rows at ascending positions; return whose rows moved, and where to; O(k).

        The last rows move into the holes, ascending into ascending.
        """
        kept = self.n - len(gone)
        src, dst = fill(gone, self.n)
        sources, targets = self.runs(src), self.runs(dst)
        moved = np.empty(0, np.uint64)
        for column in range(len(self.layout.places) if len(src) else 0):
            items = self.take(column, len(src), sources)
            for chunk, rows, part in targets:
                chunk._items[column][rows] = items[part]
            if column == 0:
                moved = items
        for chunk, rows, _ in self._spans(kept, self.n):
            for column in self.layout.objects:
                chunk._columns[column][rows] = None
            chunk._rows.n = rows.start
        self.n = kept
        self.trim()
        return moved, dst

    def whole(self, column: int) -> NDArray[Any]:
        """Return a copy of a column of all rows, shape (n, *shape)."""
        place = self.layout.places[column].column
        cells = np.empty((self.n, *place.shape), place.dtype)
        for chunk, rows, part in self._spans(0, self.n):
            cells[part] = chunk._columns[column][rows]
        return cells

    def _spans(self, start: int, end: int) -> Iterator[tuple[Any, slice, slice]]:
        """Yield (chunk, its rows, their part of the whole) for the positions from start to end."""
        position = start
        while position < end:
            number, row = divmod(position, self.capacity)
            count = min(self.capacity - row, end - position)
            part = slice(position - start, position - start + count)
            yield self.chunks[number], slice(row, row + count), part
            position += count

    def runs(self, positions: RowArray) -> list[ChunkRun]:
        """Return ascending positions chunk by chunk."""
        if len(positions) == 0:
            return []
        first, last = (int(positions[k]) // self.capacity for k in (0, -1))
        starts = np.arange(first, last + 2) * self.capacity
        bounds = np.searchsorted(positions, starts)
        found: list[ChunkRun] = []
        for k in np.flatnonzero(bounds[1:] > bounds[:-1]).tolist():
            part = slice(int(bounds[k]), int(bounds[k + 1]))
            rows = positions[part] - int(starts[k])
            low, high = int(rows[0]), int(rows[-1]) + 1
            dense = high - low == len(rows)
            found.append(
                (self.chunks[first + k], slice(low, high) if dense else rows, part)
            )
        return found


class JoinedColumn(NamedTuple):
    """One field of a kernel: its column, rows last, and the rows of the entities in it."""

    cells: NDArray[Any]
    rows: slice | QueryRows
    is_read: bool
    is_written: bool

    @property
    def memory(self) -> Cells:
        """What the cells of a block are gathered in: laid out as the column is."""
        together = self.cells.strides[-1] != self.cells.itemsize
        return self.cells.dtype.str, self.cells.shape[:-1], together

    @property
    def numbers(self) -> RowsOrSlice:
        """The rows themselves."""
        return self.rows.rows if isinstance(self.rows, QueryRows) else self.rows

    @property
    def order(self) -> RowOrder | None:
        """In which order all cells are gathered at once, where that is faster."""
        if isinstance(self.rows, slice) or not self.is_read:
            return None
        return self.rows.order(row_cells(self.cells)[0].itemsize)


class JoinedHolder(Protocol):
    """The columns of a manager, which know what must go when their buffer does."""

    _joined: dict[str, JoinedBlocks]


class JoinedBlocks:
    """Views of several managers' columns and working memory, block after block; kept.

    Good until one of the buffers moves, or the stamp (how many entities, or which match of
    a query) changes. Rows that follow each other are a view. Others are gathered as a block
    is asked for, or all of them at first where that is faster, and scattered when the next
    one is asked for, if they are written.
    """

    __slots__ = ("_moves", "_ordered", "_strewn", "_views", "nbytes", "stamp")

    def __init__(
        self,
        stamp: object,
        n: int,
        columns: Sequence[JoinedColumn],
        working: Sequence[Cells],
    ) -> None:
        self.stamp = stamp
        each = [*(column.memory for column in columns), *working]
        row_bytes = sum(cells_bytes(shape, dtype) for dtype, shape, _ in each)
        size = min(n, block_rows(row_bytes))
        scratch = [working_memory(cells, size) for cells in working]
        parts = [_Part(column, n, size) for column in columns]
        self.nbytes = sum(array.nbytes for array in scratch)
        """Bytes that are held beside the columns; of what several keep, the share of one."""
        self.nbytes += sum(part.nbytes for part in parts)
        self._ordered = [part for part in parts if part.order is not None]
        self._views: list[tuple[NDArray[Any], ...]] = []
        self._strewn: list[list[_Strewn]] = []
        for start in range(0, n, size or 1):
            rows = slice(start, min(start + size, n))
            count = rows.stop - start
            memory = (array[..., :count] for array in scratch)
            self._views.append((*(part.view(rows) for part in parts), *memory))
            strewn = [part.strewn(rows) for part in parts]
            self._strewn.append([each for each in strewn if each is not None])
        self._moves = bool(self._ordered) or any(self._strewn)

    def keep(self, name: str, holders: Sequence[JoinedHolder]) -> JoinedBlocks:
        """Let all whose columns these are know them by the kernel's name."""
        self.nbytes = -(-self.nbytes // len(holders))
        for holder in holders:
            holder._joined[name] = self
        return self

    def drop(self) -> None:
        """Let go of all views: a buffer is about to go."""
        self.stamp = None
        self.nbytes = 0
        self._moves = False
        self._ordered = []
        self._views = []
        self._strewn = []

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Iterate over the blocks."""
        return self._moving() if self._moves else iter(self._views)

    def _moving(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Yield blocks of which some columns are gathered, and scattered."""
        for part in self._ordered:
            part.gather()
        for views, strewn in zip(self._views, self._strewn, strict=True):
            for each in strewn:
                each.gather()
            yield views
            for each in strewn:
                each.scatter()


class _Part:
    """A column of a kernel: its own cells where rows follow each other, otherwise copies."""

    __slots__ = ("_cells", "_column", "_is_whole", "nbytes", "order")

    def __init__(self, column: JoinedColumn, n: int, size: int) -> None:
        self._column = column
        self.order = column.order
        self._is_whole = self.order is not None or isinstance(column.numbers, slice)
        if isinstance(column.numbers, slice):
            self._cells = column.cells[..., column.numbers]
            self.nbytes = 0
        else:
            self._cells = working_memory(column.memory, n if self._is_whole else size)
            self.nbytes = self._cells.nbytes

    def gather(self) -> None:
        """Copy the cells of all entities, in the order that is fast."""
        if self.order is not None:
            cells, copy = row_cells(self._column.cells), row_cells(self._cells)
            self.order.gather(cells[0], copy[0])

    def view(self, entities: slice) -> NDArray[Any]:
        """Return the cells of some entities."""
        if self._is_whole:
            return self._cells[..., entities]
        return self._cells[..., : entities.stop - entities.start]

    def strewn(self, entities: slice) -> _Strewn | None:
        """Return what is to be copied for a block of some entities."""
        column, rows = self._column, self._column.numbers
        if isinstance(rows, slice):
            return None
        is_read = column.is_read and self.order is None
        if not (is_read or column.is_written):
            return None
        column = column._replace(is_read=is_read)
        return _Strewn(column, rows[entities], self.view(entities))


class _Strewn:
    """Cells of a block that are copies of strewn rows."""

    __slots__ = ("_cells", "_column", "_copy", "_rows")

    def __init__(
        self, column: JoinedColumn, rows: RowArray, copy: NDArray[Any]
    ) -> None:
        self._column = column
        self._rows = rows
        self._cells = row_cells(column.cells)
        self._copy = row_cells(copy)

    def gather(self) -> None:
        """Copy the rows into the block, if the kernel reads what was there."""
        if self._column.is_read:
            take_rows(self._cells, self._rows, self._copy)

    def scatter(self) -> None:
        """Copy the block over the rows, if the kernel writes them."""
        if self._column.is_written:
            put_rows(self._cells, self._rows, self._copy)


class QueryMatch:
    """The entities that fulfil the conditions, and their rows by member."""

    __slots__ = ("_numbers", "count", "entities", "members", "rows", "walked")

    def __init__(
        self,
        count: int,
        walked: int,
        members: list[QueryRows],
        entities: EntityArray | None,
    ) -> None:
        self.count = count
        self.walked = walked
        """The required member whose rows ascend."""
        self.members = members
        self.rows: list[RowsOrSlice] = [member.rows for member in members]
        self.entities = entities
        """Only where no component is required: otherwise they are the owners of rows."""
        self._numbers: dict[int, RowArray] = {}

    def numbers(self, place: int) -> RowArray:
        """Return a member's rows; the first alone where they follow each other; O(1).

        Always read-only, so that compiled code has them in one type.
        """
        found = self._numbers.get(place)
        if found is None:
            rows = self.rows[place]
            first = np.array([rows.start], np.intp) if isinstance(rows, slice) else rows
            found = self._numbers[place] = np.ascontiguousarray(first).view()
            found.flags.writeable = False
        return found


NewColumns = Mapping[int, Sequence[NDArray[Any]]]
"""By component: an array for each of its columns."""

ROOT_ARCHETYPE = 0
"""The archetype of entities without components, which has no rows."""


class ArchetypeTable:
    """Rows in chunks, found by entity. What can fail in a change comes before its first write."""

    __slots__ = ("_by_bits", "_found", "archetypes", "parts", "places", "pool", "size")

    def __init__(
        self,
        kind: type[ChunkBase],
        parts: Sequence[type[ChunkColumns]],
        size: int,
        index_mask: int,
    ) -> None:
        self.parts = parts
        self.size = size
        self.pool = ChunkPool(kind, size)
        self.places = EntityPlaces(index_mask)
        self.archetypes: list[Archetype] = []
        self._by_bits: dict[int, int] = {}
        self._found: dict[tuple[int, int, int], list[Archetype]] = {}
        self.number(0)

    # --- archetypes --------------------------------------------------------------------

    def number(self, bits: int) -> int:
        """Return the number of the archetype of some components, a new one if need be."""
        found = self._by_bits.get(bits)
        if found is None:
            found = len(self.archetypes)
            layout = ChunkLayout(bits, self.parts, self.size)
            self.archetypes.append(Archetype(layout, self.pool))
            self._by_bits[bits] = found
            self._found.clear()
        return found

    def edge(self, archetype: Archetype, component: int) -> ArchetypeEdge:
        """Return the way to the archetype with a component more, or less if it is there."""
        found = archetype.edges.get(component)
        if found is None:
            number = self.number(archetype.layout.bits ^ 1 << component)
            here, there = archetype.layout, self.archetypes[number].layout
            shared = [
                (here.starts[other] + k, there.starts[other] + k)
                for other, part in here.components.items()
                if other in there.starts
                for k in range(len(part.LAYOUT))
            ]
            found = archetype.edges[component] = ArchetypeEdge(number, tuple(shared))
        return found

    def matching(self, all: int, any: int, none: int) -> list[Archetype]:
        """Return the archetypes with all components, any of them and none of them."""
        found = self._found.get((all, any, none))
        if found is None:
            found = self._found[all, any, none] = [
                archetype
                for archetype in self.archetypes
                if archetype.layout.bits & all == all
                and (not any or archetype.layout.bits & any)
                and not archetype.layout.bits & none
            ]
        return found

    def of(self, entity: int) -> tuple[Archetype, int]:
        """Return the archetype and position of an entity; the root if it has no row."""
        place = self.places.get(entity)
        if place == NOWHERE:
            return self.archetypes[ROOT_ARCHETYPE], 0
        return self.archetypes[place >> POSITION_BITS], place & POSITION_MASK

    def having(self, places: NDArray[np.uint64], component: int) -> NDArray[np.bool_]:
        """Return at which of k places rows have a component; O(k)."""
        flags = np.fromiter(
            (archetype.has(component) for archetype in self.archetypes), np.bool_
        )
        numbers = (places >> np.uint64(POSITION_BITS)).view(np.intp)
        numbers[places == np.uint64(NOWHERE)] = ROOT_ARCHETYPE
        having: NDArray[np.bool_] = flags[numbers]
        return having

    # --- one entity --------------------------------------------------------------------

    def toggle(self, entity: int, component: int) -> tuple[ChunkBase, int] | None:
        """Move a row to the archetype with a component more, or less; O(columns).

        Returns its chunk and row, where the new component's cells are still to be written, or None
        if no component is left.
        """
        source, position = self.of(entity)
        edge = self.edge(source, component)
        target = self.archetypes[edge.archetype]
        if edge.archetype == ROOT_ARCHETYPE:
            self.drop(entity)
            return None
        self._admit(entity)
        target.reserve(target.n + 1)
        place = edge.archetype << POSITION_BITS | target.n
        chunk, row = target.push(entity)
        if source.layout.bits:
            old, at = source.at(position)
            for here, there in edge.shared:
                chunk._cells[there][row] = old._cells[here][at]
            self._pull(source, position)
        self.places.set(entity, place)
        return chunk, row

    def drop(self, entity: int) -> bool:
        """Remove an entity's row, if it has one; O(columns)."""
        place = self.places.get(entity)
        if place == NOWHERE:
            return False
        archetype = self.archetypes[place >> POSITION_BITS]
        self._pull(archetype, place & POSITION_MASK)
        self.places.forget(entity)
        return True

    def _pull(self, archetype: Archetype, position: int) -> None:
        moved_from = archetype.n - 1
        moved = archetype.pull(position)
        if moved:
            place = self.places.get(moved)
            self.places.set(moved, place - moved_from + position)

    def _admit(self, entity: int) -> None:
        """Let an entity have a row: a dead one of the same index loses its own."""
        other = self.places.cover(entity)
        if other and other != entity:
            self.drop(other)

    # --- many entities -----------------------------------------------------------------

    def append(self, bits: int, entities: EntityArray, columns: NewColumns) -> None:
        """Give entities without rows one each, of some components; O(k)."""
        if bits and len(entities):
            number = self.number(bits)
            self.make_room(bits, entities)
            self._append(number, entities, columns)

    def make_room(self, bits: int, entities: EntityArray) -> None:
        """Have chunks and places for new rows of entities: what can fail in `append`."""
        archetype = self.archetypes[self.number(bits)]
        self._admit_many(entities)
        archetype.reserve(archetype.n + len(entities))

    def _append(self, number: int, entities: EntityArray, columns: NewColumns) -> None:
        archetype = self.archetypes[number]
        start = archetype.n
        self.settle(number, entities, archetype.extend(entities))
        self._write(archetype, start, columns)

    def _write(self, archetype: Archetype, start: int, columns: NewColumns) -> None:
        for component, arrays in columns.items():
            first = archetype.layout.starts[component]
            for column, values in enumerate(arrays, first):
                archetype.write(column, start, values)

    def toggle_many(
        self,
        entities: EntityArray,
        places: NDArray[np.uint64],
        component: int,
        columns: Sequence[NDArray[Any]],
    ) -> None:
        """Move k rows to the archetypes with a component more, or less; O(k).

        Rows of one archetype keep their order. `columns` are the new component's.
        """
        self._admit_many(entities)
        moves = [
            (self._source(number), which, positions)
            for number, which, positions in by_archetype(places)
        ]
        for source, _, positions in moves:
            target = self.archetypes[self.edge(source, component).archetype]
            if target.layout.bits:
                target.reserve(target.n + len(positions))
        for source, which, positions in moves:
            some = entities if which is None else entities[which]
            new = columns
            if which is not None:
                layout = self.parts[component].LAYOUT
                new = [
                    _picked(v, c, which) for v, c in zip(columns, layout, strict=False)
                ]
            edge = self.edge(source, component)
            self._move(source, positions, some, edge, {component: new})

    def _move(
        self,
        source: Archetype,
        positions: RowArray,
        entities: EntityArray,
        edge: ArchetypeEdge,
        columns: NewColumns,
    ) -> None:
        target = self.archetypes[edge.archetype]
        start = target.n
        if edge.archetype != ROOT_ARCHETYPE:
            rows = target.extend(entities)
            if source.layout.bits:
                runs = source.runs(positions)
                for here, there in edge.shared:
                    items = source.take(here, len(positions), runs)
                    target.paste(there, start, items)
            if target.layout.bits > source.layout.bits:
                self._write(target, start, columns)
        if source.layout.bits:
            self._cut_out(source, positions)
        if edge.archetype == ROOT_ARCHETYPE:
            self.places.forget_many(entities)
        else:
            self.settle(edge.archetype, entities, rows)

    def drop_many(self, entities: EntityArray) -> int:
        """Remove the rows of distinct entities and return how many went; O(k)."""
        places = self.places.get_many(entities)
        present = places != np.uint64(NOWHERE)
        if not present.all():
            entities, places = entities[present], places[present]
        for number, _, positions in by_archetype(places):
            self._cut_out(self.archetypes[number], positions)
        self.places.forget_many(entities)
        return len(entities)

    def clear(self) -> int:
        """Remove all rows and return how many went; O(n)."""
        return sum(self.drop_many(archetype.whole(0)) for archetype in self.archetypes)

    def _cut_out(self, archetype: Archetype, gone: RowArray) -> None:
        number = self._by_bits[archetype.layout.bits]
        moved, positions = archetype.cut_out(gone)
        self.settle(number, moved, positions)

    def settle(self, number: int, entities: EntityArray, positions: RowArray) -> None:
        """Remember the positions of entities in an archetype."""
        start = np.uint64(number << POSITION_BITS)
        self.places.set_many(entities, positions.view(np.uint64) + start)

    def _admit_many(self, entities: EntityArray) -> None:
        others = self.places.cover_many(entities)
        if len(others):
            self.drop_many(others)

    def _source(self, number: int) -> Archetype:
        is_nowhere = number == NOWHERE >> POSITION_BITS
        return self.archetypes[ROOT_ARCHETYPE if is_nowhere else number]


def _picked(values: NDArray[Any], column: Column, which: RowArray) -> NDArray[Any]:
    """Return a new column's values for some of its rows; one for all stays as it is."""
    each = values.ndim > len(column.shape) and len(values) > 1
    return values[which] if each else values


_JOINED: Final = 65_536
"""Candidates per step of a join: numpy's calls take no time, and the step fits a cache."""

_STREWN: Final = 16_384
"""Rows in any order that a cache holds."""

_ALIKE: Final = 3
"""How many times as large as the smallest manager another one may be to be walked instead."""


class QueryJoin:
    """Who has all components of `required`, one of `any_of` if there are any, and none of
    `none_of`; and where these entities have the required and the optional ones."""

    __slots__ = (
        "_any_of",
        "_arrays",
        "_entities",
        "_living",
        "_members",
        "_none_of",
        "_optional",
        "_required",
        "_result",
        "_state",
    )

    def __init__(
        self,
        entities: QueriedEntities,
        required: tuple[QueryMember, ...],
        any_of: tuple[QueryMember, ...] = (),
        none_of: tuple[QueryMember, ...] = (),
        optional: tuple[QueryMember, ...] = (),
    ) -> None:
        self._entities = entities
        self._required = required
        self._any_of = any_of
        self._none_of = none_of
        self._optional = optional
        self._members = (*required, *optional, *any_of, *none_of)
        self._living = QueryLiving(entities, self._members)
        self._state: list[int] = []
        self._arrays: tuple[NDArray[Any], ...] | None = None
        self._result: QueryMatch | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return QueryJoin, (
            self._entities,
            self._required,
            self._any_of,
            self._none_of,
            self._optional,
        )

    def count(self) -> int:
        """Return how many entities there are."""
        return self.match().count

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the entities and the rows of each member, read-only and of one length."""
        found = self.match()
        if self._arrays is None:
            rows = map(as_array, found.rows)
            self._arrays = (self._owners(found), *rows)
            for array in self._arrays:
                array.flags.writeable = False
        return self._arrays

    def member(self, place: int) -> QueryRows:
        """Return the rows of a member: the required ones come first, then the optional."""
        return self.match().members[place]

    def manager(self, place: int) -> Any:
        """Return the manager of a member."""
        return self._members[place].manager

    def match(self) -> QueryMatch:
        """Return who matches: the same object until a manager changes or an entity dies.

        Joins again if that happened; O(components) otherwise.
        """
        state = [member.manager.version for member in self._members]
        state.append(self._entities._deaths)
        if self._result is None or state != self._state:
            self._result = self._arrays = None
            self._result = self._join()
            self._state = state
        return self._result

    def _owners(self, found: QueryMatch) -> EntityArray:
        """Return the entities, as an array of their own."""
        if found.entities is not None:
            return found.entities
        owners = self._required[found.walked].owners()
        rows = found.rows[found.walked]
        return owners[rows].copy() if isinstance(rows, slice) else owners.take(rows)

    def _join(self) -> QueryMatch:
        """Find entities and rows; O(rows of the smallest manager) per component."""
        live = self._living.members()
        walked, others = self._way()
        matches = []
        for match in self._blocks(walked, live):
            self._narrow(match, others, live)
            if match.count:
                matches.append(match)
        members = []
        for place in range(len(self._required) + len(self._optional)):
            rows = merged_rows([match.rows[place] for match in matches])
            may_lack = place >= len(self._required)
            members.append(QueryRows(rows, may_lack and has_nil(rows)))
        entities = None
        if not self._required:
            none: EntityArray = np.empty(0, np.uint64)
            entities = np.concatenate([none, *(match.entities for match in matches)])
        count = sum(match.count for match in matches)
        return QueryMatch(count, walked, members, entities)

    def _way(self) -> tuple[int, list[int]]:
        """Return the member whose rows to go through, the smallest, and the other required ones.

        If the rows of the largest would then be here and there in it, and it is not much larger,
        it is gone through instead: so its columns are read and written in the order of memory.
        """
        sizes = [len(member.manager) for member in self._required]
        order = sorted(range(len(sizes)), key=sizes.__getitem__)
        if not order:
            return -1, order
        smallest, largest = order[0], order[-1]
        if _STREWN < sizes[smallest] < sizes[largest] <= _ALIKE * sizes[smallest]:
            few, many = self._required[smallest], self._required[largest]
            rows = many.manager.lookup_many(few.owners()[sample_rows(few.candidates())])
            if is_strewn(rows[rows != NIL]):
                return largest, order[:-1]
        return smallest, order[1:]

    def _blocks(
        self, walked: int, live: frozenset[QueryMember]
    ) -> Iterator[QueryBlock]:
        """Yield the candidates, block by block."""
        if self._required:
            member = self._required[walked]
            owners, known = member.owners(), live if member in live else frozenset()
            for rows in row_blocks(member.candidates(), _JOINED):
                yield QueryBlock(owners[rows], {walked: rows}, known)
            return
        owners = _union(self._any_of)
        for start in range(0, len(owners), _JOINED):
            yield QueryBlock(owners[start : start + _JOINED], {})

    def _narrow(
        self, match: QueryBlock, others: list[int], live: frozenset[QueryMember]
    ) -> None:
        """Drop candidates that do not fulfil the conditions, and find the others' rows."""
        for place in others:
            match.require(place, self._required[place])
        if live.isdisjoint(self._required):
            match.keep(self._entities.alive_many(match.entities))
        if self._any_of and self._required:
            match.keep_any(self._any_of)
        for member in self._none_of:
            match.drop(member)
        for place, member in enumerate(self._optional, len(self._required)):
            match.rows[place] = match.find(member)


def _union(members: tuple[QueryMember, ...]) -> EntityArray:
    """Return the owners of all members' rows, each once; O(rows) per member."""
    found: list[EntityArray] = []
    for place, member in enumerate(members):
        match = QueryBlock(member.owners()[member.candidates()], {})
        for earlier in members[:place]:
            match.drop(earlier)
        found.append(match.entities)
    return np.concatenate(found)


SavedArchetype = tuple[tuple[str, ...], list[NDArray[Any]]]
"""The names of its components, then its owners and the columns of each component."""


def saved_archetypes(table: ArchetypeTable) -> list[SavedArchetype]:
    """Return copies of all rows, in order; O(n)."""
    return [
        (
            tuple(part._ROW.__name__ for part in a.layout.components.values()),
            [a.whole(column) for column in range(len(a.layout.places))],
        )
        for a in table.archetypes
    ]


def load_archetypes(table: ArchetypeTable, saved: Iterable[SavedArchetype]) -> None:
    """Fill an empty table with saved rows; O(n)."""
    bits_of = {part._ROW.__name__: 1 << k for k, part in enumerate(table.parts)}
    for names, (entities, *columns) in saved:
        number = table.number(sum(bits_of[name] for name in names))
        archetype = table.archetypes[number]
        archetype.reserve(len(entities))
        table.places.cover_many(entities)
        table.settle(number, entities, archetype.extend(entities))
        for column, values in enumerate(columns, 1):
            archetype.write(column, 0, values)


_Cell = TypeVar("_Cell", bound=np.generic)


class QueryColumns:
    """The columns of one component in the rows of a query: one cell per entity."""

    __slots__ = ("_join", "_place")

    def __init__(self, join: QueryJoin, place: int) -> None:
        self._join = join
        self._place = place


class QueryColumn(Generic[_Cell]):
    """A field among `QueryColumns`; where an optional component is absent, its default.

    Reading gives a view where the rows follow each other, otherwise a copy: so changes
    are written by assigning (`=`, `+=`). What is assigned is checked as everywhere.
    """

    __slots__ = ("_attribute", "_default", "_field")

    def __init__(self, name: str, field: Any, default: object) -> None:
        self._attribute = f"_{name}_column"
        self._field = field
        self._default = default

    @overload
    def __get__(self, view: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, view: QueryColumns, owner: type[Any]) -> NDArray[_Cell]: ...

    def __get__(
        self, view: QueryColumns | None, owner: type[Any]
    ) -> Self | NDArray[_Cell]:
        if view is None:
            return self
        member = view._join.member(view._place)
        data = view._join.manager(view._place).data
        column: NDArray[_Cell] = getattr(data, self._attribute)
        rows = member.rows
        if isinstance(rows, slice):
            return column[rows]
        if not member.has_nil:
            return member.gather(column)
        absent = rows == NIL
        cells = np.empty((len(rows), *column.shape[1:]), column.dtype)
        cells[...] = self._field.many(self._default, len(rows))
        cells[~absent] = column.take(rows[~absent], axis=0)
        return cells

    def __set__(self, view: QueryColumns, values: object) -> None:
        member = view._join.member(view._place)
        data = view._join.manager(view._place).data
        column = getattr(data, self._attribute)
        rows = member.rows
        if isinstance(rows, slice):
            cells = column[rows]
            if not is_same_view(cells, values):
                cells[...] = self._field.many(values, len(cells))
            return
        given = self._field.many(values, len(rows), data._buffer)
        if member.has_nil:
            present = rows != NIL
            shape = (len(rows), *column.shape[1:])
            given, rows = np.broadcast_to(given, shape)[present], rows[present]
        scatter_cells(column, rows, given)


def scatter_cells(column: NDArray[Any], rows: RowArray, values: NDArray[Any]) -> None:
    """Write some rows' cells: checked values that broadcast to them; O(k).

    Shaped cells go as one item each, which takes a tenth of the time.
    """
    if column.ndim == 1:
        column[rows] = values
        return
    cells = items(column)
    if values.shape != (len(rows), *column.shape[1:]):
        put_cells(column, cells, rows, values)
    elif cells.dtype.kind == "V":
        np.put(cells, rows, items(np.ascontiguousarray(values)), mode="clip")
    else:
        cells[rows] = items(np.ascontiguousarray(values))


ChunkT = TypeVar("ChunkT", bound=ChunkBase)

RowClass = type[tuple[Any, ...]]
"""A component is named by the class of its rows."""


class LiveEntities(Protocol):
    """What archetypes need of the entity manager."""

    def create_many(self, n: SupportsIndex) -> EntityArray: ...

    def require(self, e: SupportsIndex) -> Entity: ...

    def require_many(self, es: ArrayLike) -> EntityArray: ...

    def _uncreate(self, es: EntityArray) -> None: ...

    def _attach(self, before: Any, after: Any) -> Subscription: ...


class ArchetypeView(Generic[ChunkT]):
    """The rows in chunks, found by entity or by component; what changes them comes later."""

    __slots__ = (
        "__weakref__",
        "_entities",
        "_kept",
        "_locks",
        "_numbers",
        "_table",
        "_version",
    )

    def __init__(
        self,
        entities: LiveEntities,
        kind: type[ChunkT],
        parts: Sequence[type[ChunkColumns]],
        size: int,
        index_mask: int,
    ) -> None:
        self._entities = entities
        self._locks = 0
        self._version = 0
        self._numbers: dict[RowClass, int] = {p._ROW: k for k, p in enumerate(parts)}
        self._table = ArchetypeTable(kind, parts, size, index_mask)
        self._kept: dict[str, Any] = {}
        """By kernel: a KeptOfChunks."""
        self._attach()

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the callbacks, for pickle and deepcopy."""
        return {
            "version": self._version,
            "entities": self._entities,
            "archetypes": saved_archetypes(self._table),
        }

    def _load(self, state: dict[str, Any]) -> None:
        self._version = state["version"]
        load_archetypes(self._table, state["archetypes"])

    def __len__(self) -> int:
        """Return the number of entities with components here; O(archetypes)."""
        return sum(archetype.n for archetype in self._table.archetypes)

    @property
    def version(self) -> int:
        """How many structural changes there were; views and chunks are good until the next."""
        return self._version

    @property
    def nbytes(self) -> int:
        """Bytes held: all chunks, the empty ones included, the map of entities, and the working
        memory of kernels; O(kernels)."""
        of_kernels: int = sum(kept.nbytes for kept in self._kept.values())
        return self._table.pool.nbytes + self._table.places.nbytes + of_kernels

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let structural changes raise StructureLockedError inside the `with` block.

        Destroying an entity counts as one, whatever components it has.
        """
        self._locks += 1
        try:
            yield
        finally:
            self._locks -= 1

    def _refuse_locked(self) -> None:
        if self._locks:
            raise locked("Archetypes")

    def _attach(self) -> None:
        """Register with the entity manager."""
        raise NotImplementedError

    # --- finding -----------------------------------------------------------------------

    def chunks(
        self,
        *,
        all: Iterable[RowClass] = (),
        any: Iterable[RowClass] = (),
        none: Iterable[RowClass] = (),
    ) -> Iterator[ChunkT]:
        """Iterate over the chunks with rows of all, any and none of some components.

        An empty `any` asks for nothing. A structural change ends the iteration with
        RuntimeError; `with archetypes.locked()` refuses the change itself.
        """
        found = self._table.matching(self._bits(all), self._bits(any), self._bits(none))
        return self._chunks(found)

    def _chunks(self, archetypes: Iterable[Archetype]) -> Iterator[ChunkT]:
        """Iterate over the chunks of some archetypes while nothing changes."""
        found = [chunk for archetype in archetypes for chunk in archetype.used()]
        return self._iterate(found, self._version)

    def _iterate(self, chunks: list[ChunkT], version: int) -> Iterator[ChunkT]:
        for chunk in chunks:
            self._unchanged(version)
            yield chunk
        # The last round too: a loop must not pass because there is one chunk only.
        self._unchanged(version)

    def _unchanged(self, version: int) -> None:
        if self._version != version:
            raise RuntimeError("archetypes changed while their chunks were iterated")

    def has(self, entity: Entity, component: RowClass, /) -> bool:
        """Return whether an entity has a component; O(1)."""
        number = self._number(component)
        return self._table.of(index(entity))[0].has(number)

    def has_many(
        self, entities: ArrayLike, component: RowClass, /
    ) -> NDArray[np.bool_]:
        """Return which of k entities have a component, shape (k,); O(k)."""
        number = self._number(component)
        places = self._table.places.get_many(as_entities(entities))
        return self._table.having(places, number)

    def components(self, entity: Entity, /) -> tuple[RowClass, ...]:
        """Return the row classes of the components that an entity has; O(components)."""
        archetype, _ = self._table.of(index(entity))
        return tuple(part._ROW for part in archetype.layout.components.values())

    def _number(self, component: RowClass) -> int:
        try:
            return self._numbers[component]
        except (KeyError, TypeError):
            names = ", ".join(row.__name__ for row in self._numbers)
            raise TypeError(f"archetypes hold {names}, not {component!r}") from None

    def _bits(self, components: Iterable[RowClass]) -> int:
        bits = 0
        for component in components:
            bits |= 1 << self._number(component)
        return bits

    def _find(self, entity: Entity, component: RowClass) -> tuple[Any, int]:
        """Return the columns and the row of a live entity's component."""
        entity = self._entities.require(entity)
        number = self._number(component)
        archetype, position = self._table.of(entity)
        if not archetype.has(number):
            raise missing(component.__name__, entity)
        chunk, row = archetype.at(position)
        return chunk._parts[number], row

    def _get(self, entity: Entity, component: RowClass) -> Any:
        columns, row = self._find(entity, component)
        return columns._row(row)

    def _set(self, entity: Entity, component: RowClass, fields: dict[str, Any]) -> None:
        part = self._table.parts[self._number(component)]
        try:
            values = part._some(fields)  # first: values may be objects that run code
        except Exception:
            self._find(entity, component)
            raise
        columns, row = self._find(entity, component)
        columns._set(row, values)


class ArchetypeStore(ArchetypeView[ChunkT]):
    """All rows in chunks; the generated class adds what is typed by component.

    An entity's row goes when the entity dies, before `entities.destroy` returns. Rows, chunks and
    views are good until the next structural change; `version` counts those. Not thread-safe.
    """

    __slots__ = ()

    def remove(self, entity: Entity, component: RowClass, /) -> None:
        """Take a component from an entity, which may end with none; O(columns).

        Raises:
            StaleEntityError: the entity is dead.
            MissingInstanceError: it does not have the component.
            StructureLockedError: the archetypes are locked.
        """
        entity = self._entities.require(entity)
        self._refuse_locked()
        number = self._number(component)
        if not self._table.of(entity)[0].has(number):
            raise missing(component.__name__, entity)
        self._table.toggle(entity, number)
        self._version += 1

    def remove_many(self, entities: ArrayLike, component: RowClass, /) -> None:
        """Take a component from each of k entities; O(k). Raises what `remove` does.

        An entity that is there twice is a MissingInstanceError.
        """
        entities = self._entities.require_many(entities)
        self._refuse_locked()
        number = self._number(component)
        places = self._table.places.get_many(entities)
        lacking = ~self._table.having(places, number)
        lacking |= _is_repeat(entities)
        if lacking.any():
            raise missing(component.__name__, int(entities[lacking.argmax()]))
        if len(entities):
            self._table.toggle_many(_own(entities), places, number, ())
            self._version += 1

    def clear(self) -> None:
        """Remove every row; the entities live on. The chunks are kept for new rows. O(n)."""
        self._refuse_locked()
        if self._table.clear():
            self._version += 1

    def shrink_to_fit(self) -> None:
        """Give back the memory of empty chunks and of kernels; O(chunks)."""
        self._refuse_locked()
        for archetype in self._table.archetypes:
            archetype.trim()
        self._table.pool.clear()
        for kept in self._kept.values():
            kept.drop()

    def _create(
        self, components: Iterable[RowClass], n: SupportsIndex, given: Mapping[int, Any]
    ) -> EntityArray:
        """Create n entities; `given`: fields by component, or None."""
        count = index(n)
        if count < 0:
            raise ValueError(f"can't create {count} entities")
        self._refuse_locked()
        numbers = [self._number(component) for component in components]
        for k, number in enumerate(numbers):
            if number in numbers[:k]:
                name = self._name(number)
                raise DuplicateInstanceError(
                    f"{name} stands twice among the components"
                )
        for number, fields in given.items():
            if fields is not None and number not in numbers:
                name = self._name(number)
                raise TypeError(f"{name} is given, but not one of the components")
        columns = {
            k: self._converted(k, count, given[k] or {}) for k in sorted(numbers)
        }
        entities = self._entities.create_many(count)
        try:
            self._append(self._bits_of(numbers), entities, columns)
        except BaseException:
            self._entities._uncreate(entities)
            raise
        return entities

    def _add(self, entity: Entity, component: RowClass, fields: dict[str, Any]) -> None:
        number = self._number(component)
        part = self._table.parts[number]
        try:
            known = known_fields(part._ROW, fields)
            values = part._one(**known)  # first: they may run code
        except Exception:
            self._addable(entity, number)
            raise
        entity = self._addable(entity, number)
        placed = self._table.toggle(entity, number)
        if placed is not None:
            chunk, row = placed
            chunk._parts[number]._put(row, values)
        self._version += 1

    def _addable(self, given: SupportsIndex, number: int) -> Entity:
        """Return a live entity without a component, or raise what `add` does."""
        entity = self._entities.require(given)
        self._refuse_locked()
        if self._table.of(entity)[0].has(number):
            raise duplicate_instance(self._name(number), entity)
        return entity

    def _add_many(
        self, given: ArrayLike, component: RowClass, fields: dict[str, Any]
    ) -> None:
        number = self._number(component)
        entities = _own(as_entities(given))
        try:
            columns = self._converted(number, len(entities), fields)
        except Exception:
            self._addable_many(entities, number)
            raise
        places = self._addable_many(entities, number)
        if len(entities):
            self._table.toggle_many(entities, places, number, columns)
            self._version += 1

    def _addable_many(self, entities: EntityArray, number: int) -> NDArray[np.uint64]:
        """Return the places of live entities without a component, or raise what `add` does."""
        self._entities.require_many(entities)
        self._refuse_locked()
        first_repeated(self._name(number), entities)
        places = self._table.places.get_many(entities)
        having = self._table.having(places, number)
        if having.any():
            raise duplicate_instance(self._name(number), int(entities[having.argmax()]))
        return places

    def _name(self, number: int) -> str:
        return self._table.parts[number]._ROW.__name__

    def _converted(
        self, number: int, count: int, fields: Mapping[str, Any]
    ) -> tuple[NDArray[Any], ...]:
        part = self._table.parts[number]
        arrays = part._many(count, **known_fields(part._ROW, fields))
        return tuple(_own(array) for array in arrays)

    def _append(
        self,
        bits: int,
        entities: EntityArray,
        columns: NewColumns,
    ) -> None:
        """Give new entities a row each."""
        if bits and len(entities):
            self._table.append(bits, entities, columns)
            self._version += 1

    def _bits_of(self, numbers: Iterable[int]) -> int:
        return sum(1 << number for number in numbers)

    def _attach(self) -> None:
        self._entities._attach(self._before_destroy, self._entities_destroyed)

    def _before_destroy(self) -> None:
        """Refuse the destruction of entities while the archetypes are locked."""
        self._refuse_locked()

    def _entities_destroyed(self, entities: EntityArray) -> None:
        """Remove the rows of entities that have just died."""
        self._drop_many(entities)

    def _drop_many(self, entities: EntityArray) -> int:
        """Remove the rows of distinct entities and return how many went; O(k)."""
        if len(entities) == 1:
            gone = int(self._table.drop(int(entities[0])))
        else:
            gone = self._table.drop_many(entities)
        if gone:
            self._version += 1
        return gone


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """Copy a view: what it looks at may move before it is used."""
    return array if array.base is None else array.copy()


def _is_repeat(entities: EntityArray) -> NDArray[np.bool_]:
    """Return which of k entities stand further up already; O(k) if ascending."""
    repeats = np.zeros(len(entities), np.bool_)
    if len(entities) > 1 and not bool((entities[1:] > entities[:-1]).all()):
        _, first = np.unique(entities, return_index=True)
        repeats[:] = True
        repeats[first] = False
    return repeats


class QueriedChunks(Generic[ChunkT]):
    """The archetypes with certain components; the generated class says which.

    They are found once, and again when an archetype is new. Their rows are those of live entities:
    a row goes with its entity.
    """

    __slots__ = ("_all", "_any", "_entities", "_none", "_store", "_version")

    _ALL: ClassVar[tuple[RowClass, ...]] = ()
    _ANY: ClassVar[tuple[RowClass, ...]] = ()
    """Where there are none, nothing is asked for."""
    _NONE: ClassVar[tuple[RowClass, ...]] = ()

    def __init__(self, store: ArchetypeView[ChunkT]) -> None:
        self._store = store
        self._all = store._bits(self._ALL)
        self._any = store._bits(self._ANY)
        self._none = store._bits(self._NONE)
        self._version = -1
        self._entities: EntityArray = np.empty(0, np.uint64)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without what is kept."""
        return type(self), (self._store,)

    def __len__(self) -> int:
        """Return how many entities there are; O(matching archetypes)."""
        return sum(archetype.n for archetype in self._archetypes())

    def chunks(self) -> Iterator[ChunkT]:
        """Iterate over the chunks, as the archetypes' `chunks` does.

        A structural change ends the iteration with RuntimeError; `with archetypes.locked()`
        refuses the change itself.
        """
        return self._store._chunks(self._archetypes())

    def _archetypes(self) -> list[Archetype]:
        return self._store._table.matching(self._all, self._any, self._none)

    def _owners(self) -> EntityArray:
        """Return the entities, read-only, chunk by chunk; O(entities) after a structural change."""
        if self._version != self._store.version:
            owners = [archetype.whole(0) for archetype in self._archetypes()]
            self._entities = np.concatenate([*owners, np.empty(0, np.uint64)])
            self._entities.flags.writeable = False
            self._version = self._store.version
        return self._entities


class ArchetypeHolder:
    """Knows who has one component, as managers do of theirs."""

    __slots__ = ("_component", "_store")

    def __init__(self, store: ArchetypeStore[Any], component: RowClass) -> None:
        self._store = store
        self._component = component

    def has(self, entity: Entity, /) -> bool:
        """Return whether an entity has the component; O(1)."""
        return self._store.has(entity, self._component)

    def has_many(self, entities: ArrayLike, /) -> NDArray[np.bool_]:
        """Return which of k entities have the component, shape (k,); O(k)."""
        return self._store.has_many(entities, self._component)


class SpawnedRows:
    """Checked rows of some components for entities that are about to be created."""

    __slots__ = ("_bits", "_columns", "_store")

    def __init__(
        self,
        store: ArchetypeStore[Any],
        count: int,
        given: Mapping[RowClass, Mapping[str, Any] | None],
    ) -> None:
        self._store = store
        self._bits = 0
        self._columns: dict[int, Sequence[NDArray[Any]]] = {}
        for component, fields in given.items():
            if fields is not None:
                number = store._number(component)
                self._bits |= 1 << number
                self._columns[number] = store._converted(number, count, fields)
        if self._bits:
            store._refuse_locked()

    def remove_many(self, entities: ArrayLike, /) -> int:
        """Take the rows back; O(k)."""
        return self._store._drop_many(as_entities(entities))

    def _make_room(
        self, entities: EntityArray, columns: Columns, borrowed: tuple[object, ...], /
    ) -> None:
        if self._bits:
            self._store._table.make_room(self._bits, entities)

    def _append_many(self, entities: EntityArray, columns: Columns, /) -> None:
        self._store._append(self._bits, entities, self._columns)


class ChunkField(NamedTuple):
    """One field of a kernel: its component's number, and which of the columns there it is."""

    component: int
    column: int
    planes: tuple[int, ...] = ()
    """The shape of a split field: its columns follow each other, from this one on."""

    def place(self, layout: ChunkLayout) -> int:
        """Return which of all columns of a chunk it is, or begins with."""
        return layout.starts[self.component] + self.column

    def cells(self, chunk: ChunkBase) -> NDArray[Any]:
        """Return the cells of the rows in use, rows last."""
        place = self.place(chunk._layout)
        column, n = chunk._columns[place], chunk._rows.n
        if not self.planes:
            return rows_last(column[:n])
        places = chunk._layout.places[place : place + prod(self.planes)]
        step = places[-1].offset - places[-2].offset if len(places) > 1 else 0
        strides = [
            prod(self.planes[axis + 1 :]) * step for axis in range(len(self.planes))
        ]
        return np.ndarray(
            (*self.planes, n),
            column.dtype,
            chunk._buffer,
            places[0].offset,
            (*strides, column.itemsize),
        )


class KeptOfChunks:
    """What a kernel keeps of the chunks that a query finds.

    It is good until a structural change of the archetypes.
    """

    __slots__ = ("_query", "_version")

    def __init__(self, query: QueriedChunks[Any]) -> None:
        self._query = query
        self._version = -1
        self.drop()

    @property
    def nbytes(self) -> int:
        """Bytes held beside the columns."""
        raise NotImplementedError

    def drop(self) -> None:
        """Let go of all that is kept."""
        raise NotImplementedError

    def keep(self, name: str) -> Self:
        """Let the archetypes know it by the kernel's name."""
        self._query._store._kept[name] = self
        return self

    def _renew_if_changed(self) -> None:
        store = self._query._store
        if self._version != store._version:
            self._renew([one for one in self._query._archetypes() if one.n])
            self._version = store._version

    def _renew(self, archetypes: Sequence[Archetype]) -> None:
        """Look at all chunks of archetypes with rows."""
        raise NotImplementedError


class ChunkBlocks(KeptOfChunks):
    """Views of a kernel's fields and of its working memory, block after block; kept.

    After a structural change only those of chunks that are new, or have more or fewer
    rows, are cut again. A block lies in one chunk; all share the working memory, which is
    as long as the longest of them can be.
    """

    __slots__ = ("_cut", "_fields", "_memory", "_size", "_views", "_working")

    def __init__(
        self,
        query: QueriedChunks[Any],
        fields: Sequence[ChunkField],
        working: Sequence[Cells],
    ) -> None:
        self._fields = fields
        self._working = working
        super().__init__(query)

    @property
    def nbytes(self) -> int:
        """Bytes held beside the columns."""
        return sum(array.nbytes for array in self._memory)

    def drop(self) -> None:
        """Let go of all views and of the working memory."""
        self._version = -1
        self._size = 0
        self._memory: list[NDArray[Any]] = []
        self._cut: dict[ChunkBase, tuple[int, list[tuple[Any, ...]]]] = {}
        self._views: list[tuple[Any, ...]] = []

    def current(self) -> list[tuple[Any, ...]]:
        """Return the blocks; O(chunks) after a structural change, otherwise O(1)."""
        self._renew_if_changed()
        return self._views

    def _renew(self, archetypes: Sequence[Archetype]) -> None:
        longest = max((archetype.capacity for archetype in archetypes), default=0)
        size = min(longest, block_rows(self._row_bytes()))
        before = self._cut
        if size != self._size:
            before = {}
            self._size = size
            self._memory = [working_memory(cells, size) for cells in self._working]
        self._cut = {}
        for archetype in archetypes:
            for chunk in archetype.used():
                n, blocks = before.get(chunk, (-1, []))
                if n != chunk._rows.n:
                    blocks = self._blocks(chunk)
                self._cut[chunk] = chunk._rows.n, blocks
        self._views = [block for _, found in self._cut.values() for block in found]

    def _blocks(self, chunk: ChunkBase) -> list[tuple[Any, ...]]:
        columns, n = [field.cells(chunk) for field in self._fields], chunk._rows.n
        return [
            (
                *(array[..., start : start + self._size] for array in columns),
                *(array[..., : n - start] for array in self._memory),
            )
            for start in range(0, n, self._size)
        ]

    def _row_bytes(self) -> int:
        parts = self._query._store._table.parts
        return working_bytes(self._working) + sum(
            parts[f.component].LAYOUT[f.column].nbytes * prod(f.planes)
            for f in self._fields
        )
