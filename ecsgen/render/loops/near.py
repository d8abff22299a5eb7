"""Neighbours in loops: whom a row asks, how those in reach are listed, what they have, as all was
before the kernel, or as it is now; and questions, for each of which there is a loop over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ecsgen.kernels.form import Ask
from ecsgen.model.programs import (
    Distance,
    Expression,
    Local,
    Offset,
    OtherField,
    Question,
    Tick,
    walk,
)
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.kernels.sources import Asked
from ecsgen.render.loops.code import Code, Level, called, cut
from ecsgen.render.loops.elements import arithmetic, extreme_of
from ecsgen.render.loops.frame import LoopFrame, Parameter, cells_of
from ecsgen.render.loops.values import UNROLLED, Emitter, Place, Value, plus, uniform

if TYPE_CHECKING:
    from ecsgen.render.loops.loop_body import LoopBody

_PARTS: Final = {
    **dict.fromkeys(("order", "cells", "runs", "low", "high"), "NDArray[np.uint32]"),
    "crosses": "NDArray[np.bool_]",
    "most": "int",
    "own": "NDArray[{}]",
    "others": "NDArray[{}]",
    "reach": "{}",
    "sizes": "NDArray[{}]",
}
"""What `NearCells` has, and of which types, some of which are that of places."""
_MEMBERS: Final = {"members": "NDArray[np.uint32]"}
"""What the world's kernels take besides."""
_NAMES: Final = {"names": "EntityArray", "other_names": "EntityArray"}
"""By which those who ask are told from those who are asked."""


class Neighbours(ABC):
    """The way to a neighbour, and what it has: names in the function."""

    is_python = False
    """Whether lists are Python's own, made for each row."""
    ways = ""
    """The array that tells the way to each in the list, if there is one."""
    at = ""
    """Which of the list the neighbour is, if so."""

    def __init__(self, asked: Asked, frame: LoopFrame) -> None:
        self.asked = asked
        self.members: dict[str, Parameter] = {}
        """The rows of those who may be asked in each component."""
        self._frame = frame
        self.kept = kept = frame.names.kept
        self.scalar, self.axes = self._kind
        self.parameters: dict[str, Parameter] = {}
        """What the function is given."""
        self.place = kept("o")
        """Which of all that may be asked the neighbour is."""
        self.found, self.count = kept("found"), kept("count")
        """The places of all that are in reach, and how many they are."""
        self.offsets = [kept(f"d{one}") for one in "xyz"[: self.axes]]
        """The way to the neighbour, along each axis."""
        self._take()

    @property
    def _kind(self) -> tuple[str, int]:
        """The scalar type and the number of axes of the way to a neighbour."""
        place = self.asked.near.place.type
        return place.scalar, place.shape[0]

    @property
    def square(self) -> str:
        """The expression for `dot(offset, offset)`."""
        return " + ".join(f"{one} * {one}" for one in self.offsets)

    @abstractmethod
    def _take(self) -> None:
        """Have the function given what it needs."""

    def told(self, name: str, annotation: str, passed: str) -> str:
        """The parameter that says something."""
        return self._frame.parameter(name, annotation, passed, self.parameters)

    def zero(self, type_: Type) -> Code:
        """What stands for no neighbour's."""
        return self._frame.zero(type_)

    def of_other(self, node: OtherField | Offset | Distance) -> Value:
        """The elements of what a neighbour is or has."""
        if isinstance(node, Offset):
            return Value(node.type, lambda place: Code(self.offsets[int(place)]))
        if isinstance(node, Distance):
            return Value(node.type, lambda place: called("np.sqrt", Code(self.square)))
        return self._has(node)

    @abstractmethod
    def _has(self, node: OtherField) -> Value:
        """What a neighbour has in a field."""

    @abstractmethod
    def setup(self) -> list[str]:
        """The statements before the loop, once all of it is written."""

    def listed(self, body: LoopBody) -> list[str]:
        """The statements that list those in reach of the row."""
        return []

    def owner_met(self, value: Expression) -> str:
        """The component whose row a neighbour is, if the value is the entity that has it."""
        return ""

    @abstractmethod
    def way(self, crosses: bool = True) -> list[str]:
        """The statements that find the way to a neighbour, the short one around if it may cross
        a border."""

    def _member(self, owner: str, which: str) -> str:
        """The expression for a member's row in a component."""
        asked = self.asked
        if not asked.own.is_world:
            return which
        if owner not in self.members:
            name = self.kept(f"{asked.components[owner].module}_members")
            self.members[owner] = Parameter(name, "RowArray", asked.other_rows(owner))
        return f"{self.members[owner].name}[{which}]"


class InSpace(Neighbours):
    """Neighbours in a continuous space."""

    places: str
    """The variable with the places of all who may be asked."""

    def _take(self) -> None:
        kept, letters = self.kept, "xyz"[: self.axes]
        self._starts = [kept(one) for one in letters]
        self._halves = [kept(f"half_{one}") for one in letters]
        self._sizes = [kept(f"size_{one}") for one in letters]
        self.cell, self.ranked, self._run = kept("c"), kept("k"), kept("r")

    def way(self, crosses: bool = True) -> list[str]:
        lines, axes = [], zip(self._starts, self.offsets, self._halves, self._sizes, strict=True)
        for axis, (start, apart, half, size) in enumerate(axes):
            lines.append(f"{apart} = {self.places}[{axis}, {self.place}] - {start}")
            if crosses:
                lines.append(f"if abs({apart}) > {half}:")
                lines.append(f"    {apart} = {apart} - {size} * np.rint({apart} / {size})")
        return lines

    def _measured(self, sizes: str) -> list[str]:
        """The statements that name the sizes of axes."""
        lines = []
        for axis, (size, half) in enumerate(zip(self._sizes, self._halves, strict=True)):
            lines += [f"{size} = {sizes}[0, {axis}]", f"{half} = {sizes}[1, {axis}]"]
        return lines


class Before(InSpace):
    """As everything was before the kernel: rows in the order of their cells, each with a list of
    those in reach, whose fields are copied in that order."""

    def _take(self) -> None:
        super()._take()
        is_world, is_two = self.asked.own.is_world, self.asked.is_two
        wanted = _PARTS | (_MEMBERS if is_world else {}) | (_NAMES if is_two else {})
        dtype = SCALARS[self.scalar].numpy
        self.names = {
            name: self.told(name, text.format(dtype), f"_cells.{name}")
            for name, text in wanted.items()
        }
        self.places = self.names["others"]
        self._copies: dict[str, tuple[str, OtherField, int]] = {}
        """By column: what it is called in the order of cells, what it is of, and elements of a
        row."""

    @property
    def heads(self) -> list[str]:
        """The first lines of the loops: over cells, and over the rows of each."""
        cell, cells = self.cell, self.names["cells"]
        return [
            f"for {cell} in range(len({cells}) - 1):",
            f"    for {self.ranked} in range({cells}[{cell}], {cells}[{cell} + 1]):",
        ]

    @property
    def number(self) -> str:
        """The expression for the row of these loops."""
        return f"{self.names['order']}[{self.ranked}]"

    def _has(self, node: OtherField) -> Value:
        arrays, place = self._frame.arrays(node), self.place
        elements = node.type.elements if len(arrays) == 1 else 1
        for one in arrays:
            if one not in self._copies:
                self._copies[one] = self.kept(f"other_{one}"), node, elements
        names = [self._copies[one][0] for one in arrays]
        if elements > 1:
            return Value(node.type, lambda p: Code(f"{names[0]}[{p}, {place}]"))
        return Value(node.type, lambda p: Code(f"{names[int(p)]}[{place}]"), len(names) > 1)

    def setup(self) -> list[str]:
        lines = self._measured(self.names["sizes"])
        lines.append(f"{self.found} = np.empty({self.names['most']} + 1, np.uint32)")
        return [*lines, *(line for one in self._copies for line in self._copied(one))]

    def _copied(self, array: str) -> list[str]:
        """The statements that copy a column."""
        (name, node, elements), row, k = self._copies[array], self._frame.row, self.ranked
        members = self.names.get("members", self.names["order"])
        shape = f"len({members})" if elements == 1 else f"({elements}, len({members}))"
        head = [
            f"{name} = np.empty({shape}, {SCALARS[node.type.scalar].numpy})",
            f"for {k} in range(len({members})):",
            f"    {row} = {self._member(node.owner, f'{members}[{k}]')}",
        ]
        is_long = elements > UNROLLED
        each = [f"    for {self._run} in range({elements}):"] if is_long else []
        pad = "        " if each else "    "
        for place in [self._run] if is_long else range(elements):
            to = f"{k}" if elements == 1 else f"{place}, {k}"
            start = row if elements == 1 else plus(f"{elements} * {row}", place)
            each.append(f"{pad}{name}[{to}] = {array}[{start}]")
        return [*head, *each]

    @property
    def rows_around(self) -> list[str]:
        """The statements that list those in reach of a row, without a branch for each."""
        names, run, place, cell = self.names, self._run, self.place, self.cell
        runs, reach, is_other = names["runs"], names["reach"], f"{place} != {self.ranked}"
        if self.asked.is_two:
            is_other = f"{names['other_names']}[{place}] != {names['names']}[{self.ranked}]"

        def listed(crosses: bool) -> list[str]:
            return [
                f"    for {run} in range({runs}[{cell}], {runs}[{cell} + 1]):",
                f"        for {place} in range({names['low']}[{run}], {names['high']}[{run}]):",
                *(f"            {line}" for line in self.way(crosses)),
                f"            {self.found}[{self.count}] = {place}",
                f"            {self.count} += ({self.square} <= {reach}) & ({is_other})",
            ]

        own, head = names["own"], f"if {names['crosses']}[{cell}]:"
        starts = [f"{one} = {own}[{axis}, {self.ranked}]" for axis, one in enumerate(self._starts)]
        return [*starts, f"{self.count} = 0", head, *listed(True), "else:", *listed(False)]


class Now(InSpace):
    """As everything is now: cells from which rows go and to which they come, whenever something is
    written to a place."""

    def _take(self) -> None:
        super()._take()
        self.places = self.kept("places")
        self._cells = self.told(
            f"cells_now{self.asked.tag}", "TurnCells", f"_cells{self.asked.tag}"
        )
        self.ways = "" if self._frame.is_plain else self.kept("ways")

    def _has(self, node: OtherField) -> Value:
        arrays = self._frame.met_arrays(node)
        return cells_of(arrays, node.type, self._member(node.owner, self.place))

    def setup(self) -> list[str]:
        cells = self._cells
        kind = "np.uint32" if self.ways else "np.intp"  # no sign to look at, if compiled
        found = f"{self.found} = np.empty({cells}.most + 1, {kind})"
        if self.ways:
            kind = SCALARS[self.scalar].numpy
            return [found, f"{self.ways} = np.empty(({self.axes}, len({self.found})), {kind})"]
        return [f"{self.places} = {cells}.places", *self._measured(f"{cells}.sizes"), found]

    def way(self, crosses: bool = True) -> list[str]:
        if not self.ways:
            return super().way(crosses)
        axes = enumerate(self.offsets)
        return [f"{apart} = {self.ways}[{axis}, {self.at}]" for axis, apart in axes]

    def listed(self, body: LoopBody) -> list[str]:
        """The statements that list those in reach of a row's place."""
        row, near = self._frame.row, self.asked.near
        place = body.value(near.place)
        if not self._frame.program.takes_turns:  # as it was before
            own = OtherField(near.place.type, near.place.name, near.place.owner, near.name)
            own_row = body.row_of(near.place.owner)
            place = cells_of(self._frame.met_arrays(own), own.type, own_row)
        starts = [f"{start} = {place.at(axis).text}" for axis, start in enumerate(self._starts)]
        given = f"{self._cells}, {row}, ({', '.join(self._starts)}), {self.found}"
        given += f", {self.ways}" if self.ways else ""
        return [*starts, f"{self.count} = near_now({given})"]

    def left(self, row: str) -> str:
        """The statement after which a row is nowhere."""
        return f"leave_space({self._cells}, {row})"

    def moved(self, row: str, place: Value) -> str:
        """The statement after which a row is where its place is now."""
        axes = ", ".join(place.at(axis).text for axis in range(place.type.elements))
        return f"move_to({self._cells}, {row}, ({axes}))"


class Questions:
    """What a kernel's rows ask: a loop over those in reach for each question."""

    def __init__(self, emit: Emitter, near: Neighbours) -> None:
        self._emit = emit
        self._near = near
        self._found, self._count = near.found, near.count

    def answer(self, node: Ask) -> Value:
        """The statements that ask, and the answers."""
        question, type_ = node.question, node.to.type
        value = question.value
        if question.where is not None and not question.keys:
            self._leave_out(question.where)
        if value is None:
            return uniform(type_, called("np.int64", Code(self._count)))
        match question.how:
            case "nearest":
                return self._nearest(type_, value)
            case "count":
                return self._counted(type_, value)
            case "min" | "max":
                return self._extreme(type_, question.how, value)
            case "choice":
                return self._chosen(type_, value, question.number)
            case "min_by" | "max_by":
                self._keep_best(question)
                return self._chosen(type_, value, question.number)
        return self._added(type_, question.how, value)

    def _leave_out(self, where: Expression) -> None:
        """Statements that list those for which a condition is true."""
        emit = self._emit
        some, count = self._list("some"), emit.names.take("how_many")
        emit.write(f"{count} = 0")
        for variable in self._each(where):
            met = self._which(variable)
            with emit.block(f"if {emit.value(where).at(0).text}"):
                emit.write(f"{some}[{count}] = {met}", f"{count} += 1")
        self._found, self._count = some, count

    def _list(self, name: str) -> str:
        """Working memory for a list of neighbours."""
        made = self._emit.names.take(name)
        if self._near.is_python:
            self._emit.write(f"{made} = [0] * {self._count}")
        else:
            self._emit.arrays.append(f"{made} = np.empty_like({self._near.found})")
        return made

    def _keep_best(self, question: Question) -> None:
        """Statements that list those whose keys are the greatest, or the least, all equal ones: of
        most only the first key is looked at, and the condition of those who would be best."""
        emit, near = self._emit, self._near
        order = "ranks_above" if question.how == "max_by" else "ranks_below"
        keys, where = question.keys, question.where
        ties, count, rank = self._list("ties"), *map(emit.names.take, ("tied", "rank"))
        held = [emit.variables(key.type, "best").at(0).text for key in keys]
        emit.write(f"{count} = 0")
        for key, best in zip(keys, held, strict=True):
            zero = "0" if near.is_python else cut(self._zero(key.type), key.type.scalar).text
            emit.write(f"{best} = {zero}")
        codes: list[str] = []
        with emit.over(self._count, "f") as variable:
            met, is_on_the_way = self._which(variable), _is_far(keys[0])
            self._meet(met, *keys[:1])
            for key, best in zip(keys, held, strict=True):
                if codes and not is_on_the_way and _is_far(key):
                    emit.write(*near.way())
                    is_on_the_way = True
                code = self._named_key(key)
                ranked = f"{order}({code}, {best})"
                if codes:
                    emit.write(f"if {rank} == 0:", f"    {rank} = {ranked}")
                else:
                    nan = f"{code} != {code} or " if key.type.is_float else ""
                    emit.write(f"{rank} = 1 if {count} == 0 else {ranked}")
                codes.append(code)
                test = f"{nan}{rank} < 0" if len(codes) == 1 else f"{rank} < 0"
                emit.write(f"if {test}:", "    continue")
            if where is not None:
                if not is_on_the_way and _is_far(where):
                    emit.write(*near.way())
                emit.write(f"if not ({emit.value(where).at(0).text}):", "    continue")
            with emit.block(f"if {rank} > 0"):
                pairs = zip(held, codes, strict=True)
                emit.write(f"{count} = 0", *(f"{best} = {code}" for best, code in pairs))
            emit.write(f"{ties}[{count}] = {met}", f"{count} += 1")
        self._found, self._count = ties, count

    def _named_key(self, key: Expression) -> str:
        """The variable with a key: Python's own number where lists are, of which many are compared
        in the time of one of numpy's."""
        emit, value = self._emit, self._emit.value(key)
        may_be_own = key.type.is_bool or any(isinstance(n, Local | Tick) for n in walk(key))
        if may_be_own or not self._near.is_python:
            return emit.kept(value).at(0).text
        code = cut(value.at(0), key.type.scalar).within(Level.ATOM)
        return emit.assign(Code(f"{code}.item()"), "key").text

    def _chosen(self, type_: Type, value: Expression, number: int) -> Value:
        """That of one of them by chance."""
        emit, owner = self._emit, self._near.owner_met(value)
        held = self._start("chosen", type_, cut(self._zero(type_), type_.scalar))
        row = emit.row_of_chosen(owner, held) if owner else ""
        with emit.block(f"if {self._count} > 0"):
            drawn = emit.assign(Code(emit.drawn_place(number, self._count)), "drawn")
            self._meet(self._which(drawn.text), value)
            emit.store(emit.value(value), held)
            if row:
                emit.write(f"{row} = {self._near.place}")
        return held

    def _start(self, name: str, type_: Type, code: Code) -> Value:
        """New variables that all begin with a number."""
        held = self._emit.variables(type_, name)
        self._emit.store(uniform(Type(type_.scalar), code), held)
        return held

    def _zero(self, type_: Type) -> Code:
        return self._near.zero(type_)

    def _each(self, *values: Expression) -> Iterator[str]:
        """Begin the statements for each neighbour in reach; gives the variable that counts them."""
        with self._emit.over(self._count, "f") as variable:
            self._meet(self._which(variable), *values)
            yield variable

    def _meet(self, which: str, *values: Expression) -> None:
        """Statements that begin with a neighbour."""
        near = self._near
        if near.ways:
            near.at = which
            which = f"{near.found}[{which}]"
        is_far = any(map(_is_far, values))
        self._emit.write(f"{near.place} = {which}", *(near.way() if is_far else []))

    def _which(self, variable: str) -> str:
        """The expression for one of a list: where it is among all in reach if they have ways."""
        if self._near.ways and self._found == self._near.found:
            return variable
        return f"{self._found}[{variable}]"

    def _counted(self, type_: Type, value: Expression) -> Value:
        emit, is_python = self._emit, self._near.is_python
        held = self._start("number", type_, Code("0") if is_python else self._zero(type_))
        number = held.at(0).text
        for _ in self._each(value):
            test = emit.value(value).at(0)
            if is_python:  # whose own integers are added in no time
                emit.write(f"if {test.text}:", f"    {number} += 1")
            else:
                emit.write(f"{number} += 1 if {test.within(Level.OR)} else 0")
        if is_python:
            emit.write(f"{number} = np.int64({number})")
        return held

    def _added(self, type_: Type, how: str, value: Expression) -> Value:
        """Floats in f64, one after the other."""
        is_float = type_.is_float
        total = type_.of_scalar("f64") if is_float else type_
        one = Type(total.scalar)
        held = self._start("mean" if how == "mean" else "total", total, self._zero(total))

        def add(there: Code, code: Code) -> str:
            code = cut(code, value.type.scalar)
            if value.type.scalar != total.scalar:
                code = called(SCALARS[total.scalar].numpy, code)
            return arithmetic("+", one, there, code).text

        for _ in self._each(value):
            self._emit.change(held, self._emit.value(value), add)

        def at(place: Place) -> Code:
            code = held.at(place)
            if how == "mean":
                code = Code(f"{code.text} / {self._count}", Level.PRODUCT)
            return code if type_.scalar == "f64" or not is_float else called("np.float32", code)

        return self._emit.stored(Value(type_, at), "asked")

    def _extreme(self, type_: Type, how: str, value: Expression) -> Value:
        nan = Code(f"{SCALARS[type_.scalar].numpy}(np.nan)")
        none = nan if type_.is_float else self._zero(type_)
        held = self._start("least" if how == "min" else "greatest", type_, cut(none, type_.scalar))
        one = Type(type_.scalar)
        for variable in self._each(value):

            def choose(there: Code, code: Code, which: str = variable) -> str:
                code = cut(code, one.scalar)
                other = cut(extreme_of(how, one, there, code), one.scalar)
                return self._if_first(which, code, other)

            self._emit.change(held, self._emit.named(self._emit.value(value)), choose)
        return held

    def _if_first(self, variable: str, code: Code, other: Code) -> str:
        """The expression for one thing of the first neighbour, and another of those that follow."""
        return f"{code.within(Level.OR)} if {variable} == 0 else {other.text}"

    def _nearest(self, type_: Type, value: Expression) -> Value:
        emit, near = self._emit, self._near
        held = self._start("nearest", type_, cut(self._zero(type_), type_.scalar))
        first = emit.assign(Code(self._count), "first").text
        least = emit.assign(Code(f"{SCALARS[near.scalar].numpy}(0)"), "closest").text
        square = emit.names.take("square")
        for variable in self._each(Offset(Type(near.scalar, (near.axes,)))):
            emit.write(f"{square} = {near.square}")
            with emit.block(f"if {variable} == 0 or {square} < {least}"):
                emit.write(f"{first} = {variable}", f"{least} = {square}")
        with emit.block(f"if {first} < {self._count}"):
            self._meet(self._which(first), value)
            emit.store(emit.value(value), held)
        return held


def _is_far(value: Expression) -> bool:
    """Whether it needs the way to a neighbour."""
    return any(isinstance(node, Offset | Distance) for node in walk(value))
