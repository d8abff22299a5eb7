"""Inputs of kernel tests: managers with rows of random bits, arguments, and draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf, nan
from statistics import NormalDist
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Tuning
from numpy.typing import NDArray

from .common_cases import Cases
from .subject import COPIES, Enum, Subject

Columns: TypeAlias = Mapping[str, NDArray[Any]]
Rng: TypeAlias = np.random.Generator
Value: TypeAlias = list[Any]
"""One numpy scalar per element of a shape."""
SPECIAL = (nan, inf, -inf, -0.0, 0.0, 1.0, -1.0, 3e38, 1e-45, 1e19, 255.0)


def columns_of(subject: Subject, manager: Any) -> dict[str, NDArray[Any]]:
    """Return copies of the fields' columns and the owners'; split fields are put together."""
    columns = {f.name: np.array(getattr(manager.data, f.name)) for f in subject.whole}
    shapes = {f.name: f.shape for f in subject.fields}
    for name, parts in subject.split.items():
        stacked = np.stack([getattr(manager.data, part) for part in parts], axis=1)
        columns[name] = stacked.reshape(-1, *shapes[name])
    if hasattr(manager.data, "entity"):
        columns["entity"] = np.array(manager.data.entity)
    return columns


def put_columns(subject: Subject, manager: Any, columns: Columns) -> None:
    """Write columns as `columns_of` has them over those of the fields."""
    for f in subject.whole:
        getattr(manager.data, f.name)[...] = columns[f.name]
    for name, parts in subject.split.items():
        cells = columns[name].reshape(len(columns[name]), len(parts))
        for number, part in enumerate(parts):
            getattr(manager.data, part)[...] = cells[:, number]


def random_cells(
    dtype: np.dtype[Any], shape: tuple[int, ...], rng: Rng, *, tame: bool = False
) -> Any:
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if tame and dtype.kind == "f":
        return np.asarray(rng.standard_normal(shape) * 10).astype(dtype)
    if tame:
        most = 50 if dtype.itemsize < 4 else 1_000_000  # few are the same
        return rng.integers(0, most, shape).astype(dtype)
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    with np.errstate(all="ignore"):
        special = rng.choice(np.array(SPECIAL), shape).astype(dtype)
        usual = np.asarray(rng.standard_normal(shape) * 10).astype(dtype)
    return np.where(rng.random(shape) < 0.2, special, usual)


def randomize(subject: Subject, manager: Any, rng: Rng, *, tame: bool = False) -> None:
    """Fill the fields of all rows with random bits; tame ones can be added.

    Most cells of enums are members: conditions seldom hold for any other number.
    """
    columns = columns_of(subject, manager)
    for name, column in columns.items():
        if name != "entity" and column.dtype.kind in "biuf":
            column[...] = random_cells(column.dtype, column.shape, rng, tame=tame)
    for f in subject.fields:
        if isinstance(f, Enum) and f.name in columns:
            column = columns[f.name]
            drawn = rng.choice(np.array(f.members, column.dtype), column.shape)
            np.copyto(column, drawn, where=rng.random(column.shape) < 0.8)
    put_columns(subject, manager, columns)


def same_cells(actual: NDArray[Any], expected: NDArray[Any], is_exact: bool) -> bool:
    """Return whether two columns are the same to the bit; NaN is NaN, and 0.0 is -0.0."""
    if actual.dtype.kind != "f":
        return bool((actual == expected).all())
    if not is_exact:
        with np.errstate(all="ignore"):
            return bool(np.isclose(actual, expected, 1e-3, 1e-3, equal_nan=True).all())
    return bool(((actual == expected) | (np.isnan(actual) & np.isnan(expected))).all())


def flat(value: Any) -> Value:
    return list(np.ravel(value))


def put(column: NDArray[Any], index: tuple[int, ...], value: Value) -> None:
    """Write a cell of a column, or an element of one."""
    cell = column[index]
    filled = np.array(value if np.ndim(cell) else value[0], column.dtype)
    column[index] = filled.reshape(np.shape(cell)) if len(value) > 1 else filled


class Each(NamedTuple):
    """An argument with a value for each row."""

    kind: str
    shape: tuple[int, ...]
    enum: Any = None


def argument(rng: Rng, kind: str, shape: tuple[int, ...], enum: Any = None) -> NDArray[Any]:
    """Return random values of an argument's type, of a shape."""
    if enum is not None:
        return rng.choice(np.array(list(enum), kind), shape)
    if np.dtype(kind).kind == "f" and rng.random() < 0.3:  # a share, or a chance
        return np.asarray(rng.random(shape)).astype(kind)
    return np.asarray(random_cells(np.dtype(kind), shape, rng))


class Inputs:
    """Values of all arguments, for some number of rows."""

    def __init__(self, kinds: Mapping[str, tuple[Any, ...]], rng: Rng, rows: int = 0) -> None:
        self._kinds = kinds
        self._rng = rng
        self._values = {}
        for key, description in kinds.items():
            kind, shape, *enum = description
            shape = (rows, *shape) if isinstance(description, Each) else shape
            self._values[key] = argument(rng, kind, shape, *enum)

    def of(self, rows: int) -> Inputs:
        """Return the same values for all rows, and new values for each of `rows` rows."""
        inputs = Inputs(self._kinds, self._rng, rows)
        for key, kind in self._kinds.items():
            if not isinstance(kind, Each):
                inputs._values[key] = self._values[key]
        return inputs

    def radius(self, near: str | float) -> float:
        """Return a radius for neighbours; if it is an argument, set that to one of a few."""
        if not isinstance(near, str):
            return near
        chosen = self._rng.choice(np.array((1, 5, 20), self._values[near].dtype))
        self._values[near] = np.asarray(chosen)
        return float(chosen)

    def lead(self, pool: NDArray[np.uint64]) -> None:
        """Replace arguments that may be handles by some of a pool."""
        for key, value in self._values.items():
            if value.dtype == pool.dtype:
                self._values[key] = self._rng.choice(pool, value.shape)

    @property
    def plain(self) -> dict[str, Any]:
        """Keyword arguments of a call."""
        return {key: value.tolist() for key, value in self._values.items()}

    def cells(self, row: int) -> list[Value]:
        """Return the arguments of one row's steps."""
        return [
            flat(value[row] if isinstance(self._kinds[key], Each) else value)
            for key, value in self._values.items()
        ]


def run(manager: Any, name: str, arguments: Mapping[str, Any]) -> Any:
    """Call a kernel, with blocks so small that there are several."""
    with Tuning.override(block_rows=(8, 8)):
        return getattr(manager, name)(**arguments)


def running(manager: Any) -> int:
    """Return how many rows kernels run over."""
    return int(getattr(manager, "n_active", manager.data.n))


def used_rows(manager: Any) -> NDArray[Any]:
    if hasattr(manager.data, "present"):
        return np.flatnonzero(manager.data.present)
    return np.arange(manager.data.n)


# Random rows are far from where a condition turns, and a kernel that asks for
# something a little different would treat them alike.


PAIRS = 3
HALVINGS = 60


def approach(
    columns: Columns, rows: Sequence[int], matches: Callable[[int], bool], rng: Rng
) -> None:
    """Change numbers in some of the rows of columns until the condition turns between two of them.

    `matches` says whether it holds for a row, as the columns are then.
    """
    columns = {n: c for n, c in columns.items() if c.dtype.kind in "biuf"}
    for row in rows[::3]:  # of whole numbers, for which more conditions hold
        for column in columns.values():
            low = 0 if column.dtype.kind in "bu" else -1
            column[row] = rng.integers(low, 2, column.shape[1:]).astype(column.dtype)
    inside = [row for row in rows if matches(row)]
    outside = [row for row in rows if row not in inside]
    for pair in list(zip(inside, outside, strict=False))[:PAIRS]:
        _halve(columns, *pair, matches)


def _halve(columns: Columns, inside: int, outside: int, matches: Callable[[int], bool]) -> None:
    """Put two rows as close together as halving their distance brings them."""
    for _ in range(HALVINGS):
        before = {name: column[inside].copy() for name, column in columns.items()}
        for column in columns.values():
            column[inside] = _between(column[inside], column[outside])
        if matches(inside):
            continue
        for name, column in columns.items():
            column[outside], column[inside] = column[inside], before[name]


def _between(cell: Any, other: Any) -> Any:
    """Return the middle of two cells; what is not finite gives way, and a bool stays."""
    if cell.dtype.kind == "b":
        return cell
    if cell.dtype.kind == "f":
        middle = cell / 2 + other / 2
        return np.where(np.isfinite(middle), middle, other)
    return cell // 2 + other // 2 + (cell & other & 1)


ALL = 2**64 - 1
STEP = 0x9E3779B97F4A7C15
INVERSE = NormalDist().inv_cdf


class Drawing(NamedTuple):
    """How a kernel draws."""

    name: str
    """The kernel's, with that of its component."""
    key: str = ""
    """Field that is the row key, if not the entity or id."""


def mix(x: int) -> int:
    """Return a number of 64 bits made of another."""
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & ALL
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & ALL
    return x ^ x >> 31


def name_hash(name: str) -> int:
    """Return the FNV-1a of a name."""
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & ALL
    return hashed


def stems(seed: int, name: str, call: int, row_keys: NDArray[Any]) -> list[int]:
    """Return the row keys of a kernel's call."""
    key = mix(mix(seed ^ name_hash(name)) + call * STEP & ALL)
    return [mix(row_key ^ key) for row_key in row_keys.tolist()]


def first_word(stem: int) -> int:
    """Return a row's first word, by which random turns are ordered."""
    return mix(stem + STEP & ALL)


def who_of(manager: Any, columns: Columns, drawing: Drawing) -> NDArray[np.uint64]:
    """Return the keys of a manager's rows."""
    if drawing.key:
        return columns[drawing.key].copy()
    if manager._ALLOWS_MANY or not hasattr(manager.data, "entity"):
        ids: NDArray[np.uint64] = manager.id_of_many(np.arange(manager.data.n))
        return ids
    return np.array(manager.data.entity)


def numbers(how: str, stem: int, first: int, count: int, bounds: Sequence[Value]) -> Value:
    """Return so many numbers of a row, from the first one on."""
    words = [mix(stem + (first + k + 1) * STEP & ALL) for k in range(count)]
    if how == "random":
        return [np.float64((word >> 11) * 2.0**-53) for word in words]
    if how == "normal":
        return [np.float64(INVERSE(((word >> 12) + 0.5) * 2.0**-52)) for word in words]
    (limits,) = bounds
    several = [int(bound) for bound in limits] * (count if len(limits) == 1 else 1)
    pairs = zip(words, several, strict=True)
    return [np.int64((word >> 32) * bound >> 32) for word, bound in pairs]


def draw_keys(*holders: Any) -> list[int]:
    """Count a call of each kernel that draws, and return what its numbers have in common."""
    return [
        int(holder._next_call_key(kernel))
        for holder in holders
        for kernel in holder._RANDOM_KERNELS
    ]


class SeededCases(Cases):
    """Cases of kernels that draw."""

    def expected(self, m: Any, call: int) -> list[int]:
        """Return the same as the definition has it."""
        hashes = [name_hash(f"{self.subject.label}.{name}") for name in m._RANDOM_KERNELS]
        return [mix(mix(m.seed ^ h) + call * STEP & ALL) for h in hashes]

    def test_keys_of_calls(self, m: Any) -> None:
        assert m.seed == 0
        for seed in (0, 1, ALL):
            m.seed = seed
            assert m.seed == seed
            for call in range(3):
                assert draw_keys(m) == self.expected(m, call)

    def test_seeds_that_are_none(self, m: Any) -> None:
        m.seed = 7
        draw_keys(m)
        for seed in (-1, ALL + 1, 1.0, "1", True, None):
            with pytest.raises((ValueError, OverflowError, TypeError), match="seed"):
                m.seed = seed
        assert m.seed == 7
        assert draw_keys(m) == self.expected(m, 1)

    def test_copies_go_on(self, m: Any) -> None:
        for seed in (0, 9):
            m.seed = seed
            for call in range(2):
                others = [copied(m) for copied in COPIES]
                assert draw_keys(m) == self.expected(m, call)
                for other in others:
                    assert other.seed == seed
                    assert draw_keys(other) == self.expected(m, call)
