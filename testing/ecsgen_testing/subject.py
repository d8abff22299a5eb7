"""Subject of generated tests: one manager, its fields, and how it should lie in memory."""

from __future__ import annotations

import json
import math
import pickle
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from hashlib import sha256
from itertools import islice
from math import prod
from typing import Any, ClassVar, TypeAlias
from unittest.mock import patch

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError
from ecsgen_runtime.base.handles import EntityArray
from ecsgen_runtime.entities.entity_manager import EntityManagerBase
from ecsgen_runtime.tables.columns import used_rows
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
    refused: Refused = ()
    """Elements of the right type that raise, and what they raise."""
    mistyped: tuple[Any, ...] = ()
    """Elements of a wrong type."""

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
        refused: Refused = tuple((element, TypeError) for element in self.mistyped)
        refused = self.refused + refused
        if not self.shape:
            return refused
        rest = [self.element(i) for i in range(1, prod(self.shape))]
        bad = tuple((self._shaped([x, *rest]), error) for x, error in refused)
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


class Bool(Field):
    """Truth, and nothing that looks like it."""

    dtype = "bool"
    elements = st.booleans()
    mistyped = (1, None, "True")

    def element(self, k: int) -> bool:
        return k % 2 == 0


class Int(Field):
    """Integers of `i8` to `u64`."""

    mistyped = (1.0, True, "1", None)

    def __init__(self, name: str, default: Any, kind: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, default, shape)
        bits = int(kind[1:])
        self.dtype = f"{kind[0]}{bits // 8}"
        self.low: int = -(2 ** (bits - 1)) if kind[0] == "i" else 0
        self.high: int = self.low + 2**bits - 1
        self.elements = st.integers(self.low, self.high)
        self.refused = ((self.low - 1, OverflowError), (self.high + 1, OverflowError))

    def element(self, k: int) -> int:
        step = k // 2 % ((self.high - self.low + 1) // 2)
        return self.low + step if k % 2 else self.high - step


class Float(Field):
    """Real numbers of 32 or 64 bits."""

    mistyped = (True, "1", None, 1j)

    def __init__(self, name: str, default: Any, kind: str, shape: tuple[int, ...] = ()) -> None:
        super().__init__(name, default, shape)
        self.dtype = f"f{int(kind[1:]) // 8}"
        self.elements = st.floats() if kind == "f64" else st.floats(width=32)
        too_low = -(2.0**128) if kind == "f32" else -(2**1024)
        self.refused = ((10**400, OverflowError), (too_low, OverflowError))

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
    refused = ((-1, OverflowError), (2**64, OverflowError))
    mistyped = (1.0, True, None)

    def element(self, k: int) -> int:
        return (1 << 32) + k


class Enum(Field):
    """Members of an enum, or any combination of flags."""

    mistyped = (1.0, True, None)

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
        self.refused = tuple((value, ValueError) for value in (outside, -1, "?"))

    def element(self, k: int) -> Any:
        return self.members[k % len(self.members)]

    def stored_element(self, value: Any) -> int:
        return int(value)


class Text(Field):
    """Text of at most `size` bytes of UTF-8."""

    mistyped = (b"x", 1, None)

    def __init__(self, name: str, default: str, size: int) -> None:
        super().__init__(name, default)
        self.size = size
        self.dtype = f"S{size}"
        letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
        seven_bits = st.characters(min_codepoint=1, max_codepoint=127)
        short = st.text(letters, max_size=size // 4)
        self.elements = st.text(seven_bits, max_size=size) | short
        wrong = ("x" * (size + 1), "é" * (size // 2 + 1), "\0", "\ud800")
        self.refused = tuple((value, ValueError) for value in wrong)

    def element(self, k: int) -> str:
        return str(k)[: self.size]

    def stored_element(self, value: str) -> bytes:
        return value.encode()


class Bytes(Field):
    """At most `size` bytes; what is shorter is padded with zeros."""

    mistyped = ("x", 1, None)

    def __init__(self, name: str, default: bytes, size: int) -> None:
        super().__init__(name, default)
        self.size = size
        self.dtype = f"S{size}"
        self.elements = st.binary(max_size=size)
        self.refused = ((b"x" * (size + 1), ValueError),)

    def element(self, k: int) -> bytes:
        number: int = k % 256**self.size
        return number.to_bytes(self.size, "little").rstrip(b"\0")

    def read_element(self, value: bytes) -> bytes:
        return value.ljust(self.size, b"\0")

    def stored_element(self, value: bytes) -> bytes:
        return value.rstrip(b"\0")  # numpy leaves the padding out


class _Time(Field):
    """Times without zone in one unit, and NaT."""

    kind: str
    scalar: Any
    mistyped = (1, 1.0, True, b"2024-01-01")

    def __init__(self, name: str, default: Any, unit: str) -> None:
        super().__init__(name, default)
        self.unit = unit
        self.dtype = f"{self.kind}8[{unit}]"
        ticks = st.integers(-(2**63) + 1, 2**63 - 1).map(self.element)
        self.elements = st.just(self.scalar("NaT", unit)) | ticks
        finer = self.scalar(1, "ps")
        too_far = self.scalar(2**62, "D" if self.kind == "m" else "h")
        self.refused = ((finer, ValueError), (too_far, OverflowError))

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


def loaded(world: Any, **options: Any) -> Any:
    """Return a world made of what another one saved."""
    return type(world).load(world.to_bytes(codecs=CODECS), codecs=CODECS, **options)


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


_MOST = 100_000
"""No more values of a unique field are tried."""


def values_of(field: Field) -> Iterator[Any]:
    """Yield values of a field, each once."""
    known = set[Any]()
    for value in map(field.element, range(_MOST)):
        if (stored := field.stored(value)) not in known:
            known.add(stored)
            yield value


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
    unique: tuple[Field, ...] = ()
    """Fields that are not among `fields`, of which no two rows have the same value. Where they are
    `filled`, each new row gets values of its own, and shows defaults."""

    def made(self, *arguments: Any) -> Any:
        """Return a manager without rows, with entities if it needs some."""
        if self.knows_entities and not arguments:
            arguments = (self.entities(),)
        return self.manager(*arguments, *([self.grid()] if self.grid else []))

    @property
    def is_owned(self) -> bool:
        """True if rows are known by their entities; others are by their ids."""
        return hasattr(self.manager, "lookup")

    def key(self, manager: Any, row: int) -> int:
        """Return the entity of a row, or its id without owner: what it is known by."""
        return int(manager.entity(row) if self.is_owned else manager.id_of(row))

    def find(self, manager: Any, key: int) -> int:
        """Return the row that is known by that, or NIL."""
        return int(manager.lookup(key) if self.is_owned else manager.resolve(key))

    def create(self, manager: Any, owner: int, /, **values: Any) -> int:
        """Create an instance, and return its row; `owner` is 0 where there are none."""
        if self.is_owned:
            return int(manager.create(owner, **values))
        return int(manager.resolve(manager.create(**values)))

    def create_many(
        self,
        manager: Any,
        owners: Sequence[int] | EntityArray,
        table: Any = None,
        /,
        **columns: Any,
    ) -> list[int]:
        """Create an instance for each owner, and return their rows."""
        if not self.is_owned:
            rows = manager.resolve_many(manager.create_many(len(owners), table, **columns))
        elif table is None:
            rows = manager.create_many(owners, **columns)
        else:
            rows = manager.create_many(owners, {"entity": None, **table})  # as other tables have it
        created: list[int] = rows.tolist()
        return created

    def hidden(self) -> dict[str, Any]:
        """Return what a row shows of fields that tests do not look at."""
        return {f.name: f.read(f.default) for f in self.unique}

    @contextmanager
    def filled(self) -> Iterator[None]:
        """Fill the unique fields of new rows, inside the `with` block."""
        if not self.unique:
            yield
            return
        create, convert, row_of = self.manager.create, self.manager._convert, self.manager.row

        def filled_create(m: Any, /, *args: Any, **values: Any) -> Any:
            return create(m, *args, **{**values, **self._fresh(m, 1, values)})

        def filled_convert(m: Any, rows: int, arguments: Mapping[str, Any]) -> Any:
            return convert(m, rows, {**arguments, **self._fresh(m, rows, arguments, many=True)})

        def shown_row(m: Any, row: int, /) -> Any:
            return row_of(m, row)._replace(**self.hidden())

        with (
            patch.object(self.manager, "create", filled_create),
            patch.object(self.manager, "_convert", filled_convert),
            patch.object(self.manager, "row", shown_row),
        ):
            yield

    def _fresh(
        self, m: Any, rows: int, arguments: Mapping[str, Any], many: bool = False
    ) -> dict[str, Any]:
        """Return unique values that no row has, but of fields that are set to others than defaults,
        passed on; skip the test where there are too few."""
        fresh: dict[str, Any] = {}
        for f in self.unique:
            if repr(arguments.get(f.name, f.default)) != repr(f.default):
                continue
            held = set(getattr(m.data, f.name).tolist())
            values = list(islice((v for v in values_of(f) if f.stored(v) not in held), rows))
            if len(values) < rows:
                pytest.skip(f"{f.name} has too few values for {rows} more rows")
            fresh[f.name] = values if many else values[0]
        return fresh

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
    def seen(self) -> tuple[Field, ...]:
        """All fields but the unique ones, in any order."""
        return self.fields + self.places + self.apart

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
        read = {f.name: f.read(values.get(f.name, f.default)) for f in self.seen}
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
        cells = {f.name: getattr(manager, f.name)(row) for f in self.seen}
        return self.row(**cells, **self.hidden())


def same(actual: object, expected: object) -> bool:
    """Return whether values are of the same type and content, NaN and zeros included."""
    return repr(actual) == repr(expected)


def raise_error(*_: object) -> None:
    """Do what callbacks may do."""
    raise ZeroDivisionError


def check_objects(data: Any) -> None:
    """Check that rows that are not in use hold no objects: these would never end."""
    for rows in [data, data.cold] if hasattr(data, "cold") else [data]:
        for name in rows.OBJECTS:
            unused = np.delete(getattr(rows, name), used_rows(rows))
            assert all(thing is None for thing in unused.tolist())


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

    def check_samples(self, w: Any, module: str, es: Iterable[int], ks: Iterable[int]) -> None:
        """Check that entities have those samples of a component."""
        subject = self.components()[module]
        for e, k in zip(es, ks, strict=True):
            assert same(w.get(int(e), subject.row), subject.expected(k))

    def with_required(self, modules: Iterable[str]) -> set[str]:
        """Return components and those that come along with them."""
        required = getattr(self.world, "_REQUIRED", {})
        subjects = self.components()
        rows = {row for module in modules for row in required.get(subjects[module].row, ())}
        return {*modules, *(m for m, subject in subjects.items() if subject.row in rows)}

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

    def populate(self, w: Any, count: int, modules: Iterable[str]) -> EntityArray:
        """Spawn entities with samples of some components."""
        columns = {module: self.subjects[module].samples(count) for module in modules}
        with skipped_if_full():
            es: EntityArray = w.spawn(count, **columns)
        return es

    @pytest.fixture(autouse=True)
    def plenty_of_room(self) -> Iterator[None]:
        """Give rings so much room that no row evicts another, and fill unique fields."""
        with ExitStack() as room:
            for subject in (*self.subjects.values(), *self.unowned.values()):
                room.enter_context(subject.room_for(MANY))
                room.enter_context(subject.filled())
            yield
