"""Oracle of kernels: their steps, row by row, in plain Python."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernel_inputs, spaces
from .kernel_inputs import (
    Columns,
    Rng,
    flat,
    put,
    used_rows,
)
from .kernel_inputs import Drawing as Drawing
from .kernel_inputs import Each as Each
from .kernel_inputs import Value as Value
from .spaces import NaiveCellList, Rows
from .spaces import Neighbour as Neighbour
from .state_machine import SEARCH as SEARCH
from .subject import Handle, Subject


def number(scalar: str, value: Any) -> Value:
    """Return a literal."""
    return [np.dtype(scalar).type(value)]


def element(value: Value, shape: tuple[int, ...], *index: int) -> Value:
    """Return an element of a shape, or what is left of it."""
    places = np.arange(math.prod(shape)).reshape(shape)[index]
    return [value[number] for number in np.ravel(places).tolist()]


def cast(value: Value, scalar: str) -> Value:
    """Return a value in another type: integers wrap, floats are cut, NaN is 0."""
    return [_converted(item, np.dtype(scalar)) for item in value]


def apply(name: str, *operands: Value) -> Value:
    """Return what an operation makes of each element."""
    longest = max(map(len, operands))
    spread = [value * longest if len(value) == 1 else value for value in operands]
    return [SCALARS[name](*items) for items in zip(*spread, strict=True)]


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


def _converted(value: Any, dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "fb" or value.dtype.kind != "f":
        return value.astype(dtype)
    limits = np.iinfo(dtype)
    if value != value:
        return dtype.type(0)
    clipped = min(max(value, float(limits.min)), float(limits.max))
    return dtype.type(min(max(math.trunc(float(clipped)), limits.min), limits.max))


def _sign(a: Any) -> Any:
    return a if a != a else type(a)(int(a > 0) - int(a < 0))


def _extreme(is_further: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def chosen(a: Any, b: Any) -> Any:
        return b if a == a and (b != b or is_further(b, a)) else a

    return chosen


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
    "**": np.power,
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
    "min": _extreme(operator.lt),
    "max": _extreme(operator.gt),
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


NIL = 2**32 - 1


class Others:
    """The rows of some managers, by component, and their columns as a kernel leaves them.

    References read what was there before, and messages wait for `deliver`; in turns all is as
    it is now, and messages arrive at once.
    """

    def __init__(
        self,
        managers: Mapping[str, Any],
        columns: Mapping[str, Columns],
        alive: Callable[[int], bool],
        *,
        in_turns: bool,
        crowd: NaiveCellList | None = None,
    ) -> None:
        self._managers = managers
        self._columns = columns
        self._alive = alive
        self._crowd = crowd
        self._before = columns if in_turns else deepcopy(columns)
        self._in_turns = in_turns
        self._held: list[Callable[[], None]] = []

    def refer(self, text: str, by: str, handle: Value, default: tuple[Any, ...]) -> Value:
        """Return a field of the row that a handle leads to."""
        component, name = text.split(".")
        row, column = self._found(component, by, handle), self._before[component][name]
        return flat(np.array(default, column.dtype) if row is None else column[row])

    def exists(self, component: str, by: str, handle: Value) -> Value:
        """Return whether a handle leads to a row; without a component, whether one is alive."""
        if component:
            return [np.bool_(self._found(component, by, handle) is not None)]
        return [np.bool_(self._alive(int(handle[0])))]

    def send(self, text: str, by: str, handle: Value, how: str, value: Value, *index: int) -> None:
        """Do something with a field, or an element of it, of the row that a handle leads to."""
        component, name = text.split(".")
        row, column = self._found(component, by, handle), self._columns[component][name]
        if row is None:
            return

        def arrive() -> None:
            there = flat(column[(row, *index)])
            arrived = value if how == "=" else apply(how, there, value)
            put(column, (row, *index), arrived)

        if self._in_turns:
            arrive()
            if self._crowd is not None:
                self._crowd.moved(column, row)
        else:
            self._held.append(arrive)

    def deliver(self) -> None:
        """Deliver the messages that were sent, in order."""
        for arrive in self._held:
            arrive()
        self._held.clear()

    def hears_from(self, component: str, row: int) -> bool:
        """Return whether a row gets messages: not if its entity is dead."""
        data = self._managers[component].data
        return not hasattr(data, "entity") or self._alive(int(data.entity[row]))

    def _found(self, component: str, by: str, handle: Value) -> int | None:
        row = int(getattr(self._managers[component], by)(int(handle[0])))
        return row if row != NIL and self.hears_from(component, row) else None


def handles(managers: Iterable[Any]) -> NDArray[np.uint64]:
    """Return the owners and ids of all rows, and handles that lead to no row."""
    pools = [np.array([0, 1, 2**64 - 1, 77 << 32], np.uint64)]
    for manager in managers:
        if hasattr(manager.data, "entity"):
            pools.append(manager.data.entity)
        if hasattr(manager, "id_of_many"):
            pools.append(manager.id_of_many(used_rows(manager)))
    return np.concatenate(pools)


def link(subject: Subject, manager: Any, pool: NDArray[np.uint64], rng: Rng) -> None:
    """Make fields with handles lead to rows of a pool."""
    for f in subject.whole:
        if isinstance(f, Handle):
            column = getattr(manager.data, f.name)
            column[...] = rng.choice(pool, column.shape)


@dataclass
class Row:
    """One row of the columns that a kernel runs over."""

    columns: Columns
    row: int
    above: int = -1
    """The parent's row; less than 0 for roots."""
    rows: Rows = field(default_factory=dict)
    """By component: the row, if there are several components or references."""
    stem: int = 0
    crowd: NaiveCellList | None = None
    others: Any = None
    """`Others`, if it refers or sends to rows."""

    def place(self, name: str) -> int:
        """Return which row of a field's column it is."""
        return self.rows.get(name.partition(".")[0], self.row)

    def __getitem__(self, name: str) -> Value:
        return flat(self.columns[name][self.place(name)])

    def parent(self, name: str, root: tuple[Any, ...]) -> Value:
        """Return a field of the parent; of a root what is above the roots."""
        column = self.columns[name]
        is_root = self.above < 0
        return flat(np.array(root, column.dtype) if is_root else column[self.above])

    def draw(self, how: str, first: int, count: int, *bounds: Value) -> Value:
        """Return random numbers of this row, from the first one on."""
        return kernel_inputs.numbers(how, self.stem, first, count, bounds)

    def put(self, name: str, value: Value, *index: int) -> None:
        """Write a field, or an element of it."""
        column, row = self.columns[name], self.place(name)
        put(column, (row, *index), value)
        if self.crowd is not None:
            self.crowd.moved(column, row)

    def send(self, text: str, by: str, handle: Value, how: str, value: Value, *index: int) -> None:
        """Send a message unless a row's entity is dead."""
        if all(self.others.hears_from(*pair) for pair in self.rows.items()):
            self.others.send(text, by, handle, how, value, *index)

    @property
    def neighbours(self) -> list[Neighbour]:
        """Neighbours of the row now."""
        assert self.crowd is not None
        with np.errstate(all="ignore"):
            return self.crowd.around(self.place(self.crowd.place))

    def answer(self, how: str, scalar: str, shape: tuple[int, ...], values: list[Value]) -> Value:
        """Return what comes of what each neighbour answers."""
        squares = [neighbour.square for neighbour in self.neighbours]
        return spaces.answer(how, scalar, math.prod(shape), values, squares)


class Asked(Row):
    """A row that is only asked whether it matches: nothing is written."""

    def put(self, name: str, value: Value, *index: int) -> None:
        """Write nothing."""


def compare_reduction(actual: Any, values: list[Value], how: str) -> None:
    """Compare what is made of the values of all rows with what Python makes of them."""
    if how == "count":
        assert actual == sum(bool(item[0]) for item in values)
    elif not values:
        assert np.isnan(actual).all() if how != "sum" else not np.any(actual)
    else:
        for got, items in zip(np.ravel(actual), zip(*values, strict=True), strict=True):
            wanted, slack = _reduced(how, [float(item) for item in items])
            is_nothing = math.isnan(got) and math.isnan(wanted)
            assert is_nothing or abs(float(got) - wanted) <= slack


def _reduced(how: str, values: list[float]) -> tuple[float, float]:
    """Return what a reduction should give, and how far off it may be."""
    if how in ("min", "max"):
        return (min if how == "min" else max)(values), 0.0
    slack = 1e-12 * math.fsum(map(abs, values))
    total, n = math.fsum(values), len(values)
    if how == "std":
        return math.dist(values, [total / n] * n) / math.sqrt(n), slack
    if how == "median":
        return statistics.median(values), slack
    if how == "gini":
        weighted = [rank * item for rank, item in enumerate(sorted(values), 1)]
        if not total:
            return math.nan, 0.0
        slack += 1e-9 * math.fsum(map(abs, weighted)) * slack / total**2
        return 2 * math.fsum(weighted) / (n * total) - (n + 1) / n, slack + 1e-9
    return total / (n if how == "mean" else 1), slack


# A value is a list of numpy scalars, one per element of its shape. Nothing is fast
# here.


def take_turns(kernel: Any, rows: Sequence[Row], cells: Sequence[list[Value]]) -> None:
    """Run the steps of one row after the other, or in the order of their first words."""
    turns: Iterable[int] = range(len(rows))
    if kernel.turns == "random":
        words = [(kernel_inputs.first_word(row.stem), row.row) for row in rows]
        turns = sorted(turns, key=words.__getitem__)
    for k in turns:
        kernel.steps(rows[k], *cells[k])
