"""Notes of a checked run while rows run: findings, lines of traces, and pauses before a step."""

from __future__ import annotations

import ast
import bdb
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from operator import itemgetter
from typing import Any, Final

import numpy as np
from ecsgen_testing.reference.effects import Effects
from ecsgen_testing.reference.expressions import ExpressionCompiler
from ecsgen_testing.reference.kernel_steps import Signal, Step
from ecsgen_testing.reference.naive_world import Row
from ecsgen_testing.reference.schema import SETTINGS, Schema
from ecsgen_testing.reference.scopes import Evaluate, Expression, Names, Scope
from ecsgen_testing.reference.values import Value

from ecsgen.checked.findings import KINDS, CheckError, Finding, Kinds, described
from ecsgen.checked.schema_texts import UNREAD, Condition, Order, Statement, filled, plain

_STOP: Final = "breakpoint()" if sys.version_info >= (3, 13) else "breakpoint()\npass"
"""Code at whose last line debuggers stop: before Python 3.13 at the line after the call."""
_PATIENCE: Final = 10.0
"""Seconds after which a call says how far it is."""
_WIDTH: Final = 31
"""Characters of a step that a line shows."""
_READ: Final = (ast.Name, ast.Attribute, ast.Subscript)


class Recorder:
    """Notes of one checked block: its findings, and the row and step that run."""

    def __init__(self, find: Kinds, *, stop: bool, limit: int) -> None:
        self.find, self.stop, self.limit = find, stop, limit
        self.findings: list[Finding] = []
        self.n_calls = 0
        """Number of kernels, reductions and tables that were looked at."""
        self.is_muted = False
        """True while something is worked out that the kernel does not."""
        self.kernel = ""
        self.tick: int | None = None
        self.sender: tuple[Statement, Scope]
        """The step that runs, and its row."""
        self.followers: list[RowFollower] = []
        self.following: list[RowFollower] = []
        """Those of the kernel that runs."""
        self._known: dict[tuple[ast.AST, str], Finding] = {}
        self._pending: list[tuple[Order, Finding]] = []
        self._told = set[tuple[ast.AST, str, Scope]]()
        """Findings of the step that runs, some of whose parts are worked out twice."""

    # Calls and rows

    def begin(self, kernel: str, tick: int | None, n_rows: int) -> None:
        """Begin a call over some rows."""
        self.kernel, self.tick, self._n_rows = kernel, tick, n_rows
        self.is_muted, self._pending = False, []
        self._told.clear()
        self.following = [each for each in self.followers if each.kernel == kernel]
        for follower in self.following:
            follower.begin()
        self._deadline, self._row = time.monotonic() + _PATIENCE, 0

    def noting(
        self, condition: Callable[[Scope], bool], statement: Statement | None
    ) -> Callable[[Scope], bool]:
        """Return a condition, true without a statement, that notes which rows run."""

        def holds(scope: Scope) -> bool:
            result = condition(scope)
            for follower in self.following:
                follower.end_condition(scope, statement, result)
            self.settle()
            self._row += 1
            if time.monotonic() > self._deadline:
                self._deadline = float("inf")
                progress = f"row {self._row} of {self._n_rows}"
                print(f"checked: {self.kernel}: {progress}", file=sys.stderr)
            return result

        return holds

    def settling(self, evaluate: Evaluate) -> Evaluate:
        """Return an expression in which what is found is told at once."""

        def evaluated(scope: Scope) -> Value:
            result = evaluate(scope)
            self.settle()
            return result

        return evaluated

    def before(self, statement: Statement, scope: Scope) -> None:
        """Note that a step begins."""
        self.settle()
        statement.begin()
        self.sender = statement, scope

    # Findings

    def tell(
        self,
        statement: Statement,
        node: ast.AST,
        scope: Scope,
        kinds: Kinds,
        value: Any,
        detail: str = "",
        nodes: Iterable[ast.AST] | None = None,
    ) -> None:
        """Note the first kind that is asked for, unless the row is dead.

        A comment that exempts this kind, or one before it, exempts the operation: what is allowed
        is not told under another name.

        `detail`: the operation with its numbers; `nodes`: whose values are the operands, if not
        all names'.
        """
        wanted = statement.allowed.union(self.find)
        kind = next((kind for kind in KINDS if kind in kinds and kind in wanted), None)
        if self.is_muted or kind is None or kind in statement.allowed:
            return
        if (node, kind, scope) in self._told or not scope.run.world.lives(scope.row):
            return
        self._told.add((node, kind, scope))
        known = self._known.get((node, kind))
        if known is not None:
            known.count += 1
            return
        self.is_muted = True
        row, mark = scope.row, statement.mark(node)
        finding = Finding(
            kind,
            mark.path,
            mark.line,
            mark.column,
            statement.shown,
            statement.part(node),
            statement.values(node, nodes, scope),
            value,
            self.kernel,
            row.component,
            row.number,
            row.owner or row.id,
            self.tick,
            detail=detail,
            source=statement.source(mark),
            length=mark.length,
        )
        self.is_muted = False
        self._pending.append((statement.order(node), finding))
        if not self.stop:
            self._known[node, kind] = finding

    def settle(self) -> None:
        """Raise CheckError for the step's first finding, or keep all. O(1) without one."""
        if not self._told:
            return
        findings = [finding for _, finding in sorted(self._pending, key=itemgetter(0))]
        self._pending = []
        self._told.clear()
        for finding in findings:
            if len(self.findings) < self.limit:
                self.findings.append(finding)
            if self.stop:
                raise CheckError(finding)


class RowFollower:
    """Listener to the steps of some rows of a kernel, until it is cancelled."""

    def __init__(self, recorder: Recorder, kernel: str, who: object, row: object) -> None:
        """`who`: entities or ids, `row`: numbers; neither: the first row of a call that acts."""
        self._recorder, self.kernel = recorder, kernel
        self._who, self._numbers = _numbers(who, "who"), _numbers(row, "row")
        self._is_named = self._who is not None or self._numbers is not None
        self._first: Row | None = None
        self.lines: list[str] = []
        """Lines of the row that runs."""
        self._headed: Scope | None = None
        self._headed_blocks = set[Statement]()
        """Blocks whose heads have their lines, while they run."""

    def cancel(self) -> None:
        """Follow nobody any more."""
        if self in self._recorder.followers:
            self._recorder.followers.remove(self)

    def begin(self) -> None:
        """Begin a call of the kernel."""
        self._first = self._headed = None

    def is_meant(self, scope: Scope) -> bool:
        """Return whether a row's steps are followed; of nobody in particular the first row's."""
        if not self._is_named:
            return self._first is None or self._first is scope.row
        rows = scope.rows.values()
        if self._who is not None and not any({r.owner or r.id} & self._who for r in rows):
            return False
        return self._numbers is None or scope.row.number in self._numbers

    def end_condition(self, scope: Scope, statement: Statement | None, holds: bool) -> None:
        """Note that a row's `where` was worked out."""
        if not self.is_meant(scope) or not (holds or self._is_named):
            return
        if holds and self._first is None:
            self._first = scope.row
        self._headed = None
        if statement is not None:
            self._add(scope, statement, f"where {statement.shown}", _text_of(holds))

    def follow(self, act: Step, statement: Statement, run: Effects, scope: Scope) -> Signal | None:
        """Run a step, and note what it did."""
        step = _TracedStep(statement, scope)
        self._enter(statement, scope)
        signal = act(run, scope)
        if statement.head is not statement.node:
            if statement not in self._headed_blocks:  # no step of it was run
                self._add(scope, statement, statement.shown, _text_of(False))
            self._headed_blocks.discard(statement)
        else:
            self._add(scope, statement, statement.shown, step.outcome())
        return signal

    def _enter(self, statement: Statement, scope: Scope) -> None:
        """Note the head of a block at each of its passes, before its first step."""
        outer = statement.outer
        if outer is None or not isinstance(outer.node, ast.If | ast.For | ast.While):
            return
        is_first = statement.node is outer.node.body[0]
        if is_first or statement.node in outer.node.orelse[:1]:
            self._headed_blocks.add(outer)
            self._add(scope, outer, outer.shown, _head_value(outer, scope, is_first))

    def _add(self, scope: Scope, statement: Statement, step: str, value: str) -> None:
        self._add_head(scope)
        line = statement.mark(statement.head).line
        self._say(f"{line:4}  {_shortened(step):{_WIDTH}}  {value}".rstrip())

    def _add_head(self, scope: Scope) -> None:
        """Begin the lines of a row, if they are another's."""
        if self._headed is not scope:
            self._headed, self.lines = scope, []
            row, tick = scope.row, self._recorder.tick
            who = described(row.component, row.owner or row.id, row.number)
            when = [] if tick is None else [f"tick {tick}"]
            self._say(" · ".join([*when, self.kernel, who]))

    def _say(self, line: str) -> None:
        self.lines.append(line)


class Trace(RowFollower):
    """Gives each line away as soon as there is one."""

    def __init__(
        self, recorder: Recorder, kernel: str, who: object, row: object, to: Callable[[str], Any]
    ) -> None:
        super().__init__(recorder, kernel, who, row)
        self._to = to

    def _say(self, line: str) -> None:
        super()._say(line)
        self._to(line)


class Pause(RowFollower):
    """Calls `breakpoint()` before a step: the first one, or where a condition is true."""

    def __init__(
        self,
        recorder: Recorder,
        kernel: str,
        who: object,
        row: object,
        when: Condition | None,
        names: Names,
    ) -> None:
        """`names`: the meaning of those in the condition, with the locals of all steps."""
        super().__init__(recorder, kernel, who, row)
        self._when, self._names = when, names
        self._paused_at: Scope | None = None
        parts = ast.walk(when.node) if when is not None else ()
        self._needs = names.locals.keys() & {p.id for p in parts if isinstance(p, ast.Name)}

    def begin(self) -> None:
        """Begin a call of the kernel."""
        super().begin()
        self._paused_at = None

    def is_meant(self, scope: Scope) -> bool:
        """Return as for a trace; a condition alone is asked of all rows until one pauses."""
        if self._when is None or self._is_named:
            return super().is_meant(scope)
        return self._paused_at in (None, scope)

    def follow(self, act: Step, statement: Statement, run: Effects, scope: Scope) -> Signal | None:
        """Stop before the step, if this is the one, then run it."""
        if self._paused_at is not scope and self._is_due(statement, scope):
            self._paused_at = scope
            self._pause(statement, scope)
        return super().follow(act, statement, run, scope)

    def _is_due(self, statement: Statement, scope: Scope) -> bool:
        if self._when is None:
            return True
        loops = {*statement.loops}
        if not self._needs <= scope.locals.keys() or not any(
            map(loops.issuperset, self._when.loops)
        ):
            return False
        hoods = {name: self._names.hoods[near] for name, near in loops}
        names = replace(self._names, locals=dict(scope.locals), loops=hoods)
        return ExpressionCompiler(names).condition(self._when.node)(scope)

    def _pause(self, statement: Statement, scope: Scope) -> None:
        self._add_head(scope)
        mark = statement.mark(statement.head)
        values = {**scope.run.arguments, **scope.locals}
        frame: dict[str, Any] = {
            **{name: plain(value) for name, value in values.items()},
            "tick": self._recorder.tick,
            "row": RowNow(scope, self.kernel.rpartition(".")[0]),
            "show": lambda: print("\n".join(self.lines)),
            "__name__": self.kernel,
        }
        code = compile("\n" * (mark.line - 1 - _STOP.count("\n")) + _STOP, mark.path, "exec")
        try:
            exec(code, frame)
        except bdb.BdbQuit:
            raise KeyboardInterrupt from None


class RowNow:
    """The row of a pause: its fields as the kernel sees them now, `row.state`; of a kernel of the
    world `row.Person.state`."""

    def __init__(self, scope: Scope, component: str) -> None:
        self._scope, self._component = scope, component

    def __getattr__(self, name: str) -> Any:
        if not self._component and name in self._scope.rows:
            return RowNow(self._scope, name)
        if not self._component or name not in self.__dir__():
            raise AttributeError(f"{self!r} has no {name!r}")
        return plain(self._scope.rows[self._component].cells[name])

    def __dir__(self) -> Iterable[str]:
        schema = self._scope.run.world.schema
        return schema.components[self._component].fields if self._component else self._scope.rows

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dir__())
        return f"<{self._component or 'row'}: {shown}>"


class _TracedStep:
    """A step whose outcome is told, and what its target was before."""

    def __init__(self, statement: Statement, scope: Scope) -> None:
        self._statement, self._scope = statement, scope
        self._schema = scope.run.world.schema
        target = statement.operands.get(statement.target)
        self._target = None if target is None else target.expression
        written = None if self._target is None else self._target.place
        is_new = written and not written.component and written.field not in scope.locals
        self._old = None if self._target is None or is_new else self._read(self._target)

    def _read(self, target: Expression) -> str:
        return shown(target.evaluate(self._scope), self._schema)

    def outcome(self) -> str:
        """Return what the step has done."""
        match self._statement.node:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("spawn"))):
                return shown(self._scope.locals[name], self._schema)
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                return self._written(value)
            case ast.Expr(ast.Call(_, args, keywords)):
                parts = [*args, *(keyword.value for keyword in keywords)]
                return ", ".join(map(self._filled, parts))
        return ""

    def _written(self, value: ast.expr) -> str:
        """Return the new value of a field or local, or who is sent a message."""
        assert self._target is not None
        written = self._target.place
        assert written is not None
        if written.is_own or not written.component:
            match self._statement.node:
                case ast.AugAssign(target, sign):
                    value = ast.BinOp(target, sign, value)
            new, filled = self._read(self._target), self._filled(value)
            is_chosen = isinstance(value, ast.Constant | ast.IfExp)
            text = new if is_chosen or filled == new else f"{filled} = {new}"
            return text if self._old is None else f"{text}  (was {self._old})"
        row, filled = written.find(self._scope), self._filled(value)
        if row is None:
            whom = "nobody"
        elif row.component == SETTINGS:
            whom = SETTINGS
        elif row.owner:
            whom = described(row.component, row.owner, row.number).partition(" (")[0]
        else:
            whom = f"{row.component} {row.id:#x}"
        is_written = filled == self._statement.part(value)
        return f"→ {whom}" if is_written else f"{filled} → {whom}"

    def _filled(self, node: ast.expr) -> str:
        """Return an expression with the values of its names and questions."""
        operands, calls = self._statement.operands, self._statement.calls

        def text_of(part: ast.AST) -> str | None:
            operand, is_read = operands.get(part), isinstance(part, _READ)
            if part is self._statement.target:
                return self._old
            if operand is not None and operand.value is not UNREAD and (is_read or part in calls):
                return shown(operand.value, self._schema)
            return ast.unparse(part) if is_read else None

        return filled(node, text_of)


def _head_value(statement: Statement, scope: Scope, is_first: bool) -> str:
    """Return what the head of a block was worked out to, as its body begins."""
    match statement.node:
        case ast.For(ast.Name(name)) if name in scope.loops:
            row = scope.loops[name].row
            number = row.owner or row.id
            return f"{name} = {row.component} {number % 2**32}v{number >> 32}"
        case ast.For(ast.Name(name)):
            return f"{name} = {scope.locals[name].one}"
    return _text_of(is_first)


def _text_of(holds: bool) -> str:
    return "true" if holds else "false"


def shown(value: Value, schema: Schema) -> str:
    """Return a value as a trace has it: members by name, handles as who they are."""
    if value.shape:
        cells = [shown(Value(value.type, cell), schema) for cell in value.data]
        return f"[{', '.join(cells)}]"
    if value.kind in "mM":
        return str(value.data)
    number = value.one
    members = schema.enums.get(value.type, {})
    for name, member in members.items():
        if member == number:
            return f"{value.type}.{name}"
    if value.type == "entity":
        return f"{number % 2**32}v{number >> 32}" if number else "0"
    if value.is_id:
        return f"{number:#x}"
    return f"{number:g}" if isinstance(number, float) else str(number).lower()


def _shortened(text: str) -> str:
    """Return a text that is cut behind a word if it is long."""
    if len(text) <= _WIDTH:
        return text
    head, _, _ = text[: _WIDTH - 1].rpartition(" ")
    return f"{head} …" if len(head) > _WIDTH // 2 else f"{text[: _WIDTH - 1]}…"


def _numbers(value: object, name: str) -> set[int] | None:
    """Return one or several handles or numbers as a set. Raises TypeError for what is none."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError(f"{name}: wanted numbers, not {value!r}")
    return {int(number) for number in array.ravel()}
