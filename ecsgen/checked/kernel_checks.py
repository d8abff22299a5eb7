"""Kernels, reductions and columns of tables, compiled so that they tell what is wrong."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from ecsgen_testing.reference import values
from ecsgen_testing.reference.draws import DRAWS
from ecsgen_testing.reference.effects import Effects
from ecsgen_testing.reference.expressions import SIGNS, ExpressionCompiler
from ecsgen_testing.reference.kernel_steps import CompiledKernel, Signal, Step, StepCompiler
from ecsgen_testing.reference.naive_world import Row, World
from ecsgen_testing.reference.operation_values import arithmetic, operation
from ecsgen_testing.reference.questions import Gather
from ecsgen_testing.reference.run import Run
from ecsgen_testing.reference.schema import Kernel, Reduction
from ecsgen_testing.reference.scopes import (
    Evaluate,
    Expression,
    Index,
    Names,
    Place,
    Scope,
    whole,
)
from ecsgen_testing.reference.values import NUMBERS, Value, binary

from ecsgen.checked.findings import Kinds, cast_kinds, is_lost, operation_kinds
from ecsgen.checked.recorder import Recorder
from ecsgen.checked.schema_texts import UNREAD, Operand, SchemaTexts, Statement, filled, plain

_FUNCTIONS: Final = frozenset(
    {*values.ROOTS, *values.ROUNDING, *values.OTHERS, *values.OF_VECTORS, *DRAWS, *NUMBERS}
    | {"min", "max", "sum", "clip"}
)
_CALCULATED: Final = _FUNCTIONS.difference(DRAWS)
"""Functions that traces show by their operands."""
_WITHOUT_NULL: Final = ("exists", "coords")
"""Functions in which a reference may lead nowhere."""
Find = Callable[[Scope, Value], Kinds]
"""Finds faults of what was worked out."""


@dataclass
class CheckedNames(Names):
    """Names of a kernel or reduction whose expressions are checked."""

    recorder: Recorder = field(init=False)
    texts: SchemaTexts = field(init=False)
    statement: Statement | None = None
    """The statement that is compiled."""
    allows_null: bool = False
    """True where a reference may lead nowhere."""
    ever: dict[str, Value] = field(default_factory=dict)
    """Samples of the locals of all steps."""

    @property
    def current(self) -> Statement:
        """The statement that is compiled, where there is one."""
        assert self.statement is not None
        return self.statement


class CheckedExpressions(ExpressionCompiler):
    """Compiler of checked expressions."""

    names: CheckedNames

    def __init__(self, names: Names, asked: str = "", subject: Place | None = None) -> None:
        assert isinstance(names, CheckedNames)
        super().__init__(names, asked, subject)
        self._recorder = names.recorder
        self._node: ast.expr = ast.Constant(0)

    def compile(self, node: ast.expr) -> Expression:
        """Return an expression that tells what is wrong with it, and keeps its last value."""
        if self.names.statement is None:
            return self._alone(node)
        names, outer = self.names, (self._node, self.names.allows_null)
        self._node = node
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _WITHOUT_NULL:
            names.allows_null = True
        expression = super().compile(node)
        self._node, names.allows_null = outer
        statement = self.names.current
        operand = statement.parts[node] = Operand(expression, self._asked)
        if expression.is_constant:
            return expression
        find = self._find(node, expression)
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in _CALCULATED:
            statement.calls.add(node)
        return operand.kept if find is None else self._checked(operand.kept, node, find)

    def _alone(self, node: ast.expr) -> Expression:
        """Return an expression that has a text of its own."""
        self.names.statement = statement = self.names.texts.statement(node)
        expression = self.compile(node)
        self.names.statement = None

        def evaluate(scope: Scope) -> Value:
            statement.begin()
            return expression.evaluate(scope)

        return replace(expression, evaluate=evaluate)

    def _checked(
        self,
        expression: Expression,
        node: ast.expr,
        find: Find,
        nodes: Iterable[ast.AST] | None = None,
    ) -> Expression:
        """Return an expression that tells what is found; `nodes`: whose values are shown, if not
        all names'."""
        statement, recorder, evaluate = self.names.current, self._recorder, expression.evaluate

        def checked(scope: Scope) -> Value:
            result = evaluate(scope)
            kinds = find(scope, result)
            if kinds:
                detail = "" if nodes else _with_numbers(statement, node)
                recorder.tell(statement, node, scope, kinds, plain(result), detail, nodes)
            return result

        return replace(expression, evaluate=checked)

    def _find(self, node: ast.expr, expression: Expression) -> Find | None:
        """Return what finds faults of a node's own operation, None if it has none."""
        parts: Sequence[ast.expr]
        match node:
            case ast.BinOp(left, sign, right) if expression.sample.kind != "b":
                name, parts = SIGNS[type(sign)], [left, right]
            case ast.UnaryOp(ast.USub(), operand):
                name, parts = "negative", [operand]
            case ast.Call(ast.Name(name), parts) if name in _FUNCTIONS:
                if name in _CALCULATED and node in self.names.current.calls:  # a question
                    return None
            case ast.Subscript(base, index):
                return self._index_check(base, index)
            case _:
                return None
        known = self.names.current.parts
        operands = [known[part] for part in parts if part in known]
        return lambda scope, result: operation_kinds(name, [o.value for o in operands], result)

    def _index_check(self, base: ast.expr, index: ast.expr) -> Find:
        known, nodes = self.names.current.parts, (
            index.elts if isinstance(index, ast.Tuple) else [index]
        )
        shape, numbers = known[base].expression.sample.shape, [known[node] for node in nodes]

        def find(scope: Scope, result: Value) -> Kinds:
            pairs = zip(numbers, shape, strict=True)
            is_within = all(0 <= number.value.one < size for number, size in pairs)
            return () if is_within else ("index",)

        return find

    # References, derived values, questions

    def _field(self, target: Place) -> Expression:
        expression, node, find = super()._field(target), self._node, target.find
        if target.is_own or target.is_current or self.names.allows_null:
            return expression

        def lead_nowhere(scope: Scope, result: Value) -> Kinds:
            return ("null",) if find(scope) is None else ()

        return self._checked(expression, node, lead_nowhere, [handle_of(node)])

    def _derived(self, target: Place) -> Expression:
        """Return a derived value, whose own text has its own place."""
        home, texts = target.component, self.names.texts
        node = self.schema.components[home].derived[target.field]
        if node not in texts.source_of:
            return super()._derived(target)
        recorder, statement = self._recorder, texts.statement(node)
        statement.read_at = self.names.current.order(self._node)
        names = CheckedNames(self.schema, home, home, statement=statement, allows_null=True)
        names.recorder, names.texts = recorder, texts
        derived = CheckedExpressions(names, subject=target).compile(node)
        settled = operation(values.settled, replace(derived, place=None))

        def evaluate(scope: Scope) -> Value:
            muted = recorder.is_muted
            recorder.is_muted = muted or target.find(scope) is None  # which is found itself
            result = settled.evaluate(scope)
            recorder.is_muted = muted
            return result

        return replace(settled, evaluate=evaluate)

    def _question(self, name: str, node: ast.Call) -> Expression:
        self.names.current.calls.add(node)
        return super()._question(name, node)

    def _gatherer(self, name: str, like: Value, node: ast.Call) -> Gather:
        gather, recorder = super()._gatherer(name, like, node), self._recorder
        if name == "mode":
            return gather
        statement = self.names.current

        def checked(scope: Scope, answers: list[Value]) -> Value:
            result = gather(scope, answers)
            kinds = operation_kinds(name, answers, result)
            if kinds:
                detail = f"{name} of {len(answers)} neighbours"
                recorder.tell(statement, node, scope, kinds, plain(result), detail)
            return result

        return checked


def handle_of(node: ast.AST) -> ast.AST:
    """Return the handle in `H.Component.field`, or in `id.field`."""
    if not isinstance(node, ast.Attribute):
        return node
    head = node.value
    is_typed = isinstance(head, ast.Attribute) and head.attr[:1].isupper()
    return head.value if is_typed and isinstance(head, ast.Attribute) else head


def _with_numbers(statement: Statement, node: ast.expr) -> str:
    """Return an operation with the numbers of its operands."""
    known = statement.operands
    unshown = [node, node.value] if isinstance(node, ast.Subscript) else [node]

    def text_of(part: ast.AST) -> str | None:
        operand = None if part in unshown else known.get(part)
        if operand is None or operand.value is UNREAD:
            return None
        text = str(plain(operand.value))
        return f"({text})" if isinstance(node, ast.UnaryOp) else text

    return filled(node, text_of)


class CheckedSteps(StepCompiler):
    """Compiler of checked steps."""

    EXPRESSIONS = CheckedExpressions
    _names: CheckedNames

    def compile(self, step: ast.stmt) -> Step:
        """Return a step that tells of its beginning and its end."""
        names, recorder, outer = self._names, self._names.recorder, self._names.statement
        names.statement = statement = names.texts.statement(step, outer)
        names.allows_null = _is_removal(step)
        act = super().compile(step)
        names.statement, names.allows_null = outer, False
        names.ever |= names.locals

        def checked(run: Effects, scope: Scope) -> Signal | None:
            recorder.before(statement, scope)
            run_step = act
            for follower in recorder.following:
                if follower.is_meant(scope):
                    run_step = partial(follower.follow, run_step, statement)
            signal = run_step(run, scope)
            recorder.settle()
            return signal

        return checked

    def _result(
        self, old: Expression, sign: str, new: Expression, node: ast.expr | None = None
    ) -> Evaluate:
        """Return a checked result: of the operation, and of the conversion to the field's type."""
        statement, recorder = self._names.current, self._names.recorder
        where, element = node or statement.node, statement.target
        left, right = Operand(old), Operand(new)
        result = Operand(arithmetic(sign, left.kept, right.kept) if sign else right.kept)
        evaluate = super()._result(old, "", result.kept)
        is_converted = result.expression.sample.type != old.sample.type
        index = old.place.index if old.place and not (sign or node) else whole

        def work_out(scope: Scope) -> Value:
            stored = evaluate(scope)
            kinds = _kinds(sign, left.value, right.value, result.value) if sign else ()
            kinds += cast_kinds(result.value, stored) if is_converted else ()
            if kinds:
                shown = f"{plain(left.value)} {sign} " if sign else "= "
                shown += str(plain(right.value))
                recorder.tell(statement, where, scope, kinds, plain(stored), shown)
            if index(scope) is None:
                recorder.tell(statement, element, scope, ("index",), plain(stored))
            return stored

        return work_out

    def _message(self, old: Expression, target: Place, sign: str, new: Expression) -> Step:
        act = super()._message(old, target, sign, new)
        statement, recorder = self._names.current, self._names.recorder
        handle = handle_of(_field_node(statement.target, target))

        def checked(run: Effects, scope: Scope) -> Signal | None:
            if target.find(scope) is None:
                recorder.tell(statement, statement.node, scope, ("null",), None, nodes=[handle])
            elif target.index(scope) is None:
                recorder.tell(statement, statement.target, scope, ("index",), None)
            return act(run, scope)

        return checked


def _kinds(sign: str, old: Value, operand: Value, result: Value) -> Kinds:
    """Return what is wrong with the operation of an assignment or a message."""
    kinds = operation_kinds(sign, (old, operand), result)
    return (*kinds, "lost") if sign in ("+", "-") and is_lost(old, operand, result) else kinds


def _field_node(node: ast.AST, target: Place) -> ast.AST:
    """Return what names the field in the target of a message, perhaps one of its elements."""
    if target.index is not whole and isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _is_removal(step: ast.stmt) -> bool:
    match step:
        case ast.Expr(ast.Call(ast.Name("destroy" | "remove"))):
            return True
    return False


def compile_checked(kernel: Kernel, texts: SchemaTexts, recorder: Recorder) -> CompiledKernel:
    """Return a kernel's condition and steps, compiled so that they tell what is wrong."""
    names = _names_of(kernel, texts, recorder)
    compiled = CheckedSteps(texts.schema, kernel, names).kernel()
    order = None if compiled.order is None else recorder.settling(compiled.order)
    where = recorder.noting(compiled.where, _statement_of(kernel.where, texts))
    return replace(compiled, where=where, order=order)


def _statement_of(node: ast.expr | None, texts: SchemaTexts) -> Statement | None:
    return None if node is None else texts.statement(node)


def _names_of(source: Kernel | Reduction, texts: SchemaTexts, recorder: Recorder) -> CheckedNames:
    names = CheckedNames.of(texts.schema, source)
    assert isinstance(names, CheckedNames)
    names.recorder, names.texts = recorder, texts
    return names


class CheckedRun(Run):
    """One checked call of a kernel; what is wrong with a message is told as of who sent it."""

    def __init__(
        self,
        world: World,
        compiled: CompiledKernel,
        recorder: Recorder,
        rows: Sequence[int] | None,
        arguments: dict[str, object],
    ) -> None:
        self._recorder = recorder
        self._senders: deque[tuple[Statement, Scope, list[Value]]] = deque()
        """Of messages that have not arrived: the step, its row, and the values of its parts."""
        super().__init__(world, compiled.kernel, rows, arguments, compiled)

    def send(self, row: Row, field: str, index: Index, sign: str, operand: Value) -> None:
        """Send a message; remember the step that did."""
        statement, scope = self._recorder.sender
        values = [part.value for part in statement.operands.values()]
        self._senders.append((statement, scope, values))
        super().send(row, field, index, sign, operand)

    def _deliver(self, row: Row, field: str, index: Index, sign: str, operand: Value) -> None:
        statement, scope, values = self._senders.popleft()
        cells = row.cells[field]
        old = Value(cells.type, cells.data[index])
        result = binary(sign, old, operand) if sign else old
        kinds = _kinds(sign, old, operand, result) if sign else ()
        if kinds:
            for part, known in zip(statement.operands.values(), values, strict=True):
                part.value = known
            if (target := statement.operands.get(statement.target)) is not None:
                target.value = old
            detail = f"{plain(old)} {sign} {plain(operand)}"
            node = statement.node
            self._recorder.tell(statement, node, scope, kinds, plain(result), detail)
            self._recorder.settle()
        super()._deliver(row, field, index, sign, operand)


class CompiledReduction(NamedTuple):
    """A reduction, or a column or the rows of a table, compiled to tell what is wrong with it."""

    look: Callable[[Scope], object]
    """Works out a row."""
    read: Mapping[str, Reduction]
    """The reductions whose values it reads, by name."""


def compile_reduction(
    reduction: Reduction, texts: SchemaTexts, recorder: Recorder
) -> CompiledReduction:
    """Return what looks at the rows of a reduction, or of a table."""
    names = _names_of(reduction, texts, recorder)
    expressions = CheckedExpressions(names)
    with np.errstate(all="ignore"):
        where = recorder.noting(
            expressions.condition(reduction.where), _statement_of(reduction.where, texts)
        )
        values: Iterable[Reduction] = [reduction]
        if reduction.value not in texts.source_of:  # the rows of a table
            tables = texts.schema.tables.values()
            values = chain(*(table.fields.values() for table in tables if table.rows is reduction))
        evaluates = [recorder.settling(expressions.compile(each.value).evaluate) for each in values]

    def look(scope: Scope) -> None:
        if where(scope):
            for evaluate in evaluates:
                evaluate(scope)

    return CompiledReduction(look, names.reductions)
