"""A row as its kernel's steps see it, in plain Python: operations, other rows, neighbours."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import chance, spaces
from .fields import Handle
from .kernel_inputs import Columns, Value, flat, put, used_rows
from .spaces import Crowd, Neighbour
from .subject import Subject

# --- The operations of kernels in plain Python, one scalar after another --------------


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


# --- The rows that kernels refer and send messages to, in plain Python ----------------


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
        crowd: Crowd | None = None,
    ) -> None:
        self._managers = managers
        self._columns = columns
        self._alive = alive
        self._crowd = crowd
        self._before = columns if in_turns else _copied(columns)
        self._in_turns = in_turns
        self._held: list[Callable[[], None]] = []

    def refer(
        self, text: str, by: str, handle: Value, default: tuple[Any, ...]
    ) -> Value:
        """Return a field of the row that a handle leads to."""
        component, name = text.split(".")
        row, column = self._found(component, by, handle), self._before[component][name]
        if row is None:
            return flat(np.array(default, column.dtype))
        return flat(column[row])

    def exists(self, component: str, by: str, handle: Value) -> Value:
        """Return whether a handle leads to a row; without a component, whether one is alive."""
        if component:
            return [np.bool_(self._found(component, by, handle) is not None)]
        return [np.bool_(self._alive(int(handle[0])))]

    def send(
        self, text: str, by: str, handle: Value, how: str, value: Value, *index: int
    ) -> None:
        """Do something with a field, or an element of it, of the row that a handle leads to."""
        component, name = text.split(".")
        row, column = self._found(component, by, handle), self._columns[component][name]
        if row is None:
            return

        def arrive() -> None:
            there = flat(column[(row, *index)])
            put(
                column, (row, *index), value if how == "=" else apply(how, there, value)
            )

        if self._in_turns:
            arrive()
            if self._crowd is not None:
                self._crowd.moved(column, row)
        else:
            self._held.append(arrive)

    def deliver(self) -> None:
        """Let the messages that were sent arrive, in order."""
        for arrive in self._held:
            arrive()
        self._held.clear()

    def hears_from(self, component: str, row: int) -> bool:
        """Whether a row's messages arrive: not those of dead entities."""
        data = self._managers[component].data
        return not hasattr(data, "entity") or self._alive(int(data.entity[row]))

    def _found(self, component: str, by: str, handle: Value) -> int | None:
        row = int(getattr(self._managers[component], by)(int(handle[0])))
        return row if row != NIL and self.hears_from(component, row) else None


def _copied(columns: Mapping[str, Columns]) -> dict[str, dict[str, NDArray[Any]]]:
    return {
        component: {name: column.copy() for name, column in of_one.items()}
        for component, of_one in columns.items()
    }


def handles(managers: Iterable[Any]) -> NDArray[np.uint64]:
    """Return the owners and ids of all rows, and what leads to nothing."""
    found = [np.array([0, 1, 2**64 - 1, 77 << 32], np.uint64)]
    for manager in managers:
        if hasattr(manager.data, "entity"):
            found.append(manager.data.entity)
        if hasattr(manager, "id_of_many"):
            found.append(manager.id_of_many(used_rows(manager)))
    return np.concatenate(found)


def link(
    subject: Subject, manager: Any, pool: NDArray[np.uint64], rng: np.random.Generator
) -> None:
    """Let the fields with handles lead to rows of a pool."""
    for f in subject.whole:
        if isinstance(f, Handle):
            column = getattr(manager.data, f.name)
            column[...] = rng.choice(pool, column.shape)


# --- A row as its kernel's steps see it, in plain Python ------------------------------


class Row:
    """One row of the columns that a kernel runs over."""

    def __init__(
        self,
        columns: Mapping[str, NDArray[Any]],
        row: int,
        parent: int = -1,
        stem: int = 0,
        crowd: Crowd | None = None,
        others: Others | None = None,
        is_heard: bool = True,
    ) -> None:
        self._crowd = crowd
        self._stem = stem
        self._columns = columns
        self._row = row
        self._parent = parent
        self._others = others
        self._is_heard = is_heard

    def place(self, name: str) -> int:
        """Return which row of a field's column it is."""
        return self._row

    def __getitem__(self, name: str) -> Value:
        return flat(self._columns[name][self.place(name)])

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
        column, row = self._columns[name], self.place(name)
        put(column, (row, *index), value)
        if self._crowd is not None:
            self._crowd.moved(column, row)

    def refer(
        self, text: str, by: str, handle: Value, default: tuple[Any, ...]
    ) -> Value:
        """Return a field of the row that a handle leads to; by default, what nothing has."""
        assert self._others is not None
        return self._others.refer(text, by, handle, default)

    def exists(self, component: str, by: str, handle: Value) -> Value:
        """Return whether a handle leads to a row, or an entity is alive."""
        assert self._others is not None
        return self._others.exists(component, by, handle)

    def send(
        self, text: str, by: str, handle: Value, how: str, value: Value, *index: int
    ) -> None:
        """Send a message, if anybody hears of it."""
        assert self._others is not None
        if self._is_heard:
            self._others.send(text, by, handle, how, value, *index)

    @property
    def neighbours(self) -> list[Neighbour]:
        """Who is near now."""
        assert self._crowd is not None
        with np.errstate(all="ignore"):
            return self._crowd.around(self.place(self._crowd.place))

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
