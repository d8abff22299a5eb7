"""Steps of kernels, compiled to closures that act on a run for one row."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from typing import ClassVar, Final, TypeAlias

import numpy as np

from .effects import Effects
from .expressions import SIGNS, ExpressionCompiler
from .naive_world import Cells, Change, Row
from .operation_values import arithmetic, constant
from .schema import Kernel, Schema
from .scopes import Evaluate, Expression, Names, Place, Scope
from .values import TIMES, assigned, replaced, settled, value

MESSAGES: Final = ("+", "-", "min", "max", "and", "or")
"""Operators of messages, which are applied when they arrive."""


Signal = Enum("Signal", "BREAK CONTINUE RETURN")
"""Ends a block before its last step."""
Step: TypeAlias = Callable[[Effects, Scope], Signal | None]
"""Acts for a row; returns a signal if the next steps do not happen."""
Passes: TypeAlias = Callable[[Effects, Scope], Iterator[None]]
"""Begins each pass of a loop, before it yields."""
_SIGNALS: Final = {
    ast.Break: Signal.BREAK,
    ast.Continue: Signal.CONTINUE,
    ast.Return: Signal.RETURN,
    ast.Pass: None,
}
_COMMANDS: Final = ("die", "destroy", "spawn", "add", "remove")


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel's condition and steps as closures, and the names that they use."""

    kernel: Kernel
    names: Names
    where: Callable[[Scope], bool]
    act: Step
    order: Evaluate | None
    """The number by which turns are ordered."""

    @cached_property
    def is_mortal(self) -> bool:
        """True if a kernel spawns or destroys: rows of the dead do not run then."""
        parts = [part for step in self.kernel.steps for part in ast.walk(step)]
        calls = [part.func for part in parts if isinstance(part, ast.Call)]
        return any(isinstance(call, ast.Name) and call.id in _COMMANDS for call in calls)


class StepCompiler:
    """Compiler of a kernel's steps."""

    EXPRESSIONS: ClassVar[type[ExpressionCompiler]] = ExpressionCompiler

    def __init__(self, schema: Schema, kernel: Kernel, names: Names) -> None:
        self._schema, self._kernel, self._names = schema, kernel, names
        self.expressions = self.EXPRESSIONS(names)

    def kernel(self) -> CompiledKernel:
        """Return the kernel's condition and steps."""
        with np.errstate(all="ignore"):
            by = None
            if self._kernel.turns_by is not None:
                by = self.expressions.compile(self._kernel.turns_by).evaluate
            where = self.expressions.condition(self._kernel.where)
            act = self.block(self._kernel.steps)
        return CompiledKernel(self._kernel, self._names, where, act, by)

    def block(self, nodes: Sequence[ast.stmt]) -> Step:
        """Return steps, one after the other until a signal, as a closure."""
        steps = [self.compile(node) for node in nodes]

        def act(run: Effects, scope: Scope) -> Signal | None:
            for step in steps:
                signal = step(run, scope)
                if signal is not None:
                    return signal
            return None

        return act

    def compile(self, step: ast.stmt) -> Step:
        """Return a step as a closure."""
        match step:
            case ast.If(test, body, others):
                holds, yes, no = (
                    self.expressions.condition(test),
                    self.block(body),
                    self.block(others),
                )
                return lambda run, scope: (yes if holds(scope) else no)(run, scope)
            case ast.While() | ast.For():
                return self._loop(step)
            case ast.Break() | ast.Continue() | ast.Return() | ast.Pass():
                signal = _SIGNALS[type(step)]
                return lambda run, scope: signal
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("spawn")) as call):
                return self._spawn(call, name)
            case ast.Assign([target], node):
                return self._assignment(target, "", node)
            case ast.AugAssign(target, sign, node):
                return self._assignment(target, SIGNS[type(sign)], node)
            case ast.Expr(ast.Call(ast.Name("spawn")) as call):
                return self._spawn(call)
            case ast.Expr(ast.Call(ast.Name("add" | "remove" as name)) as call):
                return self._change(call, is_removed=name == "remove")
            case ast.Expr(ast.Call() as call):
                return self._despawn(call)
        raise TypeError(ast.dump(step))

    # Loops

    def _loop(self, step: ast.While | ast.For) -> Step:
        match step:
            case ast.While(test, body):
                passes = self._while(test)
                act = self.block(body)
            case ast.For(ast.Name(name), ast.Name(near), body):
                passes = self._for_neighbours(name, near)
                act = self.block(body)
                del self._names.loops[name]
            case ast.For(ast.Name(name), ast.Call(_, bounds), body):
                passes = self._for_range(name, bounds)
                act = self.block(body)
                del self._names.locals[name]
            case _:
                raise TypeError(ast.dump(step))

        def loop(run: Effects, scope: Scope) -> Signal | None:
            who, signal = scope.who, None
            for _ in passes(run, scope):
                signal = act(run, scope)
                if signal in (Signal.BREAK, Signal.RETURN):
                    break
            scope.draw_for(who)
            return signal if signal is Signal.RETURN else None

        return loop

    def _while(self, test: ast.expr) -> Passes:
        holds, at_most = self.expressions.condition(test), self._kernel.at_most

        def passes(run: Effects, scope: Scope) -> Iterator[None]:
            who = scope.who
            for number in itertools.count(1):
                scope.enter(who, number)
                if not holds(scope):
                    return
                if number > at_most:
                    run.cut_off(test)
                    return
                yield

        return passes

    def _for_range(self, name: str, bounds: Sequence[ast.expr]) -> Passes:
        evaluates = [self.expressions.compile(bound).evaluate for bound in bounds]
        self._names.locals[name] = value("i64", 0)

        def passes(run: Effects, scope: Scope) -> Iterator[None]:
            who = scope.who
            numbers = range(*(evaluate(scope).one for evaluate in evaluates))
            for number, i in enumerate(numbers, 1):
                scope.enter(who, number)
                scope.locals[name] = value("i64", i)
                yield

        return passes

    def _for_neighbours(self, name: str, near: str) -> Passes:
        """Return passes with the neighbours that there are when the loop begins and live on."""
        hood = self._names.loops[name] = self._names.hoods[near]

        def passes(run: Effects, scope: Scope) -> Iterator[None]:
            who = scope.who
            for neighbour in run.nearby[near].around(scope.rows):
                via, link = hood.near.via, neighbour.link
                rows = [*neighbour.rows.values(), *([link] if link else [])]
                if all(map(run.world.lives, rows)):
                    whom = run.who(via, link) if link else run.who(hood.among, neighbour.row)
                    scope.enter(who, whom)
                    scope.loops[name] = neighbour
                    yield

        return passes

    # Assignments and messages

    def _assignment(self, target: ast.expr, sign: str, node: ast.expr) -> Step:
        if isinstance(target, ast.Name) and not self._names.is_own_field(target.id):
            return self._local(target, sign, node)
        drawn = self._names.draws
        old = self.expressions.compile(target)
        is_drawn = self._names.draws > drawn  # written again it is another one
        assert old.place is not None
        if not old.place.component:
            return self._element(old, old.place, sign, self.expressions.compile(node))
        if old.place.is_own:
            return self._own_field(old, old.place, sign, self.expressions.compile(node))
        sign, node = (sign, node) if is_drawn else _message_parts(target, sign, node)
        return self._message(old, old.place, sign, self.expressions.compile(node))

    def _local(self, target: ast.Name, sign: str, node: ast.expr) -> Step:
        """Return an assignment to a local, which keeps the type of the first one in the text."""
        new = self.expressions.compile(node)
        self._names.locals.setdefault(target.id, settled(new.sample))
        old = self.expressions.compile(target)
        work_out, name = self._result(old, sign, new), target.id

        def act(run: Effects, scope: Scope) -> None:
            scope.locals[name] = work_out(scope)

        return act

    def _element(self, old: Expression, target: Place, sign: str, new: Expression) -> Step:
        """Return an assignment to an element of a local, which is a copy of its own."""
        work_out, name = self._result(old, sign, new), target.field

        def act(run: Effects, scope: Scope) -> None:
            result, index = work_out(scope), target.index(scope)
            if index is not None:
                scope.locals[name] = replaced(scope.locals[name], index, result)

        return act

    def _own_field(self, old: Expression, target: Place, sign: str, new: Expression) -> Step:
        work_out, field = self._result(old, sign, new), target.field

        def act(run: Effects, scope: Scope) -> None:
            result, index, row = work_out(scope), target.index(scope), target.find(scope)
            assert row is not None
            if index is not None:
                run.write(row, field, index, result)

        return act

    def _message(self, old: Expression, target: Place, sign: str, new: Expression) -> Step:
        """Return a step that sends a message; nobody hears from the dead."""
        is_deferred = sign in MESSAGES
        work_out = self._result(old, "" if is_deferred else sign, new)
        if is_deferred and old.sample.type in TIMES:  # a timedelta is added to a datetime
            work_out = new.evaluate
        sent = sign if is_deferred else ""

        def act(run: Effects, scope: Scope) -> None:
            row, index = target.find(scope), target.index(scope)
            if row is not None and index is not None and run.world.lives(scope.row):
                run.send(row, target.field, index, sent, work_out(scope))

        return act

    def _result(
        self, old: Expression, sign: str, new: Expression, node: ast.expr | None = None
    ) -> Evaluate:
        """Return what is put in the place of an old value: a new one, or an operation of both.

        `node`: what is written there, if it is not the whole step.
        """
        result, like = arithmetic(sign, old, new) if sign else new, old.sample
        evaluate = result.evaluate
        return lambda scope: assigned(evaluate(scope), like)

    # Spawns and despawns

    def _despawn(self, call: ast.Call) -> Step:
        handle = self.expressions.compile(call.args[0]) if call.args else None
        where = self._where(call)
        is_entity = handle is not None and handle.sample.type == "entity"

        def act(run: Effects, scope: Scope) -> Signal | None:
            if not where(scope):
                return None
            dead: int | Row | None = scope.row.owner or scope.row
            if handle is not None:
                number = handle.evaluate(scope).one
                world = run.world
                dead = number if is_entity else world.with_id(handle.sample.target, number)
            return Signal.RETURN if run.despawn(scope, dead) else None

        return act

    def _spawn(self, call: ast.Call, local: str = "") -> Step:
        """Return a spawn; `local`: has the handle from now on, null if nobody is born."""
        parts = [self._component(part) for part in call.args]
        where, (name, _) = self._where(call), parts[0]
        components = self._schema.components
        is_owned = len(parts) > 1 or name not in components or components[name].is_owned
        type_ = "entity" if is_owned else f"id<{name}>"
        if local:
            self._names.keeps_handles = True
            self._names.locals[local] = value(type_, 0)

        def act(run: Effects, scope: Scope) -> None:
            handle = 0
            if where(scope):
                spawn = run.world.spawned([name for name, _ in parts])
                for name, work_out in parts:
                    if name in spawn:
                        spawn[name] |= work_out(scope)
                handle = run.spawn(spawn)
            if local:
                scope.locals[local] = value(type_, handle)

        return act

    def _change(self, call: ast.Call, is_removed: bool) -> Step:
        *handles, part = call.args
        owner = self.expressions.compile(handles[0] if handles else ast.Name("entity")).evaluate
        name, work_out = self._component(part)
        where = self._where(call)
        replaces = any(
            keyword.arg == "replace" and ast.unparse(keyword.value).lower() == "true"
            for keyword in call.keywords
        )

        def act(run: Effects, scope: Scope) -> None:
            if where(scope):
                cells = None if is_removed else work_out(scope)
                run.changes.append(Change(owner(scope).one, name, cells, replaces))

        return act

    def _component(self, part: ast.expr) -> tuple[str, Callable[[Scope], Cells]]:
        """Return the name of a component or bundle, and its fields that are set."""
        call = part if isinstance(part, ast.Call) else ast.Call(part, [], [])
        name = ast.unparse(call.func)
        known = self._schema.components[name].fields if call.keywords else {}
        fields = [
            (field, self._result(constant(known[field].initial), "", new, keyword.value))
            for keyword in call.keywords
            if (field := keyword.arg)
            for new in (self.expressions.compile(keyword.value),)
        ]
        return name, lambda scope: {field: work_out(scope) for field, work_out in fields}

    def _where(self, call: ast.Call) -> Callable[[Scope], bool]:
        conditions = [keyword.value for keyword in call.keywords if keyword.arg == "where"]
        return self.expressions.condition(conditions[0] if conditions else None)


@cache
def compile_kernel(schema: Schema, kernel: Kernel) -> CompiledKernel:
    """Return a kernel's condition and steps, compiled in the order in which they are written."""
    return StepCompiler(schema, kernel, Names.of(schema, kernel)).kernel()


def _message_parts(target: ast.expr, sign: str, node: ast.expr) -> tuple[str, ast.expr]:
    """Return `R = min(R, e)` and `R = R or e` as a sign and e; others as they are."""
    match node:
        case ast.Call(ast.Name(name), [first, *rest]) if name in ("min", "max") and rest:
            e = rest[0] if len(rest) == 1 else ast.Call(node.func, rest, [])
        case ast.BoolOp(op, [first, *rest]):
            name, e = SIGNS[type(op)], rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case _:
            return sign, node
    return (name, e) if not sign and ast.unparse(first) == ast.unparse(target) else (sign, node)
