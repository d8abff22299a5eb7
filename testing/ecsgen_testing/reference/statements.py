"""Steps of kernels, compiled to closures that act on a run for one row."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from .expressions import SIGNS, ExpressionCompiler
from .neighbours import Surroundings
from .schema import Kernel, Schema
from .scopes import Evaluate, Expression, Names, Place, Scope
from .values import Value, assigned, binary, settled
from .world import Row, Spawn

MESSAGES: Final = ("+", "-", "min", "max", "and", "or")
"""Operators of messages, which are applied when they arrive."""


class Effects(Surroundings):
    """Surroundings that steps act on."""

    def write(self, row: Row, field: str, index: tuple[int, ...], new: Value) -> None:
        """Write a row's own field, or an element of it."""
        raise NotImplementedError

    def send(self, row: Row, field: str, index: tuple[int, ...], sign: str, operand: Value) -> None:
        """Send a message, which arrives after the last row; in turns at once."""
        raise NotImplementedError

    def despawn(self, scope: Scope, dead: int | Row | None) -> bool:
        """Despawn an entity or a row; return True if it is the scope's own."""
        raise NotImplementedError

    def spawn(self, spawn: Spawn) -> None:
        """Spawn, unless a cell has no capacity."""
        raise NotImplementedError


Step: TypeAlias = Callable[[Effects, Scope], bool]
"""Acts for a row; returns True if the row's later steps do not happen."""


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel's condition and steps as closures, and the names that they use."""

    kernel: Kernel
    names: Names
    where: Callable[[Scope], bool]
    steps: Sequence[Step]

    @property
    def is_mortal(self) -> bool:
        """True if a kernel spawns or destroys: rows of the dead do not run then."""
        return any(isinstance(step, ast.Expr) for step in self.kernel.steps)


def compile_kernel(schema: Schema, kernel: Kernel) -> CompiledKernel:
    """Return a kernel's condition and steps, compiled in the order in which they are written."""
    names = Names.of(schema, kernel)
    compiler = StepCompiler(schema, kernel, names)
    with np.errstate(all="ignore"):
        where = compiler.expressions.condition(kernel.where)
        steps = [compiler.compile(step) for step in kernel.steps]
    return CompiledKernel(kernel, names, where, steps)


class StepCompiler:
    """Compiler of a kernel's steps."""

    def __init__(self, schema: Schema, kernel: Kernel, names: Names) -> None:
        self._schema, self._kernel, self._names = schema, kernel, names
        self.expressions = ExpressionCompiler(names)

    def compile(self, step: ast.stmt) -> Step:
        """Return a step as a closure."""
        match step:
            case ast.Assign([target], node):
                return self._assignment(target, "", node)
            case ast.AugAssign(target, sign, node):
                return self._assignment(target, SIGNS[type(sign)], node)
            case ast.Expr(ast.Call(ast.Name("spawn")) as call):
                return self._spawn(call)
            case ast.Expr(ast.Call() as call):
                return self._despawn(call)
        raise TypeError(ast.dump(step))

    # Assignments and messages

    def _assignment(self, target: ast.expr, sign: str, node: ast.expr) -> Step:
        if isinstance(target, ast.Name) and not self._names.is_own_field(target.id):
            return self._local(target, sign, node)
        old = self.expressions.compile(target)
        assert old.place is not None
        if old.place.is_own:
            return self._own_field(old, old.place, sign, self.expressions.compile(node))
        sign, node = _message_parts(target, sign, node)
        return self._message(old, old.place, sign, self.expressions.compile(node))

    def _local(self, target: ast.Name, sign: str, node: ast.expr) -> Step:
        name, locals_ = target.id, self._names.locals
        new = self.expressions.compile(node)
        evaluate, old = new.evaluate, locals_.get(name)
        if old is None:
            locals_[name] = settled(new.sample)

            def first(run: Effects, scope: Scope) -> bool:
                scope.locals[name] = settled(evaluate(scope))
                return False

            return first

        def again(run: Effects, scope: Scope) -> bool:
            result = evaluate(scope)
            if sign:
                result = binary(sign, scope.locals[name], result)
            scope.locals[name] = assigned(result, old)
            return False

        return again

    def _own_field(self, old: Expression, target: Place, sign: str, new: Expression) -> Step:
        evaluate, field, find = new.evaluate, target.field, target.find
        read, like = old.evaluate, old.sample

        def act(run: Effects, scope: Scope) -> bool:
            result = evaluate(scope)
            if sign:
                result = binary(sign, read(scope), result)
            row = find(scope)
            assert row is not None
            run.write(row, field, target.index, assigned(result, like))
            return False

        return act

    def _message(self, old: Expression, target: Place, sign: str, new: Expression) -> Step:
        """Return a step that sends a message; nobody hears from the dead."""
        evaluate, read, find, like = new.evaluate, old.evaluate, target.find, old.sample
        is_deferred = not sign or sign in MESSAGES

        def act(run: Effects, scope: Scope) -> bool:
            row = find(scope)
            if row is None or not run.world.lives(scope.row):
                return False
            result = evaluate(scope)
            if not is_deferred:
                result = binary(sign, read(scope), result)
            message = assigned(result, like)
            run.send(row, target.field, target.index, sign if is_deferred else "", message)
            return False

        return act

    # Spawns and despawns

    def _despawn(self, call: ast.Call) -> Step:
        handle = self.expressions.compile(call.args[0]) if call.args else None
        where = self._where(call)
        is_entity = handle is not None and handle.sample.type == "entity"

        def act(run: Effects, scope: Scope) -> bool:
            if not where(scope):
                return False
            dead: int | Row | None = scope.row.owner or scope.row
            if handle is not None:
                number = handle.evaluate(scope).one
                world = run.world
                dead = number if is_entity else world.with_id(handle.sample.target, number)
            return run.despawn(scope, dead)

        return act

    def _spawn(self, call: ast.Call) -> Step:
        bundles: list[str] = []
        values_of: dict[str, list[tuple[str, Evaluate]]] = {}
        for part in call.args:
            name = ast.unparse(part.func if isinstance(part, ast.Call) else part)
            bundles.append(name)
            for keyword in part.keywords if isinstance(part, ast.Call) else ():
                new = self.expressions.compile(keyword.value).evaluate
                values_of.setdefault(name, []).append((str(keyword.arg), new))
        where = self._where(call)

        def act(run: Effects, scope: Scope) -> bool:
            if where(scope):
                world = run.world
                spawn = world.spawned(bundles)
                for name, fields in values_of.items():
                    for field, new in fields:
                        like = world.field(name, field).initial
                        spawn[name][field] = assigned(new(scope), like)
                run.spawn(spawn)
            return False

        return act

    def _where(self, call: ast.Call) -> Callable[[Scope], bool]:
        return self.expressions.condition(next((keyword.value for keyword in call.keywords), None))


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
