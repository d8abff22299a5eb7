"""Questions to neighbours: a loop over those in reach of the row, for each question."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ecsgen.kernels.form import Ask
from ecsgen.model.programs import Distance, Expression, Offset, OtherField, walk
from ecsgen.model.scalars import SCALARS
from ecsgen.model.types import Type
from ecsgen.render.loops.code import Code, Level, called, cut
from ecsgen.render.loops.elements import extreme_of, sum_of
from ecsgen.render.loops.lookup import numbered
from ecsgen.render.loops.values import Emitter, Place, Value

_NAMES: Final = {
    "count": "number",
    "sum": "total",
    "mean": "mean",
    "min": "least",
    "max": "greatest",
    "nearest": "nearest",
}
"""What answers are called; min and max are functions."""


@dataclass(slots=True)
class Around:
    """What the loop over a row's neighbours is made of: names in the function."""

    axes: int
    scalar: str  # of places
    place: str  # of the neighbour among all that may be asked
    found: str  # the places of all that are in reach
    count: str  # how many they are
    offsets: list[str]
    """The way to the neighbour, along each axis."""
    way: Callable[[], list[str]]
    """The statements that find it."""
    has: Callable[[OtherField], Value]
    """The elements of what a neighbour has in a field."""

    @property
    def square(self) -> str:
        """The expression for `dot(offset, offset)`."""
        return " + ".join(f"{one} * {one}" for one in self.offsets)


class Questions:
    """What a kernel's rows ask."""

    def __init__(self, emit: Emitter, around: Around) -> None:
        self._emit = emit
        self._around = around

    def of_other(self, node: OtherField | Offset | Distance) -> Value:
        """The elements of what a neighbour is or has."""
        around = self._around
        if isinstance(node, Offset):
            return Value(node.type, lambda place: Code(around.offsets[int(place)]))
        if isinstance(node, Distance):
            return Value(node.type, lambda place: called("np.sqrt", Code(around.square)))
        return around.has(node)

    # --- a loop for each question ----------------------------------------------------------------

    def answer(self, node: Ask) -> Value:
        """The statements that ask, and the answers."""
        value = node.value
        if value is None:
            return Value(node.to.type, lambda place: called("np.int64", Code(self._around.count)))
        if node.how == "nearest":
            return self._nearest(node.to.type, value)
        if node.how == "count":
            return self._counted(node.to.type, value)
        if node.how in ("min", "max"):
            return self._extreme(node.to.type, node.how, value)
        return self._added(node.to.type, node.how, value)

    def _start(self, how: str, type_: Type, code: Code) -> Value:
        """New variables that all begin with a number."""
        held = self._emit.variables(type_, *_wishes(how))
        self._emit.store(Value(Type(type_.scalar), lambda place: code), held)
        return held

    @contextmanager
    def _each(self, value: Expression) -> Iterator[str]:
        """Statements for each neighbour in reach; gives the variable that counts them."""
        emit, around = self._emit, self._around
        variable = emit.names.take("f", "_f")
        with emit.block(f"for {variable} in range({around.count})"):
            self._meet(f"{around.found}[{variable}]", value)
            yield variable
        emit.names.taken.discard(variable)

    def _meet(self, which: str, value: Expression) -> None:
        """Statements that begin with a neighbour."""
        self._emit.write(f"{self._around.place} = {which}")
        if any(isinstance(node, Offset | Distance) for node in walk(value)):
            for line in self._around.way():
                self._emit.write(line)

    def _put(self, held: Value, change: Callable[[Place, Code], str], value: Value) -> None:
        """Write what a neighbour's value does to each element of the answer."""
        emit = self._emit
        if emit.count(held.type) > 1 and not value.type.shape:
            value = emit.kept(value)
        with emit.looped(emit.count(held.type), value.is_split or held.is_split) as places:
            for place in places:
                code = cut(value.at(place), value.type.scalar)
                emit.write(f"{held.at(place).text} = {change(place, code)}")

    def _counted(self, type_: Type, value: Expression) -> Value:
        held = self._start("count", type_, self._emit.constants.of(0, "i64"))
        name = held.at(0).text
        with self._each(value):
            test = self._emit.value(value).at(0)
            self._emit.write(f"{name} += 1 if {test.within(Level.OR)} else 0")
        return held

    def _added(self, type_: Type, how: str, value: Expression) -> Value:
        """Floats in f64, one after the other."""
        is_float = type_.is_float
        total = type_.of_scalar("f64") if is_float else type_
        one = Type(total.scalar)
        zero = self._emit.constants.of(0.0 if is_float else 0, total.scalar)
        held = self._start(how, total, zero)
        wide = SCALARS[total.scalar].numpy

        def add(place: Place, code: Code) -> str:
            if value.type.scalar != total.scalar:
                code = called(wide, code)
            return sum_of(one, held.at(place), code).text

        with self._each(value):
            self._put(held, add, self._emit.value(value))

        def at(place: Place) -> Code:
            code = held.at(place)
            if how == "mean":
                code = Code(f"{code.text} / {self._around.count}", Level.PRODUCT)
            return code if type_.scalar == "f64" or not is_float else called("np.float32", code)

        return self._emit.stored(Value(type_, at), *_wishes("asked"))

    def _extreme(self, type_: Type, how: str, value: Expression) -> Value:
        none = Code(f"{SCALARS[type_.scalar].numpy}(np.nan)")
        if not type_.is_float:
            none = self._emit.constants.of(0, type_.scalar)
        held = self._start(how, type_, cut(none, type_.scalar))
        one = Type(type_.scalar)
        with self._each(value) as variable:

            def choose(place: Place, code: Code) -> str:
                other = cut(extreme_of(how, one, held.at(place), code), one.scalar)
                return f"{code.within(Level.OR)} if {variable} == 0 else {other.text}"

            self._put(held, choose, self._emit.named(self._emit.value(value)))
        return held

    def _nearest(self, type_: Type, value: Expression) -> Value:
        emit, around = self._emit, self._around
        scalar = type_.scalar
        none: bool | int | float = 0.0 if type_.is_float else 0
        zero = emit.constants.of(False if type_.is_bool else none, scalar)
        held = self._start("nearest", type_, cut(zero, scalar))
        first, least = emit.names.take("first", "_first"), emit.names.take("closest", "_closest")
        square = emit.names.take("square", "_square")
        emit.write(f"{first} = {around.count}")
        emit.write(f"{least} = {SCALARS[around.scalar].numpy}(0)")
        with self._each(Offset(Type(around.scalar, (around.axes,)))) as variable:
            emit.write(f"{square} = {around.square}")
            with emit.block(f"if {variable} == 0 or {square} < {least}"):
                emit.write(f"{first} = {variable}")
                emit.write(f"{least} = {square}")
        with emit.block(f"if {first} < {around.count}"):
            self._meet(f"{around.found}[{first}]", value)
            emit.store(emit.value(value), held)
        return held


def _wishes(how: str) -> tuple[str, ...]:
    """What the answers of several questions of a kind are called."""
    return numbered(_NAMES.get(how, how))
