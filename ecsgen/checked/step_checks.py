"""Compiler of checked steps, and runs of a kernel that check messages when they arrive."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from ecsgen_testing.reference.effects import Effects
from ecsgen_testing.reference.run import Run
from ecsgen_testing.reference.schema import Kernel, Reduction
from ecsgen_testing.reference.scopes import Evaluate, Expression, Index, Place, Scope, whole
from ecsgen_testing.reference.statements import CompiledKernel, Signal, Step, StepCompiler
from ecsgen_testing.reference.values import Value, assigned, binary, computed
from ecsgen_testing.reference.world import Row, World

from ecsgen.checked.expression_checks import CheckedExpressions, CheckedNames, handle_of
from ecsgen.checked.methods import Written
from ecsgen.checked.recorder import Recorder, Spot
from ecsgen.checked.schema_texts import SchemaTexts, Statement, plain
from ecsgen.checked.value_checks import Kinds, arithmetic_kinds, cast_kinds, is_lost

_BLOCKS = (ast.If, ast.For, ast.While)
Condition = Callable[[Scope], bool]


class CheckedReduction(NamedTuple):
    """A reduction whose rows are checked one by one."""

    where: Condition
    evaluate: Callable[[Scope], object]
    others: Mapping[str, Reduction]
    """Reductions whose values it reads."""


class CheckedSteps(StepCompiler):
    """Compiler of checked steps."""

    EXPRESSIONS = CheckedExpressions
    expressions: CheckedExpressions
    _names: CheckedNames

    def compile(self, step: ast.stmt) -> Step:
        """Return a step that tells of its beginning and its end."""
        names, recorder, outer = self._names, self._names.recorder, self._names.statement
        assert names.texts is not None
        assert recorder is not None
        names.statement = statement = names.texts.statement(step, outer)
        if isinstance(step, _BLOCKS):
            statement.names = _snapshot(names)
        names.allows_null = _is_removal(step)
        act = super().compile(step)
        names.statement, names.allows_null = outer, False
        names.ever |= names.locals
        if not isinstance(step, _BLOCKS):
            statement.names = _snapshot(names)

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
        statement, recorder = self._names.statement, self._names.recorder
        assert statement is not None
        assert recorder is not None
        spot, like = Spot(statement, node or statement.node), old.sample
        element = Spot(statement, _target_of(statement.node))
        evaluate, read = new.evaluate, old.evaluate
        index = old.place.index if old.place else None
        compute = computed(sign, like, new.sample) if sign else None
        may_be_lost = sign in ("+", "-") and "lost" in recorder.find

        def work_out(scope: Scope) -> Value:
            left = read(scope) if sign else like
            right = evaluate(scope)
            result = right if compute is None else compute(left, right)
            stored = assigned(result, like)
            kinds: Kinds = arithmetic_kinds(sign, left, right, result) if sign else ()
            kinds += cast_kinds(result, stored) if result.type != like.type else ()
            if may_be_lost and is_lost(left, right, result):
                kinds += ("lost",)
            if kinds:
                shown = f"{plain(left)} {sign} {plain(right)}" if sign else f"= {plain(right)}"
                recorder.tell(spot, scope, kinds, plain(stored), shown)
            if not sign and node is None and index is not None and index(scope) is None:
                recorder.tell(element, scope, ("index",), plain(stored), "")
            return stored

        return work_out

    def _message(self, old: Expression, target: Place, sign: str, new: Expression) -> Step:
        act, statement, recorder = (
            super()._message(old, target, sign, new),
            self._names.statement,
            self._names.recorder,
        )
        assert statement is not None
        assert recorder is not None
        spot = Spot(statement, statement.node)
        handle = handle_of(_field_node(_target_of(statement.node), target))

        def checked(run: Effects, scope: Scope) -> Signal | None:
            if target.find(scope) is None:
                recorder.tell(spot, scope, ("null",), None, "", [handle])
            return act(run, scope)

        return checked


def _field_node(node: ast.expr, target: Place) -> ast.expr:
    """Return what names the field in the target of a message, perhaps one of its elements."""
    if target.index is not whole and isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _snapshot(names: CheckedNames) -> CheckedNames:
    return replace(names, locals=dict(names.locals), loops=dict(names.loops))


def _is_removal(step: ast.stmt) -> bool:
    match step:
        case ast.Expr(ast.Call(ast.Name("destroy" | "remove"))):
            return True
    return False


def _target_of(node: ast.stmt | ast.expr) -> ast.expr:
    match node:
        case ast.Assign([target]) | ast.AugAssign(target):
            return target
        case ast.Expr(value):
            return value
    raise TypeError(ast.dump(node))


def compile_checked(kernel: Kernel, texts: SchemaTexts, recorder: Recorder) -> CompiledKernel:
    """Return a kernel's condition and steps, compiled so that they tell what is wrong."""
    written, schema = texts.written[kernel], texts.schema
    names = CheckedNames.of(schema, kernel)
    assert isinstance(names, CheckedNames)
    names.recorder, names.texts = recorder, texts
    steps, order = CheckedSteps(schema, kernel, names), None
    with np.errstate(all="ignore"):
        if kernel.turns_by is not None:
            content = str(written.turns_of)
            names.statement = texts.expression(content, written.marks, "turns.of", kernel.turns_by)
            assert names.statement is not None
            names.statement.names = names
            order = steps.expressions.compile(kernel.turns_by).evaluate
        statement = texts.expression(written.where, written.marks, "where", kernel.where)
        where = compile_condition(steps.expressions, kernel.where, statement)
        names.statement = None
        act = steps.block(kernel.steps)
    return CompiledKernel(kernel, names, where, act, order)


def compile_condition(
    expressions: CheckedExpressions, where: ast.expr | None, statement: Statement | None
) -> Condition:
    """Return a checked condition, true without one, that notes which rows run."""
    recorder = expressions.names.recorder
    assert recorder is not None
    expressions.names.statement = statement
    if statement is not None:
        statement.names = expressions.names
    condition = expressions.condition(where)

    def holds(scope: Scope) -> bool:
        result = condition(scope)
        recorder.end_condition(scope, statement, result)
        return result

    return holds


class CheckedRun(Run):
    """One checked call of a kernel."""

    def __init__(
        self,
        world: World,
        compiled: CompiledKernel,
        recorder: Recorder,
        rows: Sequence[int] | None,
        arguments: dict[str, object],
    ) -> None:
        self._recorder = recorder
        self._senders: list[tuple[Statement, Scope]] = []
        self._arriving: Iterator[tuple[Statement, Scope]] | None = None
        super().__init__(world, compiled.kernel, rows, arguments, compiled)

    def send(self, row: Row, field: str, index: Index, sign: str, operand: Value) -> None:
        """Send a message; remember the step that did."""
        if not self.in_turns:
            statement, scope = self._recorder.sender
            scope = copy(scope)
            scope.locals, scope.loops = dict(scope.locals), dict(scope.loops)
            self._senders.append((statement, scope))
        super().send(row, field, index, sign, operand)

    def deliver(self) -> None:
        """Deliver messages; what is wrong with one is told as of the row that sent it."""
        self._arriving = iter(self._senders)
        super().deliver()
        self._recorder.settle()

    def _deliver(self, row: Row, field: str, index: Index, sign: str, operand: Value) -> None:
        sender = self._recorder.sender if self._arriving is None else next(self._arriving)
        if sign:
            self._check_arrival(sender, row.cells[field], index, sign, operand)
        super()._deliver(row, field, index, sign, operand)

    def _check_arrival(
        self,
        sender: tuple[Statement, Scope],
        whole_field: Value,
        index: Index,
        sign: str,
        operand: Value,
    ) -> None:
        statement, scope = sender
        old = Value(whole_field.type, whole_field.data[index])
        result = binary(sign, old, operand)
        kinds = arithmetic_kinds(sign, old, operand, result)
        if sign in ("+", "-") and is_lost(old, operand, result):
            kinds += ("lost",)
        if kinds:
            detail = f"{plain(old)} {sign} {plain(operand)}"
            spot = Spot(statement, statement.node)
            self._recorder.tell(spot, scope, kinds, plain(result), detail)
            self._recorder.settle()


def compile_reduction(
    reduction: Reduction, written: Written, texts: SchemaTexts, recorder: Recorder
) -> CheckedReduction:
    """Return a reduction, or a column of a table, compiled so that it tells what is wrong."""
    names = CheckedNames.of(texts.schema, reduction)
    assert isinstance(names, CheckedNames)
    names.recorder, names.texts = recorder, texts
    expressions = CheckedExpressions(names)
    with np.errstate(all="ignore"):
        condition = texts.expression(written.where, written.marks, "where", reduction.where)
        where = compile_condition(expressions, reduction.where, condition)
        content = getattr(written, "expression", "")
        value = texts.expression(content, written.marks, "expression", reduction.value)
        names.statement = value
        if value is None:  # the rows of a table
            return CheckedReduction(where, lambda scope: None, names.reductions)
        value.names = names
        evaluate = expressions.compile(reduction.value).evaluate
        return CheckedReduction(where, evaluate, names.reductions)
