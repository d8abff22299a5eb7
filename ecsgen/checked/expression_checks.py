"""Compiler of expressions whose operations are checked as they are worked out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

from ecsgen_testing.reference import values
from ecsgen_testing.reference.draws import DRAWS
from ecsgen_testing.reference.expressions import SIGNS, ExpressionCompiler
from ecsgen_testing.reference.operations import operation
from ecsgen_testing.reference.questions import Gather
from ecsgen_testing.reference.scopes import Evaluate, Expression, Names, Place, Scope
from ecsgen_testing.reference.values import NUMBERS, Value, binary

from ecsgen.checked.recorder import Recorder, Spot
from ecsgen.checked.schema_texts import SchemaTexts, Statement, plain
from ecsgen.checked.value_checks import (
    Kinds,
    arithmetic_kinds,
    cast_kinds,
    float_kinds,
    function_kinds,
    negation_kinds,
    sum_kinds,
)

_FUNCTIONS: Final = frozenset(
    {*values.ROOTS, *values.ROUNDING, *values.OTHERS, *values.OF_VECTORS, *DRAWS}
    | {"min", "max", "sum", "clip"}
)
_WITHOUT_NULL: Final = ("exists", "coords")
"""Functions in which a reference may lead nowhere."""


UNREAD: Final = Value("", None)
"""The value of an operand that a step has not worked out."""


class Operand:
    """The last value that a part of an expression had."""

    __slots__ = ("sample", "value")

    def __init__(self, sample: Value) -> None:
        self.sample = self.value = sample


Operands: TypeAlias = dict[ast.expr, Operand]
Find: TypeAlias = Callable[[Value], Kinds]


@dataclass
class CheckedNames(Names):
    """Names of a kernel or reduction whose expressions are checked."""

    recorder: Recorder | None = None
    texts: SchemaTexts | None = None
    statement: Statement | None = None
    """The statement that is compiled."""
    allows_null: bool = False
    """True where a reference may lead nowhere."""
    operands: Operands = field(default_factory=dict)
    """All parts of expressions that are no constants."""
    ever: dict[str, Value] = field(default_factory=dict)
    """Samples of the locals of all steps."""
    whole: set[ast.expr] = field(default_factory=set)
    """Questions, draws and other calls that traces show as one value."""


class CheckedExpressions(ExpressionCompiler):
    """Compiler of checked expressions."""

    names: CheckedNames

    def __init__(self, names: Names, asked: str = "", subject: Place | None = None) -> None:
        assert isinstance(names, CheckedNames)
        assert names.recorder is not None
        super().__init__(names, asked, subject)
        self._recorder: Recorder = names.recorder
        self._operands: Operands = {}
        self._questions: set[ast.expr] = set()
        self._node: ast.expr = ast.Constant(0)

    def compile(self, node: ast.expr) -> Expression:
        """Return an expression that tells what is wrong with it, and keeps its last value."""
        names, outer = self.names, (self._node, self._operands, self.names.allows_null)
        self._node, self._operands = node, {}
        if isinstance(node, ast.Call) and ast.unparse(node.func) in _WITHOUT_NULL:
            names.allows_null = True
        expression = super().compile(node)
        operands = self._operands
        self._node, self._operands, names.allows_null = outer
        operand = self._operands[node] = Operand(expression.sample)
        if expression.is_constant:
            return expression
        names.operands[node] = operand
        if isinstance(node, ast.Call) and not self._is_plain(node):
            names.whole.add(node)
        find = self._find(node, expression, operands)
        return replace(
            expression, evaluate=self._checked(node, expression, operand, find, operands)
        )

    def _is_plain(self, node: ast.Call) -> bool:
        """Return whether a call's value depends on its arguments alone."""
        name = ast.unparse(node.func)
        return (
            node not in self._questions and name not in DRAWS and name in _FUNCTIONS.union(NUMBERS)
        )

    def spot(self, node: ast.expr) -> Spot:
        """Return the place of a node."""
        assert self.names.statement is not None
        return Spot(self.names.statement, node, self._asked, self._subject)

    def _checked(
        self,
        node: ast.expr,
        expression: Expression,
        operand: Operand,
        find: Find | None,
        operands: Operands,
    ) -> Evaluate:
        evaluate = expression.evaluate
        if find is None:

            def kept(scope: Scope) -> Value:
                operand.value = result = evaluate(scope)
                return result

            return kept
        spot, recorder = self.spot(node), self._recorder

        def checked(scope: Scope) -> Value:
            operand.value = result = evaluate(scope)
            kinds = find(result)
            if kinds:
                detail = _with_numbers(node, operands)
                recorder.tell(spot, scope, kinds, plain(result), detail)
            return result

        return checked

    def _find(self, node: ast.expr, expression: Expression, operands: Operands) -> Find | None:
        """Return what finds faults of a node's own operation, None if it has none."""
        match node:
            case ast.BinOp(left, sign, right) if expression.sample.kind != "b":
                a, b, name = operands[left], operands[right], SIGNS[type(sign)]
                if name in ("&", "|", "^", "<<", ">>"):
                    return None
                return lambda result: arithmetic_kinds(name, a.value, b.value, result)
            case ast.UnaryOp(ast.USub(), operand) if expression.sample.kind in "iu":
                number = operands[operand]
                return lambda result: negation_kinds(number.value, result)
            case ast.Subscript(base, index):
                return _index_check(operands, base, index)
            case ast.Call(ast.Name(name), args) if node not in self._questions:
                return self._of_function(name, [operands[a] for a in args if a in operands])
        return None

    def _of_function(self, name: str, operands: Sequence[Operand]) -> Find | None:
        if name in NUMBERS:
            (only,) = operands
            return lambda result: cast_kinds(only.value, result)
        if name not in _FUNCTIONS:
            return None
        return lambda result: function_kinds(name, [o.value for o in operands], result)

    # What is worked out though the outcome may not use it

    def _read_twice(self, side: Expression) -> tuple[Expression, Expression]:
        if side.is_constant:
            return side, side
        operand, first = _kept(side)
        return first, replace(side, evaluate=lambda scope: operand.value)

    def _connected(self, sign: str, parts: Sequence[Expression]) -> Expression:
        if len(parts) == 1 or all(part.is_scalar for part in parts):
            return super()._connected(sign, parts)
        joined, decisive = parts[0], sign == "or"
        for part in parts[1:]:
            before, joined = _kept(joined)
            is_open = partial(_has_another, before, decisive)
            joined = operation(partial(binary, sign), joined, self._where(part, is_open))
        return joined

    def _conditional(self, when: Expression, yes: Expression, no: Expression) -> Expression:
        if when.is_scalar:
            return super()._conditional(when, yes, no)
        condition, when = _kept(when)
        sides = [
            self._where(side, partial(_has_another, condition, decisive))
            for side, decisive in ((yes, False), (no, True))
        ]
        return super()._conditional(when, *sides)

    def _where(self, part: Expression, is_used: Callable[[], bool]) -> Expression:
        """Return a part whose findings count only if it is used."""
        if part.is_constant:
            return part
        recorder, evaluate = self._recorder, part.evaluate

        def muted(scope: Scope) -> Value:
            if is_used():
                return evaluate(scope)
            recorder.muted += 1
            result = evaluate(scope)
            recorder.muted -= 1
            return result

        return replace(part, evaluate=muted)

    # References, derived values, questions

    def _field(self, target: Place) -> Expression:
        expression, node = super()._field(target), self._node
        if target.is_own or target.is_current or self.names.allows_null:
            return expression
        spot, recorder, find = self.spot(node), self._recorder, target.find
        evaluate, handle = expression.evaluate, handle_of(node)

        def checked(scope: Scope) -> Value:
            result = evaluate(scope)
            if find(scope) is None:
                recorder.tell(spot, scope, ("null",), plain(result), "", [handle])
            return result

        return replace(expression, evaluate=checked)

    def _derived(self, target: Place) -> Expression:
        """Return a derived value, whose own text has its own place."""
        home, texts = target.component, self.names.texts
        node = self.schema.components[home].derived[target.field]
        statement = texts.derived(home, target.field, node) if texts else None
        if statement is None:
            return super()._derived(target)
        names = CheckedNames(self.schema, home, home, recorder=self._recorder, texts=texts)
        names.statement, names.allows_null, statement.names = statement, True, names
        derived = CheckedExpressions(names, subject=target).compile(node)
        return operation(values.settled, replace(derived, place=None))

    def _question(self, name: str, node: ast.Call) -> Expression:
        self._questions.add(node)
        return super()._question(name, node)

    def _gatherer(self, name: str, like: Value, node: ast.Call) -> Gather:
        gather, recorder = super()._gatherer(name, like, node), self._recorder
        if name == "mode":
            return gather
        spot = self.spot(node)
        find: Callable[[Iterable[Value], Value], Kinds] = _float_kinds
        if name == "sum":
            find = _sum_kinds

        def checked(scope: Scope, answers: list[Value]) -> Value:
            result = gather(scope, answers)
            kinds = find(answers, result)
            if kinds:
                detail = f"{name} of {len(answers)} neighbours"
                recorder.tell(spot, scope, kinds, plain(result), detail)
            return result

        return checked


def _float_kinds(answers: Iterable[Value], result: Value) -> Kinds:
    return float_kinds(result, answers) if result.kind == "f" else ()


def _sum_kinds(answers: Iterable[Value], result: Value) -> Kinds:
    return sum_kinds(answers, result)


def _kept(expression: Expression) -> tuple[Operand, Expression]:
    """Return an expression that keeps its last value, and what keeps it."""
    operand, evaluate = Operand(expression.sample), expression.evaluate

    def kept(scope: Scope) -> Value:
        operand.value = result = evaluate(scope)
        return result

    return operand, replace(expression, evaluate=kept)


def _has_another(condition: Operand, decisive: bool) -> bool:
    """Return whether an element of a condition is not the decisive one."""
    return bool((condition.value.data != decisive).any())


def _index_check(operands: Operands, base: ast.expr, index: ast.expr) -> Find:
    nodes = index.elts if isinstance(index, ast.Tuple) else [index]
    shape, numbers = operands[base].sample.shape, [operands[node] for node in nodes]

    def find(result: Value) -> Kinds:
        pairs = zip(numbers, shape, strict=True)
        is_within = all(0 <= number.value.one < size for number, size in pairs)
        return () if is_within else ("index",)

    return find


def handle_of(node: ast.expr) -> ast.expr:
    """Return the handle in `H.Component.field`, or in `id.field`."""
    if not isinstance(node, ast.Attribute):
        return node
    head = node.value
    is_typed = isinstance(head, ast.Attribute) and head.attr[:1].isupper()
    return head.value if is_typed and isinstance(head, ast.Attribute) else head


def _with_numbers(node: ast.expr, operands: Operands) -> str:
    """Return an operation with the numbers of its operands."""

    def text(part: ast.expr) -> str:
        return _shown(operands[part].value) if part in operands else ast.unparse(part)

    match node:
        case ast.BinOp(left, sign, right):
            return f"{text(left)} {SIGNS[type(sign)]} {text(right)}"
        case ast.UnaryOp(ast.USub(), operand):
            return f"-({text(operand)})"
        case ast.Subscript(base, ast.Tuple(elts)):
            return f"{ast.unparse(base)}[{', '.join(map(text, elts))}]"
        case ast.Subscript(base, index):
            return f"{ast.unparse(base)}[{text(index)}]"
        case ast.Call(func, args):
            return f"{ast.unparse(func)}({', '.join(map(text, args))})"
    return ast.unparse(node)


def _shown(value: Value) -> Any:
    return str(plain(value))
