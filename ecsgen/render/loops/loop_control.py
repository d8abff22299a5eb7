"""Blocks, branches and loops inside of one row of a loop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias, TypeGuard

from ecsgen.kernels import statements as lowered
from ecsgen.kernels.operations import COMPARISONS, TABLE, Rule
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.kernel_methods.row_sources import NeighbourJoin
from ecsgen.render.loops.element_operations import choose, element_of
from ecsgen.render.loops.element_values import UNROLLED, ElementIndex, Value, plus, uniform
from ecsgen.render.loops.function_builder import FunctionBuilder
from ecsgen.render.loops.loop_aggregates import AggregateLoop
from ecsgen.render.loops.loop_neighbours import NeighbourAccess
from ecsgen.render.loops.loop_stencil import Stencil, StencilAggregates
from ecsgen.render.loops.row_lookup import Lookups
from ecsgen.render.loops.row_loop import RowLoop
from ecsgen.render.loops.row_values import RowValues
from ecsgen.render.loops.scalar_code import (
    Code,
    Precedence,
    infix,
    make_call_code,
    spelled,
    wrap_to_type,
)

OwnNumber: TypeAlias = Callable[[], Code]
"""Makes the expression for a number of Python's own, and hoists what it reads."""
FindOwn: TypeAlias = Callable[[tree.Expression], OwnNumber | None]
_WRAPPING: Final = frozenset({"+", "-", "*", "neg"})
"""Operations on integers whose results may have to wrap."""
_OF_NUMPY: Final = frozenset(
    op for op, known in TABLE.items() if known.rule in (Rule.FLOATS, Rule.WHOLE)
) | {"sign"}
"""Operations by functions that return numpy's scalars."""


class LoopControl(RowValues, RowLoop):
    """Writer of statements that hold others."""

    def __init__(
        self,
        builder: FunctionBuilder,
        rows: Mapping[str, str],
        nears: Mapping[str, NeighbourAccess],
        is_flat: bool,
    ) -> None:
        super().__init__(builder, rows, nears, is_flat)
        self.lookups = Lookups(self, self.grids)
        self._moving: list[NeighbourAccess] = []
        """Neighbourhoods of the loops around a statement whose rows may move meanwhile."""
        self._depth = 0
        """The number of loops inside of the loop over rows."""
        self._ended_name = ""
        self._has_ended = self._may_end_after = False
        self._who = ""
        """Variable with what the random numbers depend on, where loops draw."""

    @abstractmethod
    def run(self, statements: Sequence[lowered.Statement]) -> None:
        """Write statements."""

    @abstractmethod
    def words_of_link(self, near: NeighbourAccess, loop: lowered.ForNeighbours) -> tuple[str, str]:
        """Return the expressions for the random words of a pass over a link, and for what they
        depend on, where that is kept of all links; "" otherwise."""

    @property
    def is_in_loop(self) -> bool:
        """True if a statement is inside of a loop of the row."""
        return self._depth > 0

    def _branch(self, branch: lowered.If, word: str = "if") -> None:
        known = {**self.lookups.known_rows}
        with self.block(f"{word} {self.value(branch.test).at(0).text}"):
            self._block(branch.body)
        self._keep_known(known)
        match branch.otherwise:
            case ():
                return
            case (lowered.Comment(), lowered.If() as other) if self._is_free(other.test):
                self._branch(other, "elif")
            case otherwise:
                with self.block("else"):
                    self._block(otherwise)
        self._keep_known(known)

    def _is_free(self, test: tree.Expression) -> bool:
        """Return True if no statement has to come before a test."""
        lines: list[str] = []
        with self.into(lines):
            self.value(test).at(0)
        return not lines

    def _block(self, statements: Sequence[lowered.Statement]) -> None:
        self.run(statements)
        if not any(not isinstance(statement, lowered.Comment) for statement in statements):
            self.write("pass")

    def _keep_known(self, before: dict[str, tuple[str, str]]) -> None:
        """Forget the rows that were chosen in a block, and those that it has overwritten."""
        known = self.lookups.known_rows
        for name in [name for name in known if known[name] != before.get(name)]:
            del known[name]

    def _loop_over(self, loop: lowered.For) -> None:
        start, stop = (self._bound(node) for node in (loop.start, loop.stop))
        name = self.names.allocate(self.names.released(loop.counter.name))
        self.locals_[loop.counter.name] = self.own_variable(loop.counter.type, name)
        bounds = stop if start == "0" else f"{start}, {stop}"
        passes = self._counting(loop.draws)
        with (
            self._holding(loop),
            self.block(f"for {name} in range({bounds})"),
            self._inside_loop(),
            self._pass_of(passes),
        ):
            self._block(loop.body)
        self._end_row_after_loop()

    def own_variable(self, type_: Type, name: str) -> Value:
        """Return an integer that is in a variable, as Python's own number in plain loops."""
        if not self.builder.is_plain:
            return uniform(type_, Code(name))
        text = f"{SCALARS[type_.scalar].numpy}({name})"
        return uniform(type_, Code(text, Precedence.CALL, python_number=lambda: name))

    def index_code(self, node: tree.Expression) -> str:
        number = "" if isinstance(node, tree.Constant) else self.own_number(node)
        if number:
            return number if number.isidentifier() else self.assign(Code(number)).text
        return super().index_code(node)

    def _bound(self, node: tree.Expression) -> str:
        return self.own_number(node) or self.value(node).at(0).text

    def _loop_over_neighbours(self, loop: lowered.ForNeighbours) -> None:
        near = self._nears[loop.near]
        may_move = loop.needs_offset and near.may_move
        is_listed = loop.needs_offset and not may_move
        neighbours = self._loop_of(near).neighbours(is_listed)
        with self._holding(loop), neighbours, self._inside_loop():
            if test := self.gone_test(near.join, near.row_of, near.link_row):
                self.write(f"if {test}:", "    continue")
            if may_move:
                self._moving.append(near)
                self.write(*near.offset_now_lines(self))
            with self._pass_with(near, loop):
                self._block(loop.body)
        if may_move:
            self._moving.remove(near)
        self._end_row_after_loop()

    def _follow_moves(self) -> None:
        """Write the offsets anew to the neighbours that loops have come to: something has moved."""
        for near in self._moving:
            self.write(*near.offset_now_lines(self))

    def gone_test(
        self, join: NeighbourJoin, row_of: Callable[[str], str], link_row: Callable[[str], str]
    ) -> str:
        """Return the test that a neighbour, with these rows, or the link to it has gone since; ""
        if none can."""
        tests, links = [], join.links.components if join.near.via is not None else {}
        for components, row, is_link in ((join.components, row_of, False), (links, link_row, True)):
            for owner, component in components.items():
                if marks := self.lookups.despawned_rows(component.name):
                    tests.append(f"{marks}[{row(owner)}]")
            owned = next((name for name, c in components.items() if c.owner == "entity"), None)
            if owned is not None:
                near = join.near.name
                entity = tree.NeighbourField(tree.HANDLE, tree.ENTITY, owned, near, is_link)
                alive = self.lookups.entity_alive_test(self.value(entity).at(0).text)
                tests += [f"not ({alive})"] if alive else []
        gone = " or ".join(tests)
        if not (gone and join.has_ghosts):
            return gone
        owner = join.position_owner  # ghosts, behind the rows, do not go
        return f"{row_of(owner)} < {self.end_of_rows(owner)} and ({gone})"

    def end_of_rows(self, owner: str) -> str:
        """Return the parameter with the number of a component's rows, behind which ghosts are."""
        rows = f"{self.builder.source.managers.data(owner)}._n"
        return self.builder.parameter("end_of_rows", "int", rows)

    def _loop_while(self, loop: lowered.While) -> None:
        passes = self.names.allocate("passes")
        drawn = f"{passes} + 1" if loop.draws else ""
        head = f"for {passes} in range({loop.at_most + 1})"
        with self._holding(loop), self.block(head), self._inside_loop(), self._pass_of(drawn):
            self.run(loop.head)
            test = self.value(loop.test).at(0)
            self.write(f"if not ({test.text}):", "    break")
            with self.block(f"if {passes} == {loop.at_most}"):
                self.write(f"{self.builder.cut_off}[{loop.number}] += 1", "break")
            self._block(loop.body)
        self._end_row_after_loop()

    @contextmanager
    def _holding(self, loop: lowered.Compound) -> Iterator[None]:
        """Keep the row's floats that an outermost loop writes in variables meanwhile: a compiler
        chooses between values, and branches around writes. In turns others may read them."""
        builder, fields = self.builder, list[tree.FieldValue]()
        if not (self._depth or builder.is_plain or builder.program.takes_turns):
            statements = [s for block in loop.blocks for s in tree.walk_nested(block)]
            writes = [s for s in statements if isinstance(s, lowered.WriteField)]
            written = {write.to for write in writes if write.items}
            items = (node for node in builder.program.nodes if isinstance(node, tree.Item))
            written |= {item.base for item in items if isinstance(item.base, tree.FieldValue)}
            fields = [write.to for write in writes if write.to not in written]
        for field in dict.fromkeys(fields):
            if field.type.is_float and field.type.elements <= UNROLLED:
                held = self.variables(field.type, f"own_{field.name}")
                self.store(self.value(field), held)
                self.held[field] = held
        yield
        for field in () if self._depth else [*self.held]:
            held = self.held.pop(field)
            self.store(held, self.value(field))

    @contextmanager
    def _inside_loop(self) -> Iterator[None]:
        known = {**self.lookups.known_rows}
        self.lookups.known_rows.clear()
        had_ended, self._has_ended = self._has_ended, False
        self._depth += 1
        yield
        self._depth -= 1
        self._may_end_after, self._has_ended = self._has_ended, self._has_ended or had_ended
        self._keep_known(known)

    def _counting(self, draws: bool) -> str:
        """Return the variable that counts the passes of a loop from 1; "" if nothing is drawn."""
        if not draws:
            return ""
        passes = self.names.allocate("passes")
        self.write(f"{passes} = 0")
        return passes

    @contextmanager
    def _pass_of(self, number: str, is_counted: bool = True) -> Iterator[None]:
        """Draw other random numbers in each pass of a loop; `number`: which pass it is, or what
        stands for it, "" if none are drawn; `is_counted`: a variable is counted up."""
        if not number:
            yield
            return
        outer = self.row_key, self._who
        if is_counted and number.isidentifier():
            self.write(f"{number} += 1")
        self.row_key, self._who = self._pass_key(number)
        yield
        self.row_key, self._who = outer

    @contextmanager
    def _pass_with(self, near: NeighbourAccess, loop: lowered.ForNeighbours) -> Iterator[None]:
        """Draw other random numbers with each neighbour."""
        outer = self.row_key, self._who
        words, who = self.words_of_link(near, loop)
        if words:
            self.row_key, self._who = self.names.allocate("key_of_pass"), who
            self.write(f"{self.row_key} = {words}")
            yield
            self.row_key, self._who = outer
            return
        whom = self.keep_number(self.value(loop.whom)).at(0).text if loop.draws else ""
        whom = f"int({whom})" if whom and self.builder.is_plain else whom
        with self._pass_of(whom, is_counted=False):
            yield

    def _pass_key(self, number: str) -> tuple[str, str]:
        """Return the variables with the key of a pass, and with what its numbers depend on."""
        who, key = self._who, self.names.allocate("key_of_pass")
        if self.builder.is_plain:
            call_key = self.builder.parameter("call_key", "int", "int(_key)")
            self.write(f"{key} = PassWords({who}, {number}, {call_key})")
            return key, f"{key}.who"
        inner = self.names.allocate("who_in_pass")
        self.write(f"{inner} = pass_stream({who}, {number})")
        self.write(f"{key} = stream_key({inner}, {self.builder.key})")
        return key, inner

    def jump(self, kind: tree.JumpKind) -> None:
        """End the row, a loop or a pass of it. Inner loops are left one after the other."""
        if kind != "return":
            self.write(kind)
        elif not self._depth:
            self.write("continue")
        else:
            self._has_ended = True
            self.write(f"{self._ended} = True", "break")

    @property
    def _ended(self) -> str:
        """Variable that is true once the row's statements have ended inside of a loop."""
        if not self._ended_name:
            self._ended_name = self.names.allocate("is_ended")
            self.first.append(f"{self._ended_name} = False")
        return self._ended_name

    def _end_row_after_loop(self) -> None:
        """End the row if it may have ended inside of the loop that was written last."""
        if self._may_end_after:
            self.write(f"if {self._ended}:", "    break" if self._depth else "    continue")

    def _loop_of(self, near: NeighbourAccess) -> AggregateLoop:
        kind = StencilAggregates if isinstance(near, Stencil) else AggregateLoop
        return kind(self, near)

    def own_number(self, node: tree.Expression) -> str:
        """Return the expression for a number of Python's own, if plain loops have one: comparing
        these is many times faster than comparing numpy's."""
        number = self._own(node)
        return number().text if number else ""

    def _own(self, node: tree.Expression) -> OwnNumber | None:
        """Return what makes the expression for a number of Python's own, if there is one."""
        type_, is_whole = node.type, is_whole_number(node.type)
        if not self.builder.is_plain or type_.shape:
            return None
        match node:
            case _ if self.builder.is_own(type_):
                return lambda: self.value(node).at(0)
            case tree.Constant() if is_whole:
                return lambda: constant_code(node.value)
            case tree.Argument(each=False) if is_whole and type_.scalar != "u64":
                return lambda: Code(self.builder.argument(node))
            case tree.Tick():
                return lambda: Code(self.builder.parameter("tick", "int", "self.tick"))
            case tree.Cast(operand=operand) if is_whole and _fits(operand.type, type_):
                return self._own(operand)
            case tree.Local() | tree.FieldValue() | tree.NeighbourField():
                number = self.value(node).at(0).python_number
                return number and (lambda: Code(number()))
            case tree.Operation() if is_whole:
                return self._own_integer(node)
            case tree.Draw(distribution="range", operands=(bound,)):
                limit = self._own(bound)
                return limit and (lambda: self._drawn_below(node.number, limit()))
        return None

    def _drawn_below(self, number: int, limit: Code) -> Code:
        index = self.drawn_index(number, limit.within(Precedence.PRODUCT + 1))
        return Code(index, Precedence.BIT_AND)

    def _own_integer(self, node: tree.Operation) -> OwnNumber | None:
        """Return what makes the expression for an operation on integers, which wraps."""
        name, scalar = node.name, node.type.scalar
        if name in _WRAPPING:
            result = self._own_result(node)
            return result and (lambda: wrapped(result(), scalar))
        numbers = node.operands[1:] if name == "if" else node.operands
        if (sides := self._all_own(self._own, numbers)) is None:
            return None
        first, last = sides[0], sides[-1]
        match name:
            case "min" | "max":
                return lambda: make_call_code(name, first(), last())
            case "if":
                test = node.operands[0]
                return lambda: choose(node.type, self.value(test).at(0), first(), last())
            case "//" | "%":
                return lambda: self._own_quotient(node, first(), last())
            case "abs":
                return lambda: wrapped(make_call_code("abs", first()), scalar)
        return None

    def _own_quotient(self, node: tree.Operation, number: Code, by: Code) -> Code:
        """Return the expression for a quotient or remainder, which is 0 of a division by 0."""
        divisor = node.operands[1]
        if isinstance(divisor, tree.Constant) and divisor.value > 0:
            return infix(node.name, Precedence.PRODUCT, number, by)
        if not by.is_atomic:
            by = self.assign(by)
        quotient = infix(node.name, Precedence.PRODUCT, number, by)
        if node.name == "//":  # by -1 of the least integer
            quotient = wrapped(quotient, node.type.scalar)
        return choose(node.type, by, quotient, Code("0"))

    def _own_result(self, node: tree.Expression) -> OwnNumber | None:
        """Return the expression for an integer to be stored by `_write_own`: those of Python's own
        do not wrap."""
        if not may_wrap(node):
            return self._own(node)
        if (sides := self._all_own(self._own_result, node.operands)) is None:
            return None
        if len(sides) == 1:
            (number,) = sides
            return lambda: Code(f"-{number().within(Precedence.SIGN)}", Precedence.SIGN)
        left, right = sides
        level = Precedence.PRODUCT if node.name == "*" else Precedence.SUM
        return lambda: infix(node.name, level, left(), right())

    def _all_own(self, find: FindOwn, nodes: Iterable[tree.Expression]) -> list[OwnNumber] | None:
        """Return what makes the expressions of several numbers, if each has one."""
        numbers = [find(node) for node in nodes]
        present = [number for number in numbers if number]
        return present if len(present) == len(numbers) else None

    def _write_own(self, there: Code, result: Code, scalar: str, is_sum: bool) -> None:
        """Write an integer of Python's own to a cell, which refuses those that have to wrap."""
        if not is_sum:
            self.write(f"{there.text} = {result.text}")
            return
        self.write("try:", f"    {there.text} = {result.text}")
        self.write("except ValueError:", f"    {there.text} = {wrapped(result, scalar).text}")

    def _compared(self, node: tree.Expression) -> OwnNumber | None:
        """Return the expression for a number of Python's own that compares as it should."""
        is_exact = not (node.type.is_float or node.type.is_time)
        if self.builder.is_plain and isinstance(node, tree.Constant) and is_exact:
            return lambda: Code(spelled(node.value))
        return None if node.type.is_float else self._own(node)

    def _elementwise(self, node: tree.Operation | tree.Draw) -> Value:
        if not self.builder.is_plain:
            return super()._elementwise(node)
        if isinstance(node, tree.Draw) and node.distribution in ("random", "bernoulli"):
            operands = [self.value(operand) for operand in node.operands]
            return Value(node.type, lambda index: self._drawn(node, index, *operands))
        if not self.builder.is_own(node.type):
            return super()._elementwise(node)
        value = super()._elementwise(node)
        if isinstance(node, tree.Operation):
            if node.name in ("/", "//", "%", "**"):
                return self._divided(node)
            if node.name not in _OF_NUMPY:
                return value
        return Value(node.type, lambda index: make_call_code("float", value.at(index)))

    def _drawn(self, draw: tree.Draw, index: ElementIndex, *probability: Value) -> Code:
        """Return a number in [0, 1), or the test that it is below a probability."""
        number = f"({self.row_key}[{plus(index, draw.number)}] >> 11) * 2.0**-53"
        if not probability:
            return Code(number, Precedence.PRODUCT)
        limit = probability[0].at(index).within(Precedence.BIT_OR)
        return Code(f"{number} < {limit} < np.inf", Precedence.COMPARISON)

    def is_refused(self, node: tree.Expression) -> bool:
        """Return True if Python's own floats may refuse an operation: a division by zero."""
        if not (isinstance(node, tree.Operation) and self.builder.is_own(node.type)):
            return False
        if node.name not in ("/", "//", "%"):
            return node.name == "**"
        by = node.operands[1]
        return not (isinstance(by, tree.Constant) and by.value)

    def _divided(self, node: tree.Operation) -> Value:
        """Return the elements of an operation that only numpy does with all numbers."""
        is_refused = self.is_refused(node)
        left, right = (self.spread(operand, node.type) for operand in node.operands)
        if is_refused:
            left, right = self.named(left), self.named(right)

        def at(index: ElementIndex) -> Code:
            number, by = left.at(index), right.at(index)
            of_numpy = element_of(node, [make_call_code("np.float64", number), by])
            if node.name == "**":
                return make_call_code("float", of_numpy)
            quotient = infix(node.name, Precedence.PRODUCT, number, by)
            if not is_refused:
                return quotient
            return Code(f"{quotient.text} if {by.text} else {of_numpy.text}", Precedence.CHOICE)

        return Value(node.type, at, left.is_split or right.is_split)

    def float_of(self, type_: Type, function: str, *operands: Code) -> Code:
        code = super().float_of(type_, function, *operands)
        if not self.builder.is_own(type_):
            return code
        if function == "np.sqrt":  # of squares
            return make_call_code("root_of", *operands)
        return make_call_code("float", code)

    def _cast(self, node: tree.Cast) -> Value:
        if not self.builder.is_own(node.type):
            return super()._cast(node)
        if number := self.own_number(node.operand):
            return uniform(node.type, make_call_code("float", Code(number)))
        value, scalar = self.value(node.operand), node.operand.type.scalar
        return Value(
            node.type,
            lambda index: make_call_code("float", wrap_to_type(value.at(index), scalar)),
            value.is_split,
        )

    def value(self, node: tree.Expression) -> Value:
        if isinstance(node, tree.Operation) and node.name in COMPARISONS.values():
            if sides := self._all_own(self._compared, node.operands):
                comparison = f" {node.name} ".join(
                    side().within(Precedence.BIT_OR) for side in sides
                )
                return uniform(node.type, Code(comparison, Precedence.COMPARISON))
            for operand in node.operands:
                if isinstance(operand, tree.Distance) and (
                    faster := self._nears[operand.near].faster_comparison(node, self)
                ):
                    return faster
        return super().value(node)


def is_whole_number(type_: Type) -> bool:
    """Return True for integers that are numbers."""
    return type_.is_integer and type_.is_number


def may_wrap(node: tree.Expression) -> TypeGuard[tree.Operation]:
    """Return True if an integer is the result of an operation that may wrap."""
    is_sum = isinstance(node, tree.Operation) and node.name in _WRAPPING
    return is_sum and is_whole_number(node.type)


def wrapped(number: Code, scalar: str) -> Code:
    """Return an integer of Python's own as its type has it."""
    if scalar == "i64":
        return make_call_code("wrap_int64", number)
    low, high = SCALARS[scalar].range
    if low == 0:
        return infix("&", Precedence.BIT_AND, number, Code(str(high)))
    raised = infix("+", Precedence.SUM, number, Code(str(-low)))
    cut = infix("&", Precedence.BIT_AND, raised, Code(str(high - low)))
    return infix("-", Precedence.SUM, cut, Code(str(-low)))


def constant_code(value: bool | int | float) -> Code:
    """Return a constant as Python has it."""
    text = spelled(value)
    return Code(text, Precedence.SIGN if text.startswith("-") else Precedence.ATOM)


def _fits(source: Type, target: Type) -> bool:
    """Return True if a type has all integers of another."""
    if not is_whole_number(source):
        return False
    (low, high), (least, greatest) = (SCALARS[t.scalar].range for t in (source, target))
    return least <= low and high <= greatest
