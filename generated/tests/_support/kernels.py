"""Kernels, row by row: what their steps say in plain Python, one scalar after another.

A value is a list of numpy scalars, one per element of its shape. Nothing is fast here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from . import chance, kernel_borders
from .chance import Drawing as Drawing
from .package import EntityManager
from .runtime import runtime_with
from .subject import Subject, born

Value: TypeAlias = list[Any]
SETTINGS = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from([0, 1, 2, 9, 33])
SEVERAL_BLOCKS = 2500
"""Rows that reductions take in more than two blocks, compiled or not."""
SPECIAL = (
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    1.0,
    -1.0,
    3e38,
    1e-45,
    1e19,
    255.0,
)


class Row:
    """One row of the columns that a kernel runs over."""

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        row: int,
        parent: int,
        stem: int = 0,
    ) -> None:
        self._stem = stem
        self._columns = columns
        self._row = row
        self._parent = parent

    def __getitem__(self, name: str) -> Value:
        return flat(self._columns[name][self._row])

    def parent(self, name: str, root: tuple[Any, ...]) -> Value:
        """Return a field of the parent; of a root what is above the roots."""
        column = self._columns[name]
        if self._parent < 0:
            return flat(np.array(root, column.dtype))
        return flat(column[self._parent])

    def draw(self, how: str, first: int, count: int, *bounds: Value) -> Value:
        """Return random numbers of this row, from the first one on."""
        found: Value = chance.numbers(how, self._stem, first, count, bounds)
        return found

    def put(self, name: str, value: Value, *index: int) -> None:
        """Write a field, or an element of it."""
        column = self._columns[name]
        cell = column[(self._row, *index)]
        values = value if np.ndim(cell) else value[0]
        filled = np.array(values, column.dtype)
        if len(value) > 1:
            filled = filled.reshape(np.shape(cell))
        column[(self._row, *index)] = filled


class Asked(Row):
    """A row that is only asked whether it matches: nothing is written."""

    def put(self, name: str, value: Value, *index: int) -> None:
        """Write nothing."""


def number(scalar: str, value: Any) -> Value:
    """Return a literal."""
    return [np.dtype(scalar).type(value)]


def element(value: Value, shape: tuple[int, ...], *index: int) -> Value:
    """Return an element of a shape, or what is left of it."""
    places = np.arange(math.prod(shape)).reshape(shape)[index]
    return [value[place] for place in np.ravel(places).tolist()]


def cast(value: Value, scalar: str) -> Value:
    """Return a value in another type: integers wrap, floats are cut, NaN is 0."""
    return [_converted(one, np.dtype(scalar)) for one in value]


def apply(name: str, *operands: Value) -> Value:
    """Return what an operation makes of each element."""
    longest = max(map(len, operands))
    spread = [value * longest if len(value) == 1 else value for value in operands]
    return [SCALARS[name](*one) for one in zip(*spread, strict=True)]


def dot(left: Value, right: Value) -> Value:
    """Return the sum of products, from left to right."""
    total = left[0] * right[0]
    for x, y in zip(left[1:], right[1:], strict=True):
        total = total + x * y
    return [total]


def norm(vector: Value) -> Value:
    """Return the length."""
    return [np.sqrt(dot(vector, vector)[0])]


def normalize(vector: Value) -> Value:
    """Return a vector of length 1, or the vector itself if it has none."""
    length = norm(vector)[0]
    return [x / length for x in vector] if length != 0 else vector


def cross(a: Value, b: Value) -> Value:
    """Return the cross product."""
    turns = ((1, 2), (2, 0), (0, 1))
    return [a[i] * b[j] - a[j] * b[i] for i, j in turns]


def matrix(left: Value, right: Value, inner: int) -> Value:
    """Return the matrix product over `inner` columns of the left and rows of the right side."""
    columns = len(right) // inner
    rows = [left[start : start + inner] for start in range(0, len(left), inner)]
    return [dot(row, right[i::columns])[0] for row in rows for i in range(columns)]


def check(
    subject: Subject,
    name: str,
    steps: Callable[..., object],
    arguments: Mapping[str, tuple[Any, ...]],
    rows: int,
    seed: int,
    *,
    is_exact: bool,
    has_border: bool = False,
    all_rows: bool = False,
    drawing: chance.Drawing | None = None,
) -> None:
    """Run a kernel, and its steps row by row, on the same random columns: nothing may differ.

    `arguments` has the dtype and shape of each, and the class of enums. With a border there is a
    condition, and `steps` returns whether it holds.
    """
    rng = np.random.default_rng(seed)
    given = {key: argument(rng, *kind) for key, kind in arguments.items()}
    plain = {key: value.tolist() for key, value in given.items()}
    manager = _filled(subject, rows, rng, name, plain)
    parents = _related(manager, rng)
    _move_buffer(subject, manager, name, plain)
    expected = columns_of(subject, manager)
    order = _in_order(parents, manager.data.n if all_rows else running(manager))
    cells = [flat(value) for value in given.values()]
    stems = [0] * len(parents)
    if drawing is not None:
        manager.seed = seed
        who = chance.who_of(manager, expected, drawing)
        stems = chance.stems(seed, drawing.name, 0, who)

    def matches(row: int) -> bool:
        return bool(steps(Asked(expected, row, int(parents[row])), *cells))

    with np.errstate(all="ignore"):
        if has_border:
            used = np.isin(order, used_rows(manager))
            own = {n: column for n, column in expected.items() if n != "entity"}
            kernel_borders.approach(own, np.array(order)[used].tolist(), matches, rng)
            put_columns(subject, manager, expected)
        run(manager, name, plain)
        for row in order:
            steps(Row(expected, row, int(parents[row]), stems[row]), *cells)
    found = columns_of(subject, manager)
    used = used_rows(manager)
    for key, column in expected.items():
        assert same_cells(found[key][used], column[used], is_exact), key


def check_reduction(
    subject: Subject,
    name: str,
    value: Callable[[Row], Value],
    how: str,
    rows: int,
    seed: int,
) -> None:
    """Compare a reduction with what Python makes of the values of all rows.

    Also with the row of the greatest value, and that of the least, in the last place.
    """
    rng = np.random.default_rng(seed)
    rows = min(rows, subject.reserve or rows)
    manager = _filled(subject, rows, rng, name, {}, tame=True)
    columns = columns_of(subject, manager)
    with np.errstate(all="ignore"):
        values = [value(Row(columns, int(row), -1)) for row in used_rows(manager)]
    _compare_reduction(run(manager, name, {}), values, how)
    for choose in (max, min) if values else ():
        last = choose(range(len(values)), key=lambda k: values[k][0])
        _rotate(subject, manager, len(values) - 1 - last)
        values = values[last + 1 :] + values[: last + 1]
        _compare_reduction(run(manager, name, {}), values, how)


def _compare_reduction(found: Any, values: list[Value], how: str) -> None:
    if how == "count":
        assert found == sum(bool(one[0]) for one in values)
    elif not values:
        assert np.isnan(found).all() if how != "sum" else not np.any(found)
    else:
        for got, given in zip(np.ravel(found), zip(*values, strict=True), strict=True):
            wanted, slack = _reduced(how, [float(one) for one in given])
            assert abs(float(got) - wanted) <= slack


def _rotate(subject: Subject, manager: Any, places: int) -> None:
    """Let the fields of all rows go some places on, those of the last ones to the first."""
    names = [f.name for f in subject.whole]
    used = used_rows(manager)
    for name in (*names, *(part for parts in subject.split.values() for part in parts)):
        column = getattr(manager.data, name)
        column[used] = np.roll(column[used], places, axis=0)


def _reduced(how: str, values: list[float]) -> tuple[float, float]:
    """Return what a reduction should give, and how far off it may be."""
    if how in ("min", "max"):
        return (min if how == "min" else max)(values), 0.0
    divisor = len(values) if how == "mean" else 1
    slack = 1e-12 * math.fsum(map(abs, values))
    return math.fsum(values) / divisor, slack


def run(manager: Any, name: str, arguments: Mapping[str, Any]) -> Any:
    """Call a kernel, with blocks so small that there are several."""
    with runtime_with(block_rows=lambda row_bytes: 8):
        return getattr(manager, name)(**arguments)


def _filled(
    subject: Subject,
    rows: int,
    rng: np.random.Generator,
    name: str,
    arguments: Mapping[str, Any],
    *,
    tame: bool = False,
) -> Any:
    """Return a manager with rows of random bits, after a run of the kernel over the first ones."""
    entities = EntityManager()
    is_owned = any(column.name == "entity" for column in subject.columns)
    manager = subject.manager(entities) if is_owned else subject.manager()
    manager.reserve(min(rows, subject.reserve or rows))
    behind = min(3, subject.reserve - rows) if subject.reserve else 3
    for count in (rows // 2, rows - rows // 2, behind):
        with subject.room_for(rows + behind):
            manager.create_many(born(entities, count) if is_owned else count)
        if count == rows // 2:
            with np.errstate(all="ignore"):
                run(manager, name, arguments)
    columns = {f.name: getattr(manager.data, f.name) for f in subject.whole}
    for parts in subject.split.values():
        columns |= {part: getattr(manager.data, part) for part in parts}
    for column in columns.values():
        if column.dtype.kind in "biuf":
            column[...] = random_cells(column.dtype, column.shape, rng, tame=tame)
            low, high = _range(column.dtype)
            column[rows::2], column[rows + 1 :: 2] = high, low
    used = used_rows(manager)
    manager.destroy_many(used[rows:])  # leaves their cells behind the last row
    if rows > 3:
        manager.destroy(int(used[2]))  # leaves a hole where rows are indices
    return manager


def _move_buffer(
    subject: Subject, manager: Any, name: str, arguments: Mapping[str, Any]
) -> None:
    """Move the rows after a kernel was run on them, which may have kept views."""
    before = columns_of(subject, manager)
    with np.errstate(all="ignore"):
        run(manager, name, arguments)
    put_columns(subject, manager, before)
    if not subject.reserve:
        manager.reserve(manager.capacity + 1)


def _range(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Return the least and the greatest finite value."""
    if dtype.kind == "b":
        return False, True
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max


def _related(manager: Any, rng: np.random.Generator) -> NDArray[Any]:
    """Give rows parents and make some inactive, where there is such a thing; return parents."""
    n = manager.data.n
    if hasattr(manager, "set_parent"):
        for row in range(1, n):
            if rng.random() < 0.8:
                manager.set_parent(row, int(rng.integers(0, row)))
    if hasattr(manager, "deactivate_many"):
        manager.deactivate_many(rng.random(n) < 0.3)
    if not hasattr(manager, "set_parent"):
        return np.full(n, -1)
    parents = manager.data.parent.astype(np.int64)
    parents[parents == 0xFFFF_FFFF] = -1
    return np.asarray(parents)


def running(manager: Any) -> int:
    """Return how many rows kernels run over."""
    return int(getattr(manager, "n_active", manager.data.n))


def _in_order(parents: NDArray[Any], n: int) -> list[int]:
    """Return rows [0, n), parents before their children."""
    depths = []
    for row in range(n):
        depth = 0
        while parents[row] >= 0:
            row, depth = int(parents[row]), depth + 1
        depths.append(depth)
    return sorted(range(n), key=depths.__getitem__)


def used_rows(manager: Any) -> NDArray[Any]:
    """Return the rows that are in use."""
    if hasattr(manager.data, "present"):
        return np.flatnonzero(manager.data.present)
    return np.arange(manager.data.n)


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


def put_columns(
    subject: Subject, manager: Any, columns: Mapping[str, NDArray[Any]]
) -> None:
    """Write columns as `columns_of` has them over those of the fields."""
    for f in subject.whole:
        getattr(manager.data, f.name)[...] = columns[f.name]
    for name, parts in subject.split.items():
        cells = columns[name].reshape(len(columns[name]), len(parts))
        for place, part in enumerate(parts):
            getattr(manager.data, part)[...] = cells[:, place]


def random_cells(
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    rng: np.random.Generator,
    *,
    tame: bool = False,
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


def argument(
    rng: np.random.Generator, kind: str, shape: tuple[int, ...], *enum: Any
) -> Any:
    if enum:
        return rng.choice(np.array(list(enum[0]), kind), shape)
    return np.asarray(random_cells(np.dtype(kind), shape, rng))


def same_cells(found: NDArray[Any], expected: NDArray[Any], is_exact: bool) -> bool:
    """Whether two columns are the same to the bit; NaN is NaN, and 0.0 is -0.0."""
    if found.dtype.kind != "f":
        return bool((found == expected).all())
    if not is_exact:
        with np.errstate(all="ignore"):
            return bool(np.isclose(found, expected, 1e-3, 1e-3, equal_nan=True).all())
    return bool(((found == expected) | (np.isnan(found) & np.isnan(expected))).all())


def flat(value: Any) -> Value:
    flat = np.asarray(value).reshape(-1)
    return [flat[i] for i in range(len(flat))]


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "fb" or value.dtype.kind != "f":
        return value.astype(dtype)
    limits = np.iinfo(dtype)
    if value != value:
        return dtype.type(0)
    clipped = min(max(value, float(limits.min)), float(limits.max))
    return dtype.type(min(max(math.trunc(float(clipped)), limits.min), limits.max))


def _power(a: Any, b: Any) -> Any:
    return np.power(a, b)


def _sign(a: Any) -> Any:
    return a if a != a else type(a)(int(a > 0) - int(a < 0))


def _smaller(a: Any, b: Any) -> Any:
    if a != a:
        return a
    return b if b != b or b < a else a


def _larger(a: Any, b: Any) -> Any:
    if a != a:
        return a
    return b if b != b or b > a else a


def _exactly(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    """Return a comparison that is exact for an i64 and a u64 too, which numpy takes as f64."""

    def compared(a: Any, b: Any) -> Any:
        is_whole = isinstance(a, np.integer) and isinstance(b, np.integer)
        return np.bool_(compare(int(a), int(b)) if is_whole else compare(a, b))

    return compared


SCALARS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": _power,
    "neg": operator.neg,
    "square": lambda a: a * a,
    "<": _exactly(operator.lt),
    "<=": _exactly(operator.le),
    ">": _exactly(operator.gt),
    ">=": _exactly(operator.ge),
    "==": _exactly(operator.eq),
    "!=": _exactly(operator.ne),
    "and": operator.and_,
    "or": operator.or_,
    "not": operator.invert,
    "if": lambda c, a, b: a if c else b,
    "abs": abs,
    "min": _smaller,
    "max": _larger,
    "sqrt": np.sqrt,
    "hypot": np.hypot,
    "exp": np.exp,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "sign": _sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
