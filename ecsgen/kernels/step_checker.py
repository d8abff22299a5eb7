"""Steps to typed ones: assignments, messages, commands and blocks, and which locals are set on the
way to each."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ecsgen.diagnostics import quote
from ecsgen.kernels import hints, operations
from ecsgen.kernels.literals import Literal
from ecsgen.kernels.neighbour_aggregates import begins_with_other, first_name, no_neighbours
from ecsgen.kernels.parsing import Assignment, KernelError, SourceText
from ecsgen.kernels.random_numbers import numbering
from ecsgen.kernels.scope import Scope, make_silent_error
from ecsgen.kernels.structural_steps import CommandChecker
from ecsgen.kernels.time_rules import TIME_SIGNS
from ecsgen.kernels.type_checker import TypeChecker, unsupported
from ecsgen.kernels.type_rules import (
    Operand,
    apply_operation,
    convert_for_target,
    give_default_type,
)
from ecsgen.model import Field
from ecsgen.model import typed_tree as tree
from ecsgen.model.typed_program import expressions_of
from ecsgen.model.types import Type

ParsedSteps = tuple[SourceText, list[ast.stmt]]
"""A text of the schema, and its statements."""

_I64: Final = Type("i64")
_COLUMNS: Final = (tree.ENTITY, tree.CELL_ID, tree.ID_SLOT)
"""Columns that managers keep."""


def walk_statements(parsed: Iterable[ParsedSteps]) -> Iterator[tuple[SourceText, ast.stmt]]:
    """Yield all statements with their texts, those in blocks as well."""
    for text, body in parsed:
        for statement in body:
            for node in ast.walk(statement):
                if isinstance(node, ast.stmt):
                    yield text, node


def assigned_names(parsed: Iterable[ParsedSteps]) -> Iterator[tuple[SourceText, ast.Name]]:
    """Yield the bare names to which statements assign, `+=` and its like left out."""
    for text, statement in walk_statements(parsed):
        match statement:
            case ast.Assign(targets=[ast.Name() as name]):
                yield text, name


def assigned_settings(parsed: Iterable[ParsedSteps]) -> frozenset[str]:
    """Return the settings that statements change."""
    assignments = [step for _, step in walk_statements(parsed) if isinstance(step, Assignment)]
    nodes = (node for step in assignments for node in ast.walk(target_of(step)))
    return frozenset(
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == tree.SETTINGS
    )


def loop_names(parsed: Iterable[ParsedSteps]) -> Iterator[tuple[SourceText, ast.Name]]:
    """Yield the names that loops give to their numbers and neighbours."""
    for text, statement in walk_statements(parsed):
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            yield text, statement.target


class StepChecker:
    """Typing of the steps of one kernel."""

    def __init__(self, scope: Scope, at_most: int | None, no_loops: str = "") -> None:
        """`at_most`: the passes of a `while`; `no_loops`: why the kernel has no loops."""
        self._scope, self._at_most, self._no_loops = scope, at_most, no_loops
        self._checker = TypeChecker(scope)
        self._commands = CommandChecker(scope)
        self._operators: dict[str, tuple[str, int]] = {}
        """The first message operator of each field, and its line."""
        self._depth = 0
        """The number of loops around a statement."""
        self.has_errors = False
        self.has_while = False

    def steps(
        self, parsed: Sequence[ParsedSteps], drawn: int
    ) -> tuple[tuple[tree.AnyStep, ...], int]:
        """Return the typed steps of all texts, and how many random numbers are drawn up to their
        end; `drawn`: before them. Reports the errors of each statement."""
        steps: list[tree.AnyStep] = []
        for text, body in parsed:
            block = self._block(text, body)
            number, drawn = numbering(expressions_of(None, block), drawn)
            numbered = (step.with_expressions(number) for step in block)
            steps += [step.with_expressions(self._scope.revived) for step in numbered]
        return tuple(steps), drawn

    def _block(self, text: SourceText, body: Iterable[ast.stmt]) -> tuple[tree.AnyStep, ...]:
        steps: list[tree.AnyStep] = []
        for statement in body:
            try:
                if not isinstance(statement, ast.Pass):
                    steps.append(self._statement(text, statement))
            except KernelError as error:
                self._report(error, text)
                match statement:
                    case ast.Assign(targets=[ast.Name(id=name)]) if name in self._scope.later:
                        self._scope.invalid_names |= {name}  # its type is not known
        return tuple(steps)

    def _report(self, error: KernelError, text: SourceText) -> None:
        self.has_errors = True
        text.report(error, self._scope.diagnostics)

    def _statement(self, text: SourceText, statement: ast.stmt) -> tree.AnyStep:
        match statement:
            case ast.Assign(targets=[target], value=ast.Call(ast.Name("spawn")) as call):
                return self._newborn(target, call, text.line_of(statement))
            case ast.Assign(targets=[ast.Tuple() | ast.List()]):
                pass
            case ast.Assign(targets=[_]) | ast.AugAssign():
                step = self._assignment(statement, text.line_of(statement))
                self._check_operator(step, statement, text)
                return step
            case ast.Expr(ast.Call(ast.Name(id=name)) as call) if name in operations.COMMANDS:
                return self._commands.step(call, text.line_of(statement))
            case ast.If():
                return self._branch(text, statement)
            case ast.For(iter=ast.Name(id=name)) if name in self._near_names:
                return self._neighbour_loop(text, statement, name)
            case ast.For():
                return self._loop(text, statement)
            case ast.While():
                return self._while(text, statement)
            case ast.Return(None):
                return self._jump("return")
            case ast.Break() | ast.Continue() if self._depth:
                return self._jump("break" if isinstance(statement, ast.Break) else "continue")
        message = "this is not part of the language of kernels"
        raise KernelError("E801", message, statement, hints.of_statement(statement))

    # Ways

    def _jump(self, kind: tree.JumpKind) -> tree.Jump:
        self._scope.assigned = {*self._scope.later}  # nothing that follows is reached
        return tree.Jump(kind)

    def _branch(self, text: SourceText, node: ast.If) -> tree.Branch:
        scope = self._scope
        test = self._test(text, node)
        before = scope.assigned
        scope.assigned = {*before}
        body = self._block(text, node.body)
        after_body, scope.assigned = scope.assigned, {*before}
        otherwise = self._block(text, node.orelse)
        for name in after_body ^ scope.assigned:
            scope.ways[name] = f"{quote(name)} is set in one branch only"
        scope.assigned &= after_body
        return tree.Branch(text.line_of(node), test, body, otherwise)

    def _test(self, text: SourceText, node: ast.If | ast.While) -> tree.Expression:
        """Return the condition of a block; after an error, which is reported, a constant."""
        try:
            return self._checker.condition(node.test)
        except KernelError as error:
            self._report(error, text)
            return tree.TRUE

    def _loop(self, text: SourceText, node: ast.For) -> tree.RangeLoop:
        self._refuse_loop(node)
        match node:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(ast.Name("range"), arguments, keywords=[])
            ) if (1 <= len(arguments) <= 2):
                bounds = [self._bound(argument) for argument in arguments]
            case ast.For(iter=ast.Name(tree.OTHER)) if self._scope.neighbours is None:
                raise no_neighbours("for", node.iter)
            case _:
                hint = "'for' goes over range(n), range(a, b) or neighbours"
                if (over := ast.unparse(node.iter)) in self._scope.reference_scope.names:
                    hint += f"; `near: {{all_: {{among: {over}}}}}` makes neighbours of all rows"
                raise KernelError("E801", "a loop cannot go over this", node.iter, hint)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Assign) and ast.unparse(inner.targets[0]) == name:
                raise _assigned_counter(name, inner.targets[0])
        scope, counter = self._scope, tree.Local(_I64, name)
        self._check_counter(name, node.target)
        start = bounds[0] if len(bounds) > 1 else tree.Constant(_I64, 0)
        scope.locals_[name] = counter
        scope.counters |= {name}
        body = self._looped(text, node.body, {name})
        scope.counters -= {name}
        del scope.locals_[name]
        scope.ways[name] = f"{quote(name)} is known in its loop alone"
        return tree.RangeLoop(text.line_of(node), counter, start, bounds[-1], body)

    @property
    def _near_names(self) -> Collection[str]:
        near = self._scope.neighbours
        return () if near is None else near.by_name

    def _neighbour_loop(self, text: SourceText, node: ast.For, near: str) -> tree.NeighbourLoop:
        self._refuse_loop(node)
        nears, target = self._scope.neighbours, node.target
        assert nears is not None
        if not isinstance(target, ast.Name):
            raise KernelError("E801", "a loop gives a neighbour one name", target)
        if near in nears.loops.values():
            raise KernelError("E813", f"a loop over {quote(near)} stands in another one", node)
        if target.id in nears.names - {near}:
            raise KernelError("E103", f"{quote(target.id)} means something else here", target)
        if target.id != near:
            self._check_counter(target.id, target)
        nears.loops[target.id] = near
        body = self._looped(text, node.body, set())
        del nears.loops[target.id]
        self._scope.ways[target.id] = f"{quote(target.id)} is known in its loop alone"
        draws = any(map(tree.draws_numbers, tree.walk(*expressions_of(None, body))))
        whom = nears.by_name[near].stream(node) if draws else tree.TRUE
        return tree.NeighbourLoop(text.line_of(node), near, whom, body)

    def _check_counter(self, name: str, node: ast.expr) -> None:
        scope = self._scope
        if name in scope.own_names or name in scope.arguments:
            what = "an argument" if name in scope.arguments else "a field"
            what = "a derived value" if name in scope.derived else what
            raise KernelError("E103", f"{quote(name)} is the name of {what} already", node)
        if name in scope.locals_ or name in scope.later:
            message = f"{quote(name)} is a local already"
            raise KernelError("E806", message, node, "give the loop's number another name")

    def _bound(self, node: ast.expr) -> tree.Expression:
        operand = self._checker.infer(node)
        value = give_default_type(operand)
        if not value.type.is_integer or value.type.shape or value.type.kind:
            message = f"'range' takes whole numbers, not {value.type}"
            raise KernelError("E803", message, node, "write i64(…) to convert it")
        return convert_for_target(operand, _I64, node)

    def _while(self, text: SourceText, node: ast.While) -> tree.WhileLoop:
        self._refuse_loop(node)
        self.has_while = True
        if self._at_most is None:
            message = "'while' needs the kernel's `at_most`: how often it may go on"
            raise KernelError("E818", message, node, "as in `at_most: 1000` beside `steps`")
        test = self._test(text, node)
        body = self._looped(text, node.body, set())
        return tree.WhileLoop(text.line_of(node), test, self._at_most, body)

    def _looped(
        self, text: SourceText, body: list[ast.stmt], also: set[str]
    ) -> tuple[tree.AnyStep, ...]:
        """Return the steps of a loop's body, which may not run; `also`: names that it sets."""
        scope = self._scope
        before = scope.assigned
        scope.assigned = before | also
        self._depth += 1
        steps = self._block(text, body)
        self._depth -= 1
        for name in scope.assigned - before - also:
            scope.ways[name] = f"{quote(name)} is set in a loop that may not run"
        scope.assigned = before
        return steps

    def _refuse_loop(self, node: ast.For | ast.While) -> None:
        if self._no_loops:
            raise KernelError("E815", self._no_loops, node)
        if node.orelse:
            message = "a loop has no 'else'"
            raise KernelError("E801", message, node, "write an 'if' behind the loop")

    # Assignments and messages

    def _assignment(self, step: Assignment, text: str) -> tree.Step:
        """Return a typed assignment; add the local that it sets to the scope."""
        scope, node = self._scope, target_of(step)
        if begins_with_other(node, scope.neighbours) and not isinstance(node, ast.Name):
            assert scope.neighbours is not None
            near, nearest = first_name(node), scope.neighbours.nearest(node)
            hint = f"let each row ask, go through all by `for x in {near}:`, or send to {nearest}"
            raise KernelError("E811", "a kernel cannot assign to neighbours", node, hint)
        if scope.neighbours is not None and first_name(node) in scope.neighbours.loops:
            return self._to_neighbour(step, node, text)
        if isinstance(node, ast.Name):
            if node.id in scope.invalid_names:
                self._checker.value(step.value)  # may be wrong in its own right
                raise make_silent_error(node)
            if node.id in scope.counters:
                raise _assigned_counter(node.id, node)
            if node.id in {*scope.locals_, *scope.later}:
                return self._set_local(step, node, text)
        read = self._read_target(node)
        target, index, items = split_element(read)
        match target:
            case tree.ReferencedField():
                return self._message(step, read, target, text)
            case tree.FieldValue():
                self._check_own_field(target, node)
            case tree.Local():
                pass  # an element of it
            case tree.SettingValue():
                self._check_setting(target, node)
                return self._message(step, read, target.as_field, text)
            case _:
                raise KernelError("E805", f"a kernel cannot assign to {_what(target)}", node)
        operand = self._right_side(step, read)
        try:
            value = convert_for_target(operand, read.type, step.value)
        except KernelError as error:
            if isinstance(step, ast.AugAssign) and error.hint.endswith("to convert it"):
                changed = ast.unparse(ast.BinOp(node, step.op, step.value))
                error.hint = f"write `{ast.unparse(node)} = {read.type.scalar}({changed})`"
            raise
        return tree.Step(target, value, index, text, items=items)

    def _check_setting(self, target: tree.SettingValue, node: ast.expr) -> None:
        """Refuse assignments to settings by kernels of components."""
        references = self._scope.reference_scope
        if references.home:
            message = f"a kernel cannot assign to {quote(target.name)}: it is the world's"
            raise KernelError("E805", message, node, references.of_the_world)

    def _newborn(self, node: ast.expr, call: ast.Call, text: str) -> tree.Step:
        """Return a spawn that gives a local the handle of who will come."""
        scope = self._scope
        if not isinstance(node, ast.Name) or node.id not in {*scope.locals_, *scope.later}:
            message = "a local takes the handle of who will come, nothing else does"
            hint = "write `kid = spawn(…)`, and assign `kid` in the next step"
            raise KernelError("E801", message, node, hint)
        step = self._commands.step(call, text)
        assert isinstance(step.target, tree.Spawn)
        local = self._local(node, self._commands.handle_type(step.target, call))
        return replace(step, target=replace(step.target, to=local))

    def _to_neighbour(self, step: Assignment, node: ast.expr, text: str) -> tree.Step:
        """Return a message to the neighbour that a loop has come to, or in turns an assignment."""
        nears = self._scope.neighbours
        assert nears is not None
        read = self._read_target(node)
        field, *_ = split_element(read)
        if isinstance(field, tree.ReferencedField):
            return self._message(step, read, field, text)
        near = nears.by_name[nears.loops[first_name(node)]]
        is_link = isinstance(field, tree.NeighbourField) and field.is_link
        if is_link or not isinstance(field, tree.NeighbourField) or field.name in _COLUMNS:
            hint = "give the link a local name before: `tie = x.link`, `tie.k += 1`" * is_link
            if isinstance(node, ast.Name):
                hint = f"assign to a field of it: `{node.id}.field`"
            raise KernelError("E805", "a kernel cannot assign to this of a neighbour", node, hint)
        component = near.members[field.owner]
        handle = tree.NeighbourRow(tree.HANDLE, near.name, field.owner)
        target = tree.ReferencedField(field.type, component.name, field.name, handle, ())
        return self._message(step, read, target, text)

    def _check_own_field(self, target: tree.FieldValue, node: ast.expr) -> None:
        if target.owner == tree.PARENT:
            message = "a kernel cannot assign to the parent's row: only to its own"
            raise KernelError("E805", message, node)
        if target.name == tree.ENTITY:
            message = "a kernel cannot assign to 'entity': the manager keeps it"
            raise KernelError("E805", message, node)
        _refuse_guarded(target, self._scope.fields_of(target.owner), node)
        _refuse_crowds(target, self._scope, node)

    def _message(
        self, step: Assignment, read: tree.Expression, target: tree.ReferencedField, text: str
    ) -> tree.Step:
        """Return a message; `read`: the target or an element of it, as it is read."""
        scope, node = self._scope, target_of(step)
        _, index, items = split_element(read)
        component = scope.reference_scope.components.get(target.component)
        if component is not None:  # else it is a setting
            _refuse_guarded(target, component.fields, node)
        message_parts = self._message_parts(step, read)
        if message_parts is not None:
            operator, sent = message_parts
            operand = self._checker.infer(sent)
            changed = apply_operation(operator, [read, operand], sent)  # reports types and shapes
            if read.type.is_time and isinstance(changed, tree.Operation):
                convert_for_target(changed, read.type, sent)  # the operand is of another kind
                value, operator = give_default_type(operand), changed.name
            else:
                value = convert_for_target(operand, read.type, sent)
            return tree.Step(target, value, index, text, operator, items)
        value = convert_for_target(self._right_side(step, read), read.type, step.value)
        if not scope.takes_turns:
            self._check_assigning(target, read, value, node)
        return tree.Step(target, value, index, text, "=", items)

    def _check_assigning(
        self,
        target: tree.ReferencedField,
        read: tree.Expression,
        value: tree.Expression,
        node: ast.expr,
    ) -> None:
        """Refuse values that all rows at once cannot assign: of several the last one stands."""
        turns = "give the kernel turns: random, or turns: rows"
        field, *_ = split_element(read)
        if field in tree.walk(value):
            message = "several rows may mean the same one, and each would read it as it was"
            hint = turns if read.type.kind else f"write +=, -=, min, max, or, and; or {turns}"
            if any(map(tree.draws_numbers, tree.walk(read))):
                hint = f"it is drawn anew on each side: draw it into a local before; or {turns}"
            raise KernelError("E811", message, node, hint)
        component = self._scope.reference_scope.components.get(target.component)
        if component is not None and component.on is not None and component.on.field == target.name:
            message = f"which row moves {quote(target.text)} last depends on their order"
            raise KernelError("E817", message, node, turns)

    def _message_parts(
        self, step: Assignment, target: tree.Expression
    ) -> tuple[str, ast.expr] | None:
        """Return the message operator of a step, and the operand that is not the target itself;
        None if several rows cannot change the target in this way."""
        match step:
            case ast.AugAssign(op=ast.Add() | ast.Sub()):
                return operations.BINARY[type(step.op)], step.value
            case ast.Assign(
                value=ast.Call(func=ast.Name(id="min" | "max" as name), args=[left, right])
            ):
                if self._checker.value(left) == target:
                    return name, right
            case ast.Assign(value=ast.BoolOp(op=word, values=[left, right])):
                if self._checker.value(left) == target:
                    return operations.WORDS[type(word)], right
        return None

    def _check_operator(self, step: tree.Step, statement: Assignment, text: SourceText) -> None:
        """Raise E811 for a second message operator of a field."""
        if self._scope.takes_turns or not isinstance(step.target, tree.ReferencedField):
            return
        node = target_of(statement)
        operator = TIME_SIGNS.get(step.message_operator, step.message_operator)
        operator += "=" if operator in ("+", "-") else ""
        line = text.place(node, self._scope.diagnostics).line
        first, first_line = self._operators.setdefault(step.target.text, (operator, line))
        if first != operator and {first, operator} != {"+=", "-="}:
            kinds = f"{first} on line {first_line} and {operator}"
            message = f"{quote(step.target.text)} gets two kinds of message, {kinds}"
            raise KernelError("E811", message, node)

    def _right_side(self, step: Assignment, target: tree.Expression | None) -> Operand:
        """Return the assigned value; `target`: the changed value, None for a new local."""
        if isinstance(step.value, ast.Tuple | ast.List):
            takes_one = target is not None and not target.type.shape
            hint = f"{quote(ast.unparse(target_of(step)))} takes one value" if takes_one else ""
            raise unsupported(step.value, step.value, hint)
        value = self._checker.infer(step.value)
        if target is None or not isinstance(step, ast.AugAssign):
            return value
        # The error of `x += y` belongs to y.
        name, operands = operations.BINARY[type(step.op)], [target, value]
        return self._checker.apply(name, operands, step.value, step.op)

    def _set_local(self, step: Assignment, node: ast.Name, text: str) -> tree.Step:
        scope, name = self._scope, node.id
        before = scope.locals_.get(name)
        if isinstance(step, ast.AugAssign):
            before = self._checker.value(node)  # type: ignore[assignment]  # a name of a local is one
        operand = self._right_side(step, before)
        if before is not None and isinstance(operand, Literal):
            scalar = operand.scalar
            try:
                operand = convert_for_target(operand, before.type, step.value)
            except KernelError as error:
                if error.code != "E803":
                    raise
                raise _other_type(name, before.type, scalar, node) from error
        value = give_default_type(operand)
        return tree.Step(self._local(node, value.type), value, (), text)

    def _local(self, node: ast.Name, type_: Type) -> tree.Local:
        """Return a local, which is set from here on. Raises E806 if it has another type."""
        scope, name = self._scope, node.id
        before = scope.locals_.get(name)
        if before is not None and before.type != type_:
            raise _other_type(name, before.type, type_, node)
        scope.locals_[name] = local = tree.Local(type_, name)
        scope.assigned.add(name)
        return local

    def _read_target(self, node: ast.expr) -> tree.Expression:
        """Return the expression that reads the target of a step. Raises E805."""
        base = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(base, ast.Name | ast.Attribute):
            message = "a step assigns to a field, an element of a field or a local name"
            hint = "write [i, j]" if isinstance(base, ast.Subscript) else ""
            raise KernelError("E805", message, node, hint)
        read = self._checker.value(node)
        for part in _named_parts(node, read):
            if part in self._scope.derived_nodes:
                message = f"a kernel cannot assign to {quote(ast.unparse(part))}: it is derived"
                raise KernelError("E805", message, node, "assign to the fields that it is made of")
        return read


def _named_parts(node: ast.expr, read: tree.Expression) -> Iterator[ast.expr]:
    """Yield a target, and what it is an element of, without the handle that leads there."""
    yield node
    for _ in read.index if isinstance(read, tree.Element) else ():
        if isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
            yield node


def split_element(
    read: tree.Expression,
) -> tuple[tree.Expression, tuple[int, ...], tuple[tree.Expression, ...]]:
    """Return the base of an element, its written index, and its computed indices."""
    match read:
        case tree.Element(base=base, index=index):
            return base, index, ()
        case tree.Item(base=base, indices=items):
            return base, (), items
    return read, (), ()


def target_of(step: Assignment) -> ast.expr:
    """Return the target of an assignment."""
    return step.target if isinstance(step, ast.AugAssign) else step.targets[0]


def _refuse_guarded(
    target: tree.FieldValue | tree.ReferencedField, fields: Iterable[Field], node: ast.expr
) -> None:
    field = next(field for field in fields if field.name == target.name)
    if dict(field.options).get("unique"):
        message = f"a kernel cannot assign to {quote(target.text)}: it is unique"
        hint = "kernels may read it; write it by `data` or its setter, which keep its index right"
        raise KernelError("E805", message, node, hint)


def _refuse_crowds(target: tree.FieldValue, scope: Scope, node: ast.expr) -> None:
    """Raise E817 for moves without turns to cells with a capacity."""
    component = scope.occupants.get(target.owner)
    on = None if component is None else component.on
    if on is None or on.field != target.name or not on.capacity or scope.takes_turns:
        return
    message = f"a cell has room for {on.capacity}: which rows move there depends on their order"
    raise KernelError("E817", message, node, "give the kernel turns: random, or turns: rows")


def _assigned_counter(name: str, node: ast.expr) -> KernelError:
    message = f"{quote(name)} counts the passes of its loop: no step assigns to it"
    return KernelError("E805", message, node)


def _other_type(name: str, before: Type, after: object, node: ast.expr) -> KernelError:
    message = f"{quote(name)} was {before} and would become {after}"
    is_float = before.is_integer and not before.kind and str(after).startswith("f")
    hint = "begin it with a float, as in `0.0`, or " * is_float + "give it another name"
    if before == Type("i64") and isinstance(after, Type) and after.is_handle:
        hint += "; a handle is null where `spawn(…, where=c)` spawns nobody, and in `h if c else 0`"
    return KernelError("E806", message, node, hint)


def _what(expression: tree.Expression) -> str:
    match expression:
        case tree.Constant():
            return "a constant"
        case tree.Tick():
            return "the time, to which an entry of a schedule adds"
        case tree.Argument(each=True):
            return "an argument: its values are only read"
    return "an argument: it is the same for every row"
