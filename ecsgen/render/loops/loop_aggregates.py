"""Neighbour aggregates in loops: `count`, `sum`, `max_by` … of the neighbours in reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

from ecsgen.kernels import statements
from ecsgen.kernels.statements import AggregateNeighbours
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.loops.element_operations import arithmetic, extreme_of
from ecsgen.render.loops.element_values import ElementIndex, Value, uniform
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.row_loop import RowLoop
from ecsgen.render.loops.scalar_code import Code, Precedence, make_call_code, wrap_to_type

ADDITIVE: Final = frozenset({"count", "sum", "mean"})
"""Functions to which each neighbour adds something, whatever the others add."""


def shared_aggregates(
    first: AggregateNeighbours, later: Sequence[statements.Statement]
) -> Iterator[AggregateNeighbours]:
    """Yield later aggregates that may share the loop of `first`. These are additive, of the same
    neighbours, and need no value of the loop; no statement before them writes anything."""
    pending = {first.to.name}
    first_near = first.aggregate.near
    for statement in later if first.aggregate.function in ADDITIVE else ():
        match statement:
            case AggregateNeighbours(aggregate=aggregate):
                nodes = tree.walk(aggregate)
                is_ready = not any(isinstance(n, tree.Local) and n.name in pending for n in nodes)
                if is_ready and aggregate.function in ADDITIVE and aggregate.near == first_near:
                    yield statement
            case statements.SetLocal():
                pass
            case statements.Comment():
                continue
            case _:
                return
        pending.add(statement.to.name)


class RunningTotal:
    """Count, sum or mean of neighbours; floats are added in f64, from first to last."""

    def __init__(self, node: AggregateNeighbours, emit: RowLoop, near: NeighbourAccess) -> None:
        self._aggregate, self._type = node.aggregate, node.to.type
        self._emit, self._near = emit, near
        self._none = node.aggregate.none
        parts = node.aggregate.where, node.aggregate.value
        self.parts = [expression for expression in parts if expression is not None]
        """Condition and value, computed for each neighbour; empty if all neighbours count."""
        self._n_matches = near.count
        if not self.parts:
            return
        function = node.aggregate.function
        is_count, is_mean = function == "count", function == "mean"
        type_, name = self._type, "number" if is_count else "mean" if is_mean else "total"
        if type_.is_float:
            type_ = type_.of_scalar("f64")
        zero = Code("0") if is_count and near.is_python else near.zero(type_)
        self._total = initialised(emit, name, type_, zero)
        if (is_mean or self._none is not None) and node.aggregate.where is not None:
            self._n_matches = emit.names.allocate("how_many")
            emit.write(f"{self._n_matches} = 0")

    def add(self) -> None:
        emit, aggregate, parts = self._emit, self._aggregate, self.parts
        if aggregate.function == "count":
            self._count([emit.value(part).at(0) for part in parts])
        elif aggregate.where is None:
            emit.change(self._total, emit.value(parts[0]), self._sum)
        else:
            with emit.block(f"if {emit.value(parts[0]).at(0).text}"):
                emit.change(self._total, emit.value(parts[1]), self._sum)
                if self._n_matches != self._near.count:
                    emit.write(f"{self._n_matches} += 1")

    def _count(self, tests: list[Code]) -> None:
        test, number = tests[0], self._total.at(0).text
        if len(tests) > 1:
            test = Code(" and ".join(code.within(Precedence.AND) for code in tests), Precedence.AND)
        if self._near.is_python:  # adds its own integers fast
            self._emit.write(f"if {test.text}:", f"    {number} += 1")
        else:
            self._emit.write(f"{number} += 1 if {test.within(Precedence.OR)} else 0")

    def _sum(self, there: Code, code: Code) -> str:
        value = self._aggregate.value
        assert value is not None
        code, total = wrap_to_type(code, value.type.scalar), self._total.type.scalar
        if value.type.scalar != total:
            is_own = self._emit.builder.is_own(self._total.type)
            code = make_call_code("float" if is_own else SCALARS[total].numpy, code)
        return arithmetic("+", Type(total), there, code).text

    def final_value(self) -> Value:
        """Return the total, count or mean after the loop, or what it is of no neighbour."""
        value = self._value_of_some()
        if self._none is None:
            return value
        held = self._emit.stored(value, "asked")
        with self._emit.block(f"if {self._n_matches} == 0"):
            self._emit.store(self._emit.spread(self._none, self._type), held)
        return held

    def _value_of_some(self) -> Value:
        type_, function, is_python = self._type, self._aggregate.function, self._near.is_python
        if not self.parts or (function == "count" and is_python):
            number = self._total.at(0).text if self.parts else self._n_matches
            code = Code(f"np.int64({number})", Precedence.CALL)
            if is_python:
                code = replace(code, python_number=lambda: number)
            return uniform(type_, code)
        is_mean = function == "mean"
        if not is_mean and type_.scalar == self._total.type.scalar:
            return self._total

        def at(index: ElementIndex) -> Code:
            code = self._total.at(index)
            if is_mean:
                # 0 / 0 has one sign or the other, as a compiler likes
                quotient = f"{code.text} / {self._n_matches}"
                choice = f"{quotient} if {self._n_matches} else np.float64(np.nan)"
                code = Code(choice, Precedence.CHOICE)
            return make_call_code("np.float32", code) if type_.scalar == "f32" else code

        return self._emit.stored(Value(type_, at), "asked")


def initialised(emit: RowLoop, name: str, type_: Type, code: Code) -> Value:
    """Return new variables that all begin with a number."""
    held = emit.variables(type_, name)
    emit.store(uniform(Type(type_.scalar), wrap_to_type(code, type_.scalar)), held)
    return held


class AggregateLoop:
    """Loops over the neighbours in reach, one for each aggregate or for several."""

    def __init__(self, emit: RowLoop, near: NeighbourAccess) -> None:
        self._emit = emit
        self._near = near
        self._listed, self._count = near.listed, near.count

    def values(self, node: AggregateNeighbours, *more: AggregateNeighbours) -> list[Value]:
        """Return the values of aggregates, after their statements; several only if `ADDITIVE`."""
        aggregate, value = node.aggregate, node.aggregate.value
        if aggregate.function in ADDITIVE:
            totals = [RunningTotal(each, self._emit, self._near) for each in (node, *more)]
            return self._sum_up(totals)
        assert value is not None  # only `count` has none
        if aggregate.where is not None and not aggregate.keys:
            self._filter(aggregate.where)
        match aggregate.function:
            case "nearest":
                return [self._nearest(aggregate, value)]
            case "mode":
                return [self._mode(aggregate, value)]
            case "min" | "max":
                return [self._extreme(aggregate, value)]
            case "min_by" | "max_by":
                self._keep_best(aggregate)
        return [self._choose(aggregate, value)]

    def _begin(
        self, name: str, aggregate: tree.NeighbourAggregate, code: Code | None = None
    ) -> Value:
        """Return new variables that hold the value without neighbours; `code`: it, but for
        `none=`."""
        type_ = aggregate.type
        if aggregate.none is None:
            return initialised(self._emit, name, type_, code or self._near.zero(type_))
        none = self._emit.spread(aggregate.none, type_)
        held = self._emit.variables(type_, name)
        self._emit.store(none, held)
        return held

    @contextmanager
    def neighbours(self, needs_offset: bool) -> Iterator[None]:
        """Loop over all listed neighbours."""
        kind = Type(self._near.scalar, (self._near.axes,))
        parts = [tree.Offset(kind, self._near.join.near.name)] if needs_offset else []
        for _ in self._each_neighbour(*parts, is_counted=False):
            yield

    def _sum_up(self, totals: Sequence[RunningTotal]) -> list[Value]:
        looped = [total for total in totals if total.parts]
        parts = [part for total in looped for part in total.parts]
        for _ in self._each_neighbour(*parts, is_counted=False) if parts else ():
            self._emit.write(*self._near.fetch_lines(parts))
            for total in looped:
                total.add()
        return [total.final_value() for total in totals]

    def _filter(self, where: tree.Expression) -> None:
        """List the neighbours for which a condition is true."""
        emit = self._emit
        matches, count = self._list("some"), emit.names.allocate("how_many")
        emit.write(f"{count} = 0")
        for variable in self._each_neighbour(where):
            neighbour = self._list_item(variable)
            with emit.block(f"if {emit.value(where).at(0).text}"):
                emit.write(f"{matches}[{count}] = {neighbour}", f"{count} += 1")
        self._listed, self._count = matches, count

    def _list(self, name: str) -> str:
        array = self._emit.names.allocate(name)
        if self._near.is_python:
            self._emit.write(f"{array} = [0] * {self._count}")
        else:
            self._emit.arrays.append(f"{array} = {self._near.new_list}")
        return array

    def _keep_best(self, aggregate: tree.NeighbourAggregate) -> None:
        """List the neighbours with the greatest or least keys, all equal ones. Of most neighbours
        only the first key is computed; the condition only of those that would be best."""
        emit, near = self._emit, self._near
        is_most, is_plain = aggregate.function == "max_by", emit.builder.is_plain
        order = "compare_nan_lowest" if is_most else "compare_nan_highest"
        better, worse = "><" if is_most else "<>"
        keys, where = aggregate.keys, aggregate.where
        ties, count, rank = self._list("ties"), *map(emit.names.allocate, ("tied", "rank"))
        held = [emit.variables(key.type, "best").at(0).text for key in keys]
        emit.write(f"{count} = 0")
        for key, best in zip(keys, held, strict=True):
            zero = Code("0") if near.is_python else near.zero(key.type)
            emit.write(f"{near.declared(best)} = {wrap_to_type(zero, key.type.scalar).text}")
        codes: list[str] = []
        with emit.over(self._count, "f") as variable:
            neighbour, has_offset = self._list_item(variable), _needs_offset(keys[0])
            self._select_neighbour(neighbour, *keys[:1])
            for key, best in zip(keys, held, strict=True):
                if codes and not has_offset and _needs_offset(key):
                    emit.write(*near.offset_lines())
                    has_offset = True
                code = self._named_key(key)
                ranked = f"{order}({code}, {best})"
                if codes:
                    emit.write(f"if {rank} == 0:", f"    {rank} = {ranked}")
                else:
                    nan = f"{code} != {code} or " if key.type.is_float else ""
                    test = f"{count} == 0"
                    if is_plain:  # Python takes longer to call a function; NaN is left out below
                        test += f" or {code} {better} {best}"
                        ranked = f"-1 if {code} {worse} {best} else 0"
                    emit.write(f"{rank} = 1 if {test} else {ranked}")
                codes.append(code)
                test = f"{nan}{rank} < 0" if len(codes) == 1 else f"{rank} < 0"
                emit.write(f"if {test}:", "    continue")
            if where is not None:
                if not has_offset and _needs_offset(where):
                    emit.write(*near.offset_lines())
                emit.write(f"if not ({emit.value(where).at(0).text}):", "    continue")
            with emit.block(f"if {rank} > 0"):
                pairs = zip(held, codes, strict=True)
                emit.write(f"{count} = 0", *(f"{best} = {code}" for best, code in pairs))
            emit.write(f"{ties}[{count}] = {neighbour}", f"{count} += 1")
        self._listed, self._count = ties, count

    def _named_key(self, key: tree.Expression) -> str:
        """Return the variable with a key. Where lists are Python's own the key is Python's own
        number too: numpy's take many times as long to compare."""
        emit, value = self._emit, self._emit.value(key)
        may_be_own = key.type.is_bool or any(
            isinstance(n, tree.Local | tree.Tick) for n in tree.walk(key)
        )
        may_be_own = may_be_own and not emit.builder.is_own(key.type)
        if may_be_own or not self._near.is_python:
            return emit.keep_number(value).at(0).text
        if number := emit.own_number(key):
            return emit.assign(Code(number), "key").text
        code = wrap_to_type(value.at(0), key.type.scalar).within(Precedence.ATOM)
        return emit.assign(Code(f"{code}.item()"), "key").text

    def _choose(self, aggregate: tree.NeighbourAggregate, value: tree.Expression) -> Value:
        emit, owner = self._emit, self._near.owner_component(value)
        held = self._begin("chosen", aggregate)
        row = emit.row_of_chosen(owner, held) if owner and aggregate.none is None else ""
        drawn, test = emit.drawn_index(aggregate.number, self._count), f"{self._count} > 0"
        if aggregate.weight is not None:
            unit = emit.drawn_number(aggregate.number)
            weights = self._gathered("weights", aggregate.weight)
            drawn = f"weighted_index({weights}, {self._count}, {unit})"
            drawn = emit.assign(Code(drawn), "drawn").text
            test = f"{drawn} >= 0"
        with emit.block(f"if {test}"):
            if aggregate.weight is None:
                drawn = emit.assign(Code(drawn), "drawn").text
            self._select_neighbour(self._list_item(drawn), value)
            emit.store(emit.value(value), held)
            if row:
                emit.write(f"{row} = {self._near.candidate}")
        return held

    def _gathered(self, name: str, value: tree.Expression) -> str:
        """Return a variable with a value of each listed neighbour."""
        emit, scalar = self._emit, value.type.scalar
        values = emit.names.allocate(name)
        if self._near.is_python:
            emit.write(f"{values} = [{self._near.zero(value.type).text}] * {self._count}")
        else:
            size, dtype = self._near.most, SCALARS[scalar].numpy
            emit.arrays.append(f"{values} = np.empty({size}, {dtype})")
        for variable in self._each_neighbour(value):
            code = wrap_to_type(emit.value(value).at(0), scalar)
            emit.write(f"{values}[{variable}] = {code.text}")
        return values

    def _mode(self, aggregate: tree.NeighbourAggregate, value: tree.Expression) -> Value:
        emit, values = self._emit, self._gathered("met", value)
        held = self._begin("mode", aggregate)
        with emit.block(f"if {self._count} > 0"):
            frequent = f"{values}[most_frequent({values}, {self._count})]"
            emit.store(uniform(value.type, Code(frequent)), held)
        return held

    def _each_neighbour(self, *values: tree.Expression, is_counted: bool = True) -> Iterator[str]:
        """Write the head of a loop over neighbours; yields the variable that counts these."""
        if self._near.is_python and not (self._near.listed_offsets or is_counted):
            with self._emit.block(f"for {self._near.candidate} in {self._listed}"):
                if any(map(_needs_offset, values)):
                    self._emit.write(*self._near.offset_lines())
                yield ""
            return
        with self._emit.over(self._count, "f") as variable:
            self._select_neighbour(self._list_item(variable), *values)
            yield variable

    def _select_neighbour(self, which: str, *values: tree.Expression) -> None:
        near = self._near
        if near.listed_offsets:
            near.list_index = which
            which = f"{near.listed}[{which}]"
        is_far = any(map(_needs_offset, values))
        self._emit.write(f"{near.candidate} = {which}", *(near.offset_lines() if is_far else []))

    def _list_item(self, variable: str) -> str:
        """Return the expression for a neighbour in the list: its index if the list has offsets."""
        if self._near.listed_offsets and self._listed == self._near.listed:
            return variable
        if self._listed == self._near.listed:
            return self._near.listed_at(variable)
        return f"{self._listed}[{variable}]"

    def _extreme(self, aggregate: tree.NeighbourAggregate, value: tree.Expression) -> Value:
        type_, function = aggregate.type, aggregate.function
        nan = Code("np.nan" if type_.scalar == "f64" else f"{SCALARS[type_.scalar].numpy}(np.nan)")
        name, element_type = "least" if function == "min" else "greatest", Type(type_.scalar)
        none = nan if type_.is_float else self._near.zero(type_)
        held = self._begin(name, aggregate, none)
        for variable in self._each_neighbour(value):

            def choose(there: Code, code: Code, which: str = variable) -> str:
                code = wrap_to_type(code, element_type.scalar)
                other = extreme_of(function, element_type, there, code)
                other = wrap_to_type(other, element_type.scalar)
                return self._if_first(which, code, other)

            self._emit.change(held, self._emit.named(self._emit.value(value)), choose)
        return held

    def _if_first(self, variable: str, code: Code, other: Code) -> str:
        """Return the expression for `code` of the first neighbour, `other` of those that follow."""
        return f"{code.within(Precedence.OR)} if {variable} == 0 else {other.text}"

    def _nearest(self, aggregate: tree.NeighbourAggregate, value: tree.Expression) -> Value:
        emit, near = self._emit, self._near
        held = self._begin("nearest", aggregate)
        first = emit.assign(Code(self._count), "first").text
        zero = "0" if near.is_python else f"{SCALARS[near.scalar].numpy}(0)"
        least = emit.assign(Code(zero), "closest").text
        square = emit.names.allocate("square")
        for variable in self._each_neighbour(tree.Offset(Type(near.scalar, (near.axes,)))):
            emit.write(f"{square} = {near.square}")
            test = f"{variable} == 0 or {square} < {least}"
            if near.may_be_nowhere:
                test = f"{first} == {self._count} or {square} < {least}"
                emit.write(f"if {square} != {square}:", "    continue")
            with emit.block(f"if {test}"):
                emit.write(f"{first} = {variable}", f"{least} = {square}")
        with emit.block(f"if {first} < {self._count}"):
            self._select_neighbour(self._list_item(first), value)
            emit.store(emit.value(value), held)
        return held


def _needs_offset(value: tree.Expression) -> bool:
    return any(isinstance(node, tree.Offset | tree.Distance) for node in tree.walk(value))
