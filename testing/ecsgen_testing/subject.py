"""Subject of generated tests: one manager, its fields, and how it should lie in memory."""

from __future__ import annotations

import json
import math
import pickle
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from hashlib import sha256
from math import prod
from typing import Any, ClassVar, TypeAlias
from unittest.mock import patch

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError, StructureLockedError
from ecsgen_runtime.base.handles import EntityArray
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from ecsgen_runtime.world.world_base import WorldBase
from hypothesis import strategies as st
from numpy.typing import NDArray

Refused: TypeAlias = tuple[tuple[Any, type[Exception]], ...]


class Field:
    """A field of a component: its type, and values for it.

    Values are compared by their `repr`, which tells 1 from 1.0 and True, -0.0 from 0.0,
    a member of an enum from its number, and finds NaN equal to itself.
    """

    dtype: str
    elements: st.SearchStrategy[Any]
    """Any element of a value."""
    refused: Refused
    """Elements that raise, and what they raise."""

    def __init__(self, name: str, default: Any, shape: tuple[int, ...] = ()) -> None:
        self.name = name
        self.default = default
        self.shape = shape

    @property
    def values(self) -> st.SearchStrategy[Any]:
        """Whatever one row may hold."""
        size = prod(self.shape)
        cells = st.lists(self.elements, min_size=size, max_size=size)
        return cells.map(self._shaped) if self.shape else self.elements

    def sample(self, k: int) -> Any:
        """Return the k-th of several values; neighbours differ."""
        if not self.shape:
            return self.element(k)
        return self._shaped(self.element(k + i) for i in range(prod(self.shape)))

    def wrong(self) -> Refused:
        """Return values that no row may hold, and what they raise."""
        if not self.shape:
            return self.refused
        rest = [self.element(i) for i in range(1, prod(self.shape))]
        bad = tuple((self._shaped([x, *rest]), error) for x, error in self.refused)
        longer = (*self.sample(0), self.sample(0)[0])
        return (*bad, (longer, ValueError))

    def read(self, value: Any) -> Any:
        """Return a value as accessors return it."""
        return _mapped(self.read_element, value, len(self.shape))

    def order(self, stored: Any) -> Any:
        """Return what stored values are sorted by; NaN is last."""
        return stored

    def stored(self, value: Any) -> Any:
        """Return a value as the column's `tolist()` has it."""
        return _mapped(self.stored_element, self.read(value), len(self.shape), list)

    def array(self, values: Sequence[Any]) -> NDArray[Any]:
        """Return values for several rows as an array of the column's dtype."""
        array = np.array([self.stored(value) for value in values], self.dtype)
        return array.reshape(len(values), *self.shape)

    def is_default(self, value: Any) -> bool:
        """Return whether a value is the default, bit by bit."""
        cell, default = self.array([value]), self.array([self.default])
        return cell.tobytes() == default.tobytes()

    def element(self, k: int) -> Any:
        """Return the k-th of several elements; neighbours differ."""
        raise NotImplementedError

    def read_element(self, value: Any) -> Any:
        """Return an element as accessors return it."""
        return value

    def stored_element(self, value: Any) -> Any:
        """Return an element as it lies in the column."""
        return value

    def _shaped(self, elements: Iterable[Any]) -> Any:
        cells = tuple(elements)
        for size in reversed(self.shape[1:]):
            starts = range(0, len(cells), size)
            cells = tuple(cells[start : start + size] for start in starts)
        return cells


def _of_wrong_type(*values: Any) -> Refused:
    return tuple((value, TypeError) for value in values)


class Bool(Field):
    """Truth, and nothing that looks like it."""

    dtype = "bool"
    elements = st.booleans()
    refused = _of_wrong_type(1, None, "True")

    def element(self, k: int) -> bool:
        return k % 2 == 0


class Int(Field):
    """Integers of `i8` to `u64`."""

    def __init__(self, name: str, default: Any, kind: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, default, shape)
        bits = int(kind[1:])
        self.dtype = f"{kind[0]}{bits // 8}"
        self.low = -(2 ** (bits - 1)) if kind[0] == "i" else 0
        self.high = self.low + 2**bits - 1
        self.elements = st.integers(self.low, self.high)
        self.refused = (
            (self.low - 1, OverflowError),
            (self.high + 1, OverflowError),
            *_of_wrong_type(1.0, True, "1", None),
        )

    def element(self, k: int) -> int:
        step = k // 2 % 100
        return self.low + step if k % 2 else self.high - step


class Float(Field):
    """Real numbers of 32 or 64 bits."""

    def __init__(self, name: str, default: Any, kind: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, default, shape)
        self.dtype = f"f{int(kind[1:]) // 8}"
        self.elements = st.floats() if kind == "f64" else st.floats(width=32)
        self.refused = (
            (10**400, OverflowError),
            (-(2.0**128) if kind == "f32" else -(2**1024), OverflowError),
            *_of_wrong_type(True, "1", None, 1j),
        )

    def element(self, k: int) -> float:
        return k + 0.1

    def read_element(self, value: float) -> float:
        code = "f" if self.dtype == "f4" else "d"
        rounded: float = struct.unpack(code, struct.pack(code, value))[0]
        return rounded


class Handle(Field):
    """Entities and ids, alive or not."""

    dtype = "u8"
    elements = st.integers(0, 2**64 - 1)
    refused = ((-1, OverflowError), (2**64, OverflowError), *_of_wrong_type(1.0, True, None))

    def element(self, k: int) -> int:
        return (1 << 32) + k


class Enum(Field):
    """Members of an enum, or any combination of flags."""

    def __init__(
        self,
        name: str,
        default: Any,
        enum: type[IntEnum | IntFlag],
        kind: str,
        shape: tuple[int, ...] = (),
    ) -> None:
        super().__init__(name, default, shape)
        self.enum = enum
        self.dtype = f"u{int(kind[1:]) // 8}"
        self.members: list[Any] = list(enum)
        highest = max(member.value for member in self.members)
        outside = highest + 1
        if issubclass(enum, IntFlag):
            outside = 1 << highest.bit_length()
            self.members += [self.members[0] | self.members[-1], enum(0)]
        self.elements = st.sampled_from(self.members)
        self.refused = (
            (outside, ValueError),
            (-1, ValueError),
            ("?", ValueError),
            *_of_wrong_type(1.0, True, None),
        )

    def element(self, k: int) -> Any:
        return self.members[k % len(self.members)]

    def stored_element(self, value: Any) -> int:
        return int(value)


class Text(Field):
    """Text of at most `size` bytes of UTF-8."""

    def __init__(self, name: str, default: str, size: int) -> None:
        super().__init__(name, default)
        self.size = size
        self.dtype = f"S{size}"
        letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
        seven_bits = st.characters(min_codepoint=1, max_codepoint=127)
        short = st.text(letters, max_size=size // 4)
        self.elements = st.text(seven_bits, max_size=size) | short
        self.refused = (
            ("x" * (size + 1), ValueError),
            ("é" * (size // 2 + 1), ValueError),
            ("\0", ValueError),
            ("\ud800", ValueError),
            *_of_wrong_type(b"x", 1, None),
        )

    def element(self, k: int) -> str:
        return str(k)[: self.size]

    def stored_element(self, value: str) -> bytes:
        return value.encode()


class Bytes(Field):
    """At most `size` bytes; what is shorter is padded with zeros."""

    def __init__(self, name: str, default: bytes, size: int) -> None:
        super().__init__(name, default)
        self.size = size
        self.dtype = f"S{size}"
        self.elements = st.binary(max_size=size)
        self.refused = ((b"x" * (size + 1), ValueError), *_of_wrong_type("x", 1, None))

    def element(self, k: int) -> bytes:
        return bytes([k % 256])

    def read_element(self, value: bytes) -> bytes:
        return value.ljust(self.size, b"\0")

    def stored_element(self, value: bytes) -> bytes:
        return value.rstrip(b"\0")  # numpy leaves the padding out


class _Time(Field):
    """Times without zone in one unit, and NaT."""

    kind: str
    scalar: Any

    def __init__(self, name: str, default: Any, unit: str) -> None:
        super().__init__(name, default)
        self.unit = unit
        self.dtype = f"{self.kind}8[{unit}]"
        ticks = st.integers(-(2**63) + 1, 2**63 - 1).map(self.element)
        self.elements = st.just(self.scalar("NaT", unit)) | ticks
        finer = self.scalar(1, "ps")
        too_far = self.scalar(2**62, "D" if self.kind == "m" else "h")
        self.refused = (
            (finer, ValueError),
            (too_far, OverflowError),
            *_of_wrong_type(1, 1.0, True, b"2024-01-01"),
        )

    def element(self, k: int) -> Any:
        return self.scalar(k, self.unit)

    def stored_element(self, value: Any) -> Any:
        return np.array(value, self.dtype).tolist()

    def order(self, stored: Any) -> Any:
        ticks = np.array(stored, self.dtype)
        return math.nan if np.isnat(ticks) else int(ticks.astype(np.int64))


class Datetime(_Time):
    """Points in time."""

    kind, scalar = "M", np.datetime64

    def __init__(self, name: str, default: Any, unit: str) -> None:
        super().__init__(name, default, unit)
        zoned = ("2024-01-01T00:00:00Z", ValueError)
        self.refused = (*self.refused, ("now", ValueError), zoned)


class Timedelta(_Time):
    """Spans of time."""

    kind, scalar = "m", np.timedelta64


class Object(Field):
    """Any Python object."""

    dtype = "O"
    elements = st.none() | st.integers(-2, 2) | st.text(max_size=2)
    refused = ()

    def is_default(self, value: Any) -> bool:
        return value is None

    def element(self, k: int) -> str:
        return f"object {k}"


def _mapped(
    function: Any, value: Any, depth: int, kind: type[list[Any] | tuple[Any, ...]] = tuple
) -> Any:
    """Return nested tuples with a function applied to every element."""
    if depth == 0:
        return function(value)
    return kind(_mapped(function, item, depth - 1, kind) for item in value)


@contextmanager
def handles_with(
    manager: EntityManagerBase | type[EntityManagerBase], **numbers: int
) -> Iterator[None]:
    """Give handles of an entity manager's package other numbers: `MIN_FREE=0`."""
    layout = manager.HANDLE_LAYOUT
    with ExitStack() as patches:
        for names in (vars(layout), *layout._globals.values()):
            patches.enter_context(patch.dict(names, numbers))
        yield


def small_chunks(world: Any) -> Any:
    """Return a patch: worlds made meanwhile have chunks of archetypes that a few rows fill."""
    store = getattr(world, "archetypes", None)
    if store is None:
        return nullcontext()
    columns = [column for part in store.table.parts for column in part.LAYOUT]
    size = 64 * (1 + len(columns)) + 4 * sum(column.nbytes for column in columns)
    return patch.object(sys.modules[type(store).__module__], "CHUNK_BYTES", size)


def through_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


COPIES: tuple[Callable[[Any], Any], ...] = (deepcopy, through_pickle)
CODECS = {"*": (pickle.dumps, pickle.loads)}


def loaded(world: Any) -> Any:
    """Return a world made of what another one saved."""
    return type(world).load(world.to_bytes(codecs=CODECS), codecs=CODECS)


def through_snapshot(kind: type[WorldBase], value: Any) -> Any:
    """Return what is left of a manager, or of one with its entities, after saving and loading.

    Only worlds are saved, so one of a kind takes them in for the while.
    """
    manager, entities = value if isinstance(value, tuple) else (value, None)
    name = next(n for n, of in kind.MANAGER_CLASSES.items() if isinstance(manager, of))

    around: Any = type("Around", (kind,), {}, managers={name: type(manager)})
    world = around()
    parts: dict[str, Any] = vars(world)  # worlds refuse to have their parts replaced
    parts[name] = manager
    if entities is not None:
        parts["entities"] = entities
    again = loaded(world)
    other = getattr(again, name)
    if hasattr(other, "_link_group"):
        other._link_group((), 0)  # the loaded world's
    return other if entities is None else (other, again.entities)


@dataclass(frozen=True)
class Column:
    """A column that the buffer should have."""

    name: str
    dtype: str
    shape: tuple[int, ...] = ()
    tags: tuple[str, ...] = ("hot",)

    @property
    def nbytes(self) -> int:
        """Bytes per row."""
        return np.dtype((self.dtype, self.shape)).itemsize


@dataclass(frozen=True)
class Subject:
    """A component's manager and what its schema says of it."""

    world: type[WorldBase]
    """That of its package."""
    entities: type[EntityManagerBase]
    """That of its package."""
    manager: Any
    row: Any
    fields: tuple[Field, ...]
    columns: tuple[Column, ...]
    tagged: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    capacity: int = 0
    split: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By field that is stored element by element: its columns."""
    indirect: tuple[str, ...] = ()
    """The fields that live in a second buffer."""
    cold_columns: tuple[Column, ...] = ()
    """The columns that this buffer should have."""
    indexed: tuple[str, ...] = ()
    """The fields whose rows are found by value."""

    starts_active: bool = True
    reserve: int = 0
    """Largest number of rows by the reserve; 0 if there is none."""
    max_rows: int = 0
    """Largest number of rows by a policy; 0 if there is none."""
    places: tuple[Field, ...] = ()
    """The field with a row's cell, which is not among `fields`: other tests
    allow rows on no cell."""
    grid: Any = None
    """The manager of the cells."""
    apart: tuple[Field, ...] = ()
    """Fields that are not among `fields`: the ends of a link, whose columns are read-only, and
    fields of entities whose deaths clear them or remove the row."""
    on_delete: Mapping[str, str] = field(default_factory=dict)
    """By field: what becomes of a row when the entity dies that it refers to."""
    knows_entities: bool = False
    """True if rows have no owners, and their manager takes the entity manager."""

    def made(self, *arguments: Any) -> Any:
        """Return a manager without rows, with entities if it needs some."""
        if self.knows_entities and not arguments:
            arguments = (self.entities(),)
        return self.manager(*arguments, *([self.grid()] if self.grid else []))

    def hidden(self) -> dict[str, Any]:
        """Return what a row shows of fields that tests do not look at."""
        return {}

    @contextmanager
    def room_for(self, rows: int) -> Iterator[None]:
        """Evict no row before there are so many, inside the `with` block."""
        if not self.max_rows:
            yield
            return
        world: Any = self.world
        data, schema = self.manager.ROWS, world._schema()
        assert self.max_rows == data.MAX_ROWS
        # files with more rows than their schema says are refused
        document = json.loads(schema.SCHEMA)
        for component in document["components"].values():
            if self.manager.__module__.endswith(f".{component['module']}"):
                bounds = [key for key, value in component.items() if type(value) is int]
                component |= dict.fromkeys(bounds, rows)
        text = json.dumps(document, separators=(",", ":"))
        known_by = sha256(text.encode()).hexdigest()
        with (
            patch.object(data, "MAX_ROWS", rows),
            patch.multiple(schema, SCHEMA=text, FINGERPRINT=known_by),
        ):
            yield

    @property
    def every(self) -> tuple[Field, ...]:
        """All fields, in any order."""
        return self.fields + self.places + self.apart

    @property
    def takes_repeats(self) -> bool:
        """True if several rows may have the same values, those of defaults, say."""
        return True

    @property
    def whole(self) -> list[Field]:
        """The fields that are one column of `data`."""
        apart = {*self.split, *self.indirect}
        return [f for f in self.fields if f.name not in apart]

    @property
    def cold_fields(self) -> list[Field]:
        """The fields that live in a second buffer."""
        return [f for f in self.fields if f.name in self.indirect]

    @property
    def label(self) -> str:
        """The component's name as error messages have it."""
        name: str = self.row.__name__
        return name

    @property
    def some_values(self) -> st.SearchStrategy[dict[str, Any]]:
        """Values for some of the fields; the rest keep their defaults."""
        optional = {f.name: f.values for f in self.fields}
        return st.fixed_dictionaries({}, optional=optional)

    def sample(self, k: int) -> dict[str, Any]:
        """Return the k-th of several rows; neighbours differ."""
        return {f.name: f.sample(k) for f in self.fields}

    def wrong(self) -> Iterator[tuple[Field, Any, type[Exception]]]:
        """Yield fields with values that no row may hold, and what these raise."""
        for f in self.fields:
            yield from ((f, *pair) for pair in f.wrong())

    def expected(self, k: int) -> Any:
        """Return the k-th of several rows as it reads back."""
        return self.read(self.sample(k))

    def samples(self, count: int) -> dict[str, list[Any]]:
        """Return columns of several rows."""
        return {f.name: [f.sample(k) for k in range(count)] for f in self.fields}

    def read(self, values: Mapping[str, Any]) -> Any:
        """Return the row that reads back after it was created from some values."""
        seen = self.fields + self.places + self.apart
        read = {f.name: f.read(values.get(f.name, f.default)) for f in seen}
        return self.row(**read, **self.hidden())

    def column(self, manager: Any, field: Field) -> list[Any]:
        """Return a field of all rows as `tolist()` of one column would have it."""
        if field.name in self.indirect:
            cell = getattr(manager, field.name)
            return [field.stored(cell(row)) for row in range(manager.data.n)]
        return self.read_column(manager.data, field)

    def read_column(self, data: Any, field: Field) -> list[Any]:
        """Return the values of a field that `data`, or its cold part, holds."""
        if field.name in self.split:
            parts = [getattr(data, name) for name in self.split[field.name]]
            cells: list[Any] = np.stack(parts, 1).reshape(-1, *field.shape).tolist()
            return cells
        column: list[Any] = getattr(data, field.name).tolist()
        return column

    def one_row(self, manager: Any, row: int) -> Any:
        """Return a row as the fields' accessors have it."""
        seen = self.fields + self.places + self.apart
        cells = {f.name: getattr(manager, f.name)(row) for f in seen}
        return self.row(**cells, **self.hidden())


def need(subject: Subject, rows: int) -> None:
    """Skip the test of a manager that can't have so many rows."""
    if 0 < subject.reserve < rows:
        reason = f"no more than {subject.reserve} rows are reserved, {rows} are needed"
        pytest.skip(reason)


def same(actual: object, expected: object) -> bool:
    """Return whether values are of the same type and content, NaN and zeros included."""
    return repr(actual) == repr(expected)


def raise_error(*_: object) -> None:
    """Do what callbacks may do."""
    raise ZeroDivisionError


def lack(*_: Any, **named: Any) -> Any:
    """Have no memory."""
    raise MemoryError


def reorder(holder: Any, order: Any) -> None:
    """Change the order of a group or of a manager, if it has one of its own."""
    if hasattr(holder, "reorder") and not hasattr(holder, "is_active"):
        with suppress(StructureLockedError):  # a member of a group
            holder.reorder(order)


def shuffle(w: Any, names: Iterable[str]) -> None:
    """Reorder a world's managers or groups differently, where they have an order."""
    for seed, name in enumerate(names):
        holder = getattr(w, name)
        if hasattr(holder, "reorder"):
            count = holder.data.n if hasattr(holder, "data") else holder.n
            reorder(holder, np.random.default_rng(seed).permutation(count))


def deaths(manager: EntityManagerBase) -> list[list[int]]:
    """Return a list that gets the entities of each despawn from now on."""
    died: list[list[int]] = []
    manager.on_destroy(lambda removed: died.append(removed.tolist()))
    return died


@contextmanager
def skipped_if_full() -> Iterator[None]:
    """Skip the test if the handles, or reserved rows, are too few for what it creates."""
    try:
        yield
    except CapacityError:
        pytest.skip("the handles or rows of this project are too few")


def refuses(
    error: type[Exception] | tuple[type[Exception], ...], /, *arguments: Any, **named: Any
) -> None:
    """Check that a call raises an error.

    `given`: what its message matches, if that is text; what is called; its arguments.
    """
    __tracebackhide__ = True
    text, call, *rest = arguments if isinstance(arguments[0], str) else (None, *arguments)
    with pytest.raises(error, match=text):
        call(*rest, **named)


def create_or_skip(manager: EntityManagerBase, count: int) -> EntityArray:
    """Return new entities; skip the test where the handles have too few indices for it."""
    with skipped_if_full():
        return manager.create_many(count)


class WorldTests:
    """Tests of a world."""

    world: ClassVar[Any]
    """Class of the world."""

    @pytest.fixture(name="w")
    def new_world(self) -> Any:
        return self.world()

    def components(self) -> Mapping[str, Subject]:
        """Return what entities can have, by the name that a spawn has for it."""
        raise NotImplementedError

    def check_samples(self, w: Any, module: str, es: Any, ks: Iterable[int]) -> None:
        """Check that entities have those samples of a component."""
        raise NotImplementedError

    def each(self) -> Iterator[tuple[str, Subject, Any]]:
        """Yield each component with a world of its own."""
        for module, subject in self.components().items():
            yield module, subject, self.world()


MANY = 100_000
"""More rows than any test has."""


class UnlimitedWorldTests(WorldTests):
    """Lets managers have many rows while a test runs."""

    subjects: ClassVar[Mapping[str, Subject]]
    """By the attribute of the world that holds the manager, sorted by name."""
    unowned: ClassVar[Mapping[str, Subject]] = {}
    """Components without owners, likewise."""

    def components(self) -> Mapping[str, Subject]:
        return self.subjects

    def everything(self) -> dict[str, Any]:
        """Return what a spawn takes to give an entity every component."""
        return {module: {} for module in self.subjects}

    def with_required(self, modules: Iterable[str]) -> set[str]:
        """Return components and those that come along with them."""
        required = getattr(self.world(), "_REQUIRED", {})  # of a class, or of what makes a world
        rows = {row for module in modules for row in required.get(self.subjects[module].row, ())}
        return {*modules, *(m for m, subject in self.subjects.items() if subject.row in rows)}

    def populate(self, w: Any, count: int, modules: Iterable[str]) -> EntityArray:
        """Spawn entities with samples of some components."""
        columns = {module: self.subjects[module].samples(count) for module in modules}
        with skipped_if_full():
            es: EntityArray = w.spawn(count, **columns)
        return es

    def check_samples(self, w: Any, module: str, es: Any, ks: Iterable[int]) -> None:
        manager, subject = getattr(w, module), self.subjects[module]
        for row, k in zip(manager.require_many(es), ks, strict=True):
            assert same(manager.row(row), subject.expected(k))

    def setup_method(self) -> None:
        """Give rings so much room that no row evicts another."""
        self.room = ExitStack()
        for subject in (*self.components().values(), *self.unowned.values()):
            self.room.enter_context(subject.room_for(MANY))

    def teardown_method(self) -> None:
        self.room.close()
