"""Kernels, row by row: what their steps say in plain Python, one scalar after another.

A value is a list of numpy scalars, one per element of its shape. Nothing is fast here.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from . import chance, kernel_borders, spaces
from .chance import Drawing as Drawing
from .kernel_cells import Value as Value
from .kernel_cells import columns_of, flat, put_columns, random_cells, same_cells
from .kernel_inputs import Each as Each
from .kernel_inputs import Inputs
from .package import EntityManager
from .runtime import runtime_with
from .spaces import Neighbour as Neighbour
from .subject import Subject, born

SETTINGS = settings(max_examples=30, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.sampled_from([0, 1, 2, 9, 33])
SEVERAL_BLOCKS = 2500
"""Rows that reductions take in more than two blocks, compiled or not."""


class Row:
    """One row of the columns that a kernel runs over."""

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        row: int,
        parent: int,
        stem: int = 0,
        neighbours: Sequence[Neighbour] = (),
    ) -> None:
        self.neighbours = neighbours
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

    def answer(
        self, how: str, scalar: str, shape: tuple[int, ...], values: list[Value]
    ) -> Value:
        """Return what comes of what each neighbour answers."""
        squares = [one.square for one in self.neighbours]
        found: Value = spaces.answer(how, scalar, math.prod(shape), values, squares)
        return found


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
    takes_rows: bool = False,
    drawing: chance.Drawing | None = None,
    near: str | float = 0.0,
) -> None:
    """Run a kernel, and its steps row by row, on the same random columns: nothing may differ.

    `arguments` has the dtype and shape of each, and the class of enums. With a border there is a
    condition, and `steps` returns whether it holds. `near`: the radius for neighbours, or the
    argument that it is. Then the same with some rows only, where a call can name them.
    """
    rng = np.random.default_rng(seed)
    inputs = Inputs(arguments, rng)
    radius = inputs.one_of(near, (1, 5, 20)) if isinstance(near, str) else near
    manager = _filled(subject, rows, rng, name, inputs)
    if radius:
        spaces.kill_some(manager, rng)
    parents = _related(manager, rng)
    inputs = inputs.of(manager.data.n)
    _move_buffer(subject, manager, name, inputs.plain)
    expected = columns_of(subject, manager)
    order = _in_order(parents, manager.data.n if all_rows else running(manager))
    stems = _stems(manager, expected, drawing, seed)
    around = spaces.around_rows(manager, expected, radius) if radius else {}

    def matches(row: int) -> bool:
        return bool(steps(Asked(expected, row, int(parents[row])), *inputs.cells(row)))

    with np.errstate(all="ignore"):
        if has_border:
            used = np.isin(order, used_rows(manager))
            own = {n: column for n, column in expected.items() if n != "entity"}
            kernel_borders.approach(own, np.array(order)[used].tolist(), matches, rng)
            put_columns(subject, manager, expected)
        run(manager, name, inputs.plain)
        for row in order:
            one = Row(expected, row, int(parents[row]), stems[row], around.get(row, ()))
            steps(one, *inputs.cells(row))
    _compare(subject, manager, expected, is_exact)
    if takes_rows:
        put_columns(subject, manager, expected)
        for is_mask in (False, True):
            bound = manager.data.n if all_rows else running(manager)
            chosen = _chosen_rows(manager, rng, is_mask)
            given = inputs.of(len(chosen))
            expected = columns_of(subject, manager)
            stems = _stems(manager, expected, drawing, seed)
            named: Any = chosen.tolist()
            if is_mask:
                named = np.isin(np.arange(manager.data.n), chosen)
            with np.errstate(all="ignore"):
                run(manager, name, given.plain | {"rows": named})
                for place, row in enumerate(chosen.tolist()):
                    if row < bound:
                        steps(Row(expected, row, -1, stems[row]), *given.cells(place))
            _compare(subject, manager, expected, is_exact)


def _stems(
    manager: Any,
    columns: Mapping[str, NDArray[Any]],
    drawing: chance.Drawing | None,
    seed: int,
) -> list[int]:
    """Return what the random numbers of each row have in common in the next call."""
    if drawing is None:
        return [0] * int(manager.data.n)
    manager.seed = seed
    who = chance.who_of(manager, columns, drawing)
    return chance.stems(seed, drawing.name, 0, who)


def _chosen_rows(manager: Any, rng: np.random.Generator, is_mask: bool) -> NDArray[Any]:
    """Return some rows in use, in any order, or in that of a mask."""
    used = used_rows(manager)
    chosen = rng.permutation(used)[: (len(used) + 1) // 2]
    return np.sort(chosen) if is_mask else chosen


def _compare(
    subject: Subject,
    manager: Any,
    expected: Mapping[str, NDArray[Any]],
    is_exact: bool,
) -> None:
    """Fail if a row's fields are not as expected."""
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
    *,
    all_rows: bool = False,
) -> None:
    """Compare a reduction with what Python makes of the values of all rows.

    Also with the row of the greatest value, and that of the least, in the last place.
    `value` gives nothing for rows that the reduction leaves out.
    """
    rng = np.random.default_rng(seed)
    rows = min(rows, subject.reserve or rows)
    manager = _filled(subject, rows, rng, name, Inputs({}, rng), tame=True)
    if hasattr(manager, "deactivate_many"):
        manager.deactivate_many(rng.random(manager.data.n) < 0.3)

    def values() -> list[Value]:
        columns = columns_of(subject, manager)
        bound = manager.data.n if all_rows else running(manager)
        with np.errstate(all="ignore"):
            return [
                value(Row(columns, int(row), -1))
                for row in used_rows(manager)
                if row < bound
            ]

    found = values()
    matching = [one for one in found if one]
    _compare_reduction(run(manager, name, {}), matching, how)
    for choose in (max, min) if matching else ():
        found = values()
        places = [k for k in range(len(found)) if found[k]]
        last = choose(places, key=lambda k: found[k][0])
        _rotate(subject, manager, len(found) - 1 - last)
        matching = [one for one in values() if one]
        _compare_reduction(run(manager, name, {}), matching, how)


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
    inputs: Inputs,
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
                run(manager, name, inputs.of(manager.data.n).plain)
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
