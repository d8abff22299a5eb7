"""Questions in loops: what a kernel's rows ask those in reach, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from ecsgen.kernels import statements
from ecsgen.kernels.statements import AggregateNeighbours
from ecsgen.model.typed_tree import (
    Distance,
    Expression,
    Local,
    NeighbourAggregate,
    Offset,
    Tick,
    walk,
)
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.loops.element_operations import arithmetic, extreme_of
from ecsgen.render.loops.element_values import ElementIndex, Value, uniform
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.scalar_code import Code, Precedence, make_call_code, wrap_to_type

if TYPE_CHECKING:
    from ecsgen.render.loops.loop_body import LoopBody

ADDED_UP: Final = frozenset({"count", "sum", "mean"})
"""To what each neighbour adds something, whatever the others do."""


def asked_along(
    first: AggregateNeighbours, later: Sequence[statements.Statement]
) -> Iterator[AggregateNeighbours]:
    """Questions to the same neighbours that may be asked in the same loop: nothing that they need
    is known only after the first one's answer, and nobody writes anything before."""
    made = {first.to.name}
    for one in later if first.question.function in ADDED_UP else ():
        match one:
            case AggregateNeighbours(question=asked):
                nodes = walk(asked)
                is_ready = not any(isinstance(n, Local) and n.name in made for n in nodes)
                if is_ready and asked.function in ADDED_UP and asked.near == first.question.near:
                    yield one
            case statements.SetLocal():
                pass
            case statements.Comment():
                continue
            case _:
                return
        made.add(one.to.name)


class RunningTotal:
    """What neighbours add up to: how many, their sum or mean; floats in f64, one after the
    other."""

    def __init__(self, node: AggregateNeighbours, emit: LoopBody, near: NeighbourAccess) -> None:
        self._question, self._type = node.question, node.to.type
        self._emit, self._near = emit, near
        self.parts = [one for one in (node.question.where, node.question.value) if one is not None]
        """What each neighbour is asked; nothing if all of them count."""
        self._many = near.count
        if not self.parts:
            return
        how = node.question.function
        is_count, is_mean = how == "count", how == "mean"
        type_, wish = self._type, "number" if is_count else "mean" if is_mean else "total"
        if type_.is_float:
            type_ = type_.of_scalar("f64")
        zero = Code("0") if is_count and near.is_python else near.zero(type_)
        self._total = started(emit, wish, type_, zero)
        if is_mean and node.question.where is not None:
            self._many = emit.names.allocate("how_many")
            emit.write(f"{self._many} = 0")

    def add(self) -> None:
        """The statements that add what the neighbour of now has."""
        emit, question, parts = self._emit, self._question, self.parts
        if question.function == "count":
            self._count([emit.value(one).at(0) for one in parts])
        elif question.where is None:
            emit.change(self._total, emit.value(parts[0]), self._sum)
        else:
            with emit.block(f"if {emit.value(parts[0]).at(0).text}"):
                emit.change(self._total, emit.value(parts[1]), self._sum)
                if question.function == "mean":
                    emit.write(f"{self._many} += 1")

    def _count(self, tests: list[Code]) -> None:
        test, number = tests[0], self._total.at(0).text
        if len(tests) > 1:
            test = Code(" and ".join(one.within(Precedence.AND) for one in tests), Precedence.AND)
        if self._near.is_python:  # whose own integers are added in no time
            self._emit.write(f"if {test.text}:", f"    {number} += 1")
        else:
            self._emit.write(f"{number} += 1 if {test.within(Precedence.OR)} else 0")

    def _sum(self, there: Code, code: Code) -> str:
        value = self._question.value
        assert value is not None
        code, total = wrap_to_type(code, value.type.scalar), self._total.type.scalar
        if value.type.scalar != total:
            code = make_call_code(SCALARS[total].numpy, code)
        return arithmetic("+", Type(total), there, code).text

    def answer(self) -> Value:
        """What it is at last."""
        type_, how, is_python = self._type, self._question.function, self._near.is_python
        if not self.parts or (how == "count" and is_python):
            number = self._total.at(0).text if self.parts else self._many
            own = (lambda: number) if is_python else None
            return uniform(type_, Code(f"np.int64({number})", Precedence.CALL, python_number=own))
        is_mean = how == "mean"
        if not is_mean and type_.scalar == self._total.type.scalar:
            return self._total

        def at(place: ElementIndex) -> Code:
            code = self._total.at(place)
            if is_mean:
                # 0 / 0 has one sign or the other, as a compiler likes
                quotient = f"{code.text} / {self._many} if {self._many} else np.float64(np.nan)"
                code = Code(quotient, Precedence.CHOICE)
            return make_call_code("np.float32", code) if type_.scalar == "f32" else code

        return self._emit.stored(Value(type_, at), "asked")


def started(emit: LoopBody, name: str, type_: Type, code: Code) -> Value:
    """New variables that all begin with a number."""
    held = emit.variables(type_, name)
    emit.store(uniform(Type(type_.scalar), wrap_to_type(code, type_.scalar)), held)
    return held


class AggregateLoop:
    """What a kernel's rows ask: a loop over those in reach for each question, or for several."""

    def __init__(self, emit: LoopBody, near: NeighbourAccess) -> None:
        self._emit = emit
        self._near = near
        self._found, self._count = near.found, near.count

    def answer(self, node: AggregateNeighbours, *others: AggregateNeighbours) -> list[Value]:
        """The statements that ask, and the answers; of several questions that are `ADDED_UP`."""
        question, type_, value = node.question, node.to.type, node.question.value
        if question.function in ADDED_UP:
            return self._added_up(
                [RunningTotal(one, self._emit, self._near) for one in (node, *others)]
            )
        assert value is not None  # only all are counted
        if question.where is not None and not question.keys:
            self._leave_out(question.where)
        match question.function:
            case "nearest":
                return [self._nearest(type_, value)]
            case "min" | "max":
                return [self._extreme(type_, question.function, value)]
            case "min_by" | "max_by":
                self._keep_best(question)
        return [self._chosen(type_, value, question.number)]

    def _added_up(self, tallies: Sequence[RunningTotal]) -> list[Value]:
        looped = [tally for tally in tallies if tally.parts]
        parts = [part for tally in looped for part in tally.parts]
        for _ in self._each(*parts, is_counted=False) if parts else ():
            for tally in looped:
                tally.add()
        return [tally.answer() for tally in tallies]

    def _leave_out(self, where: Expression) -> None:
        """Statements that list those for which a condition is true."""
        emit = self._emit
        some, count = self._list("some"), emit.names.allocate("how_many")
        emit.write(f"{count} = 0")
        for variable in self._each(where):
            met = self._which(variable)
            with emit.block(f"if {emit.value(where).at(0).text}"):
                emit.write(f"{some}[{count}] = {met}", f"{count} += 1")
        self._found, self._count = some, count

    def _list(self, name: str) -> str:
        made = self._emit.names.allocate(name)
        if self._near.is_python:
            self._emit.write(f"{made} = [0] * {self._count}")
        else:
            self._emit.arrays.append(f"{made} = np.empty_like({self._near.found})")
        return made

    def _keep_best(self, question: NeighbourAggregate) -> None:
        """Statements that list those whose keys are the greatest, or the least, all equal ones: of
        most only the first key is looked at, and the condition of those who would be best."""
        emit, near = self._emit, self._near
        order = "compare_nan_lowest" if question.function == "max_by" else "compare_nan_highest"
        keys, where = question.keys, question.where
        ties, count, rank = self._list("ties"), *map(emit.names.allocate, ("tied", "rank"))
        held = [emit.variables(key.type, "best").at(0).text for key in keys]
        emit.write(f"{count} = 0")
        for key, best in zip(keys, held, strict=True):
            zero = (
                "0" if near.is_python else wrap_to_type(near.zero(key.type), key.type.scalar).text
            )
            emit.write(f"{near.declared(best)} = {zero}")
        codes: list[str] = []
        with emit.over(self._count, "f") as variable:
            met, is_on_the_way = self._which(variable), _is_far(keys[0])
            self._meet(met, *keys[:1])
            for key, best in zip(keys, held, strict=True):
                if codes and not is_on_the_way and _is_far(key):
                    emit.write(*near.offset_lines())
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
                    emit.write(*near.offset_lines())
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
            return emit.keep_number(value).at(0).text
        if own := emit.own_number(key):
            return emit.assign(Code(own), "key").text
        code = wrap_to_type(value.at(0), key.type.scalar).within(Precedence.ATOM)
        return emit.assign(Code(f"{code}.item()"), "key").text

    def _chosen(self, type_: Type, value: Expression, number: int) -> Value:
        emit, owner = self._emit, self._near.owner_met(value)
        held = started(emit, "chosen", type_, self._near.zero(type_))
        row = emit.row_of_chosen(owner, held) if owner else ""
        with emit.block(f"if {self._count} > 0"):
            drawn = emit.assign(Code(emit.drawn_place(number, self._count)), "drawn")
            self._meet(self._which(drawn.text), value)
            emit.store(emit.value(value), held)
            if row:
                emit.write(f"{row} = {self._near.place}")
        return held

    def _each(self, *values: Expression, is_counted: bool = True) -> Iterator[str]:
        """Begin the statements for each neighbour in reach; gives the variable that counts them."""
        if self._near.is_python and not (self._near.ways or is_counted):
            with self._emit.block(f"for {self._near.place} in {self._found}"):
                if any(map(_is_far, values)):
                    self._emit.write(*self._near.offset_lines())
                yield ""
            return
        with self._emit.over(self._count, "f") as variable:
            self._meet(self._which(variable), *values)
            yield variable

    def _meet(self, which: str, *values: Expression) -> None:
        near = self._near
        if near.ways:
            near.at = which
            which = f"{near.found}[{which}]"
        is_far = any(map(_is_far, values))
        self._emit.write(f"{near.place} = {which}", *(near.offset_lines() if is_far else []))

    def _which(self, variable: str) -> str:
        """The expression for one of a list: where it is among all in reach if they have ways."""
        if self._near.ways and self._found == self._near.found:
            return variable
        return f"{self._found}[{variable}]"

    def _extreme(self, type_: Type, how: str, value: Expression) -> Value:
        nan = Code(f"{SCALARS[type_.scalar].numpy}(np.nan)")
        name, one = "least" if how == "min" else "greatest", Type(type_.scalar)
        none = nan if type_.is_float else self._near.zero(type_)
        held = started(self._emit, name, type_, none)
        for variable in self._each(value):

            def choose(there: Code, code: Code, which: str = variable) -> str:
                code = wrap_to_type(code, one.scalar)
                other = wrap_to_type(extreme_of(how, one, there, code), one.scalar)
                return self._if_first(which, code, other)

            self._emit.change(held, self._emit.named(self._emit.value(value)), choose)
        return held

    def _if_first(self, variable: str, code: Code, other: Code) -> str:
        """The expression for one thing of the first neighbour, and another of those that follow."""
        return f"{code.within(Precedence.OR)} if {variable} == 0 else {other.text}"

    def _nearest(self, type_: Type, value: Expression) -> Value:
        emit, near = self._emit, self._near
        held = started(emit, "nearest", type_, near.zero(type_))
        first = emit.assign(Code(self._count), "first").text
        zero = "0" if near.is_python else f"{SCALARS[near.scalar].numpy}(0)"
        least = emit.assign(Code(zero), "closest").text
        square = emit.names.allocate("square")
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
