"""Expressions of kernels, compiled to closures: each gives its value for one row.

Beside the closure an expression has a sample, its value for a row of defaults, which is worked out
by the same functions: so types and shapes are known without rules of their own. Draws are numbered
while texts are compiled, as they are written; so what is not worked out changes no other draw.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, Final, TypeAlias

import numpy as np

from . import random_numbers, values
from .neighbours import Hood, Neighbour, Surroundings
from .schema import Field, Kernel, Reduction, Schema
from .values import NUMBERS, Value, binary, cast, value
from .world import Actor, Row

SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
SIGNS |= {ast.FloorDiv: "//", ast.Pow: "**", ast.MatMult: "@", ast.And: "and", ast.Or: "or"}
SIGNS |= {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
CONSTANTS = {"true": value("bool", True), "false": value("bool", False)}
CONSTANTS |= {"pi": Value("float", math.pi), "tau": Value("float", math.tau)}
QUESTIONS: Final = ("count", "sum", "mean", "nearest", "choice", "max_by", "min_by")
DRAWS: Final = ("random", "normal", "uniform", "randrange")


class Scope:
    """A row while its steps run: its rows, locals and, within a question, the neighbour."""

    __slots__ = ("locals", "met", "row", "rows", "run", "stem")

    def __init__(self, run: Surroundings, rows: Actor, stem: int, locals: dict[str, Value]) -> None:
        self.run, self.rows, self.stem, self.locals = run, rows, stem, locals
        self.row = next(iter(rows.values()))
        self.met: Neighbour

    def meeting(self, neighbour: Neighbour) -> Scope:
        """Return the scope of a question's expressions for a neighbour."""
        scope = Scope(self.run, self.rows, self.stem, self.locals)
        scope.met = neighbour
        return scope


Evaluate: TypeAlias = Callable[[Scope], Value]
FindRow: TypeAlias = Callable[[Scope], Row | None]


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a row, or an element of one."""

    find: FindRow
    """Finds the row; None where a reference leads nowhere."""
    component: str
    field: str
    is_own: bool = False
    """True for a field of the row itself."""
    index: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression."""

    evaluate: Evaluate
    sample: Value
    """Its value for a row of defaults: its type and shape."""
    place: Place | None = None
    """Where the value is a field's."""
    is_constant: bool = False
    """True if it is the same for all rows."""

    @property
    def is_scalar(self) -> bool:
        """True without a shape."""
        return self.sample.shape == ()


@dataclass
class Names:
    """Names that a kernel's or reduction's texts may use."""

    schema: Schema
    home: str
    over: str
    arguments: Mapping[str, Field] = field(default_factory=dict)
    hoods: Mapping[str, Hood] = field(default_factory=dict)
    locals: dict[str, Value] = field(default_factory=dict)
    """Samples of the locals that steps before have set."""
    draws: int = 0
    """Numbers that are drawn by what was compiled up to now."""
    chosen: set[str] = field(default_factory=set)
    """Components of which one row is chosen by chance."""
    emptied: set[str] = field(default_factory=set)
    """Components whose empty cells are chosen from."""

    @classmethod
    def of(cls, schema: Schema, source: Kernel | Reduction) -> Names:
        """Return the names of a kernel, or of a reduction."""
        if isinstance(source, Reduction):
            return cls(schema, source.home, source.over)
        hoods = {name: Hood.of(schema, source, near) for name, near in source.near.items()}
        first = 1 if source.turns == "random" else 0  # word 0 orders the rows
        return cls(schema, source.home, source.over, source.args, hoods, draws=first)

    def is_own_field(self, name: str) -> bool:
        """Return True for a field of a component's own kernel."""
        return bool(self.home) and name in self.schema.components[self.home].fields

    def is_value(self, name: str) -> bool:
        """Return True for a name that stands for a value, not for what has members."""
        return name in self.locals or name in self.arguments or self.is_own_field(name)


class ExpressionCompiler:
    """Compiler of expressions; `asked` is the neighbourhood within a question."""

    def __init__(self, names: Names, asked: str = "") -> None:
        self.names, self.schema, self._asked = names, names.schema, asked
        self._members = self.schema.members_of(names.over)

    def compile(self, node: ast.expr) -> Expression:
        """Return the expression of a syntax tree."""
        match node:
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(base, index):
                position = ast.literal_eval(index)
                index_ = position if isinstance(position, tuple) else (position,)
                return self._element(self.compile(base), index_)
            case ast.Constant(bool() as data):
                return constant(value("bool", data))
            case ast.Constant(data):
                return constant(Value(type(data).__name__, data))
            case ast.UnaryOp(ast.UAdd(), operand):
                return self.compile(operand)
            case ast.UnaryOp(ast.Not(), operand):
                return operation(_negation, self.compile(operand))
            case ast.UnaryOp(ast.USub(), operand):
                return operation(_negative, self.compile(operand))
            case ast.BinOp(left, sign, right):
                return arithmetic(SIGNS[type(sign)], self.compile(left), self.compile(right))
            case ast.BoolOp(sign, parts):
                return connected(SIGNS[type(sign)], [self.compile(part) for part in parts])
            case ast.Compare(left, signs, others):
                sides_ = [self.compile(side) for side in (left, *others)]
                pairs = zip(signs, sides_, sides_[1:], strict=False)
                chain = [arithmetic(SIGNS[type(s)], a, b) for s, a, b in pairs]
                return connected("and", chain)
            case ast.IfExp(condition, yes, no):
                first, when = self.compile(yes), self.compile(condition)
                return conditional(when, first, self.compile(no))
            case ast.Call():
                return self._call(node)
        raise TypeError(ast.dump(node))

    def condition(self, node: ast.expr | None) -> Callable[[Scope], bool]:
        """Return a test of a scope, true without a condition."""
        if node is None:
            return lambda scope: True
        evaluate = self.compile(node).evaluate
        return lambda scope: bool(evaluate(scope).data)

    # Names, fields, elements

    def _name(self, name: str) -> Expression:
        names = self.names
        if name in names.locals:
            return Expression(lambda scope: scope.locals[name], names.locals[name])
        if name in names.arguments:
            argument = names.arguments[name]
            if argument.is_each:
                return Expression(lambda scope: scope.locals[name], argument.initial)
            return Expression(lambda scope: scope.run.arguments[name], argument.initial)
        if names.is_own_field(name):
            return self._field(Place(_own_row, names.home, name, is_own=True))
        if name == "entity":
            return Expression(lambda scope: value("entity", scope.row.owner), value("entity", 0))
        if name == self._asked:
            hood = names.hoods[name]
            owned = self.schema.components[hood.there].is_owned
            sample = value("entity" if owned else f"id<{hood.there}>", 0)
            return Expression(_neighbour_handle, sample)
        if name in ("offset", "distance") and self._asked:
            return self._of_neighbour(name)
        if name == "tick":
            return Expression(lambda scope: value("i64", scope.run.world.tick), value("i64", 0))
        return constant(CONSTANTS[name])

    def _attribute(self, node: ast.Attribute) -> Expression:
        base, name = node.value, node.attr
        if isinstance(base, ast.Name) and not self.names.is_value(base.id):
            member = self._member(base.id, name)
            if member is not None:
                return member
        if isinstance(base, ast.Attribute) and base.attr in self.schema.components:
            return self._field(Place(self.row_of(base), base.attr, name))
        head = self.compile(base)
        if head.sample.is_id and head.is_scalar:
            return self._field(Place(_row_with_id(head), head.sample.target, name))
        return self._element(head, ("xyzw".index(name),))

    def _member(self, base: str, name: str) -> Expression | None:
        """Return `base.name` of a base that is no value: a neighbour, a component, an enum …"""
        if base == self._asked:
            if name in ("offset", "distance", "entity"):
                return self._of_neighbour(name)
            there = self.names.hoods[base].there
            if name in self.schema.components[there].fields:
                return self._field(Place(lambda scope: scope.met.row, there, name))
        if not self.names.home and base in self._members:
            return self._field(Place(lambda scope: scope.rows[base], base, name, is_own=True))
        if base == "parent":
            parent = Place(lambda scope: scope.row.parent, self.names.home, name)
            return self._field(parent, is_current=True)
        if base == "settings":
            sample = self.schema.settings[name].initial
            return Expression(lambda scope: scope.run.world.settings[name], sample)
        enum = self.schema.enums.get(base)
        return constant(value(base, enum[name])) if enum else None

    def _of_neighbour(self, name: str) -> Expression:
        if name == "entity":
            return Expression(
                lambda scope: value("entity", scope.met.row.owner), value("entity", 0)
            )
        sample = self.names.hoods[self._asked].sample(self.schema)
        if name == "offset":
            return Expression(lambda scope: scope.met.offset, sample)
        return Expression(lambda scope: scope.met.distance, values.norm(sample))

    def row_of(self, node: ast.Attribute) -> FindRow:
        """Return how to find the row of `H.Component`: a neighbour's, an entity's, or the first on
        a cell."""
        name, base = node.attr, node.value
        hood = self.names.hoods.get(self._asked)
        is_asked = isinstance(base, ast.Name) and base.id == self._asked
        if hood and is_asked and name in self.schema.members_of(hood.among):
            return lambda scope: scope.met.rows[name]
        head = self.compile(base)
        evaluate = head.evaluate
        if head.sample.type == "entity":
            return lambda scope: scope.run.world.first(name, evaluate(scope).one)
        return lambda scope: next(iter(scope.run.standing(name, evaluate(scope).one)), None)

    def _field(self, target: Place, is_current: bool = False) -> Expression:
        """Return a field; `is_current`: as it is now, not as the kernel sees others."""
        name, find = target.field, target.find
        f = self.schema.components[target.component].fields[name]
        absent = f.absent

        def current(scope: Scope) -> Value:
            row = find(scope)
            return absent if row is None else row.cells[name]

        def seen(scope: Scope) -> Value:
            row = find(scope)
            return absent if row is None else scope.run.seen(row, name)

        return Expression(current if target.is_own or is_current else seen, f.initial, target)

    def _element(self, vector: Expression, index: tuple[int, ...]) -> Expression:
        def element(cells: Value) -> Value:
            return Value(cells.type, cells.data[index])

        evaluate, target = vector.evaluate, vector.place
        if target is not None:
            target = replace(target, index=target.index + index)
        return Expression(lambda scope: element(evaluate(scope)), element(vector.sample), target)

    # Calls

    def _call(self, node: ast.Call) -> Expression:
        name, args = ast.unparse(node.func), node.args
        component = args[0].id if args and isinstance(args[0], ast.Name) else ""
        if component not in self.schema.components:
            component = ""
        if name == "exists":
            return self._exists(args[0])
        if name in DRAWS:
            return self._draw(name, args)
        if component and name in ("choice", "random_empty"):
            return self._choice_of(name, component)
        if name in QUESTIONS or (name in ("min", "max") and len(args) == 1):
            return self._question(name, node)
        if name == "cell_at":
            coords = self.compile(args[1]).evaluate
            id_ = f"id<{component}>"
            return Expression(
                lambda scope: value(id_, scope.run.world.grids[component].at(coords(scope).data)),
                value(id_, 0),
            )
        operands = [self.compile(arg) for arg in args]
        if name == "coords":
            return self._coords(operands[0])
        if name in NUMBERS or name == "bool":
            return operation(partial(cast, name), operands[0])
        return operation(lambda *operands: values.function(name, operands), *operands)

    def _coords(self, cell: Expression) -> Expression:
        name, evaluate = cell.sample.target, cell.evaluate
        shape = (len(self.schema.components[name].shape),)
        return Expression(
            lambda scope: value("i64", scope.run.world.grids[name].coords(evaluate(scope).one)),
            value("i64", 0, shape),
        )

    def _exists(self, node: ast.expr) -> Expression:
        sample = value("bool", False)
        if isinstance(node, ast.Attribute) and node.attr in self.schema.components:
            find = self.row_of(node)
        else:
            head = self.compile(node)
            evaluate = head.evaluate
            if head.sample.type == "entity":
                return Expression(
                    lambda scope: value("bool", evaluate(scope).one in scope.run.world.entities),
                    sample,
                )
            find = _row_with_id(head)
        return Expression(lambda scope: value("bool", find(scope) is not None), sample)

    # Draws

    def _reserve(self, count: int) -> int:
        """Return the number of the first of so many draws."""
        first = self.names.draws
        self.names.draws += count
        return first

    def _draw(self, name: str, args: Sequence[ast.expr]) -> Expression:
        """Return random numbers; those of a call come before those that its arguments draw."""
        first = self.names.draws
        dry = [self.compile(arg).sample for arg in args]
        if name in ("random", "normal"):
            shape = tuple(size.one for size in dry)
        else:
            shape = max((sample.shape for sample in dry), key=len)
        self.names.draws = first + math.prod(shape)
        operands = [self.compile(arg).evaluate for arg in args]
        numbers = range(first, first + math.prod(shape))

        def words(scope: Scope) -> list[int]:
            return [random_numbers.word(scope.stem, j) for j in numbers]

        def below(scope: Scope) -> Value:
            limits = np.broadcast_to(operands[0](scope).data, shape).ravel().tolist()
            pairs = zip(words(scope), limits, strict=True)
            cells = [random_numbers.number_below(*pair) for pair in pairs]
            return value("i64", np.reshape(cells, shape))

        make = random_numbers.normal_number if name == "normal" else random_numbers.unit_number

        def numbers_of(scope: Scope) -> Value:
            return value("f64", np.reshape([make(word) for word in words(scope)], shape))

        def between(scope: Scope) -> Value:
            low, high = (cast("f64", operand(scope)) for operand in operands)
            return binary("+", low, binary("*", binary("-", high, low), numbers_of(scope)))

        if name == "randrange":
            return Expression(below, value("i64", 0, shape))
        evaluate = between if name == "uniform" else numbers_of
        return Expression(evaluate, value("f64", 0, shape))

    def _choice_of(self, name: str, component: str) -> Expression:
        """Return `choice` of all that lived before the kernel, or `random_empty` of a component."""
        number = self._reserve(1)
        if name == "random_empty":
            self.names.emptied.add(component)
            id_ = f"id<{self.schema.components[component].grid}>"
            return Expression(
                lambda scope: value(
                    id_, _one_of(scope, number, scope.run.occupants(component).empty) or 0
                ),
                value(id_, 0),
            )
        self.names.chosen.add(component)

        def evaluate(scope: Scope) -> Value:
            row = _one_of(scope, number, scope.run.candidates[component])
            world = scope.run.world
            return world.reference(component, row if row and world.lives(row) else None)

        is_owned = self.schema.components[component].is_owned
        return Expression(evaluate, value("entity" if is_owned else f"id<{component}>", 0))

    # Questions to neighbours

    def _question(self, name: str, node: ast.Call) -> Expression:
        near = self._named(node)
        number = self._reserve(1) if name in ("choice", "max_by", "min_by") else 0
        inner = type(self)(self.names, near)
        where = inner.condition(next((keyword.value for keyword in node.keywords), None))

        def matching(scope: Scope) -> list[Scope]:
            neighbours = scope.run.neighbours(near, scope.rows)
            return [each for n in neighbours if where(each := scope.meeting(n))]

        answer = node.args[0] if node.args else None
        if name == "count":
            is_counted = inner.condition(
                None if answer is None or ast.unparse(answer) == near else answer
            )
            return Expression(
                lambda scope: value("i64", sum(map(is_counted, matching(scope)))), value("i64", 0)
            )
        assert answer is not None
        asked = inner.compile(answer)
        sample = values.settled(asked.sample)
        if name in ("sum", "mean", "min", "max"):

            def gathered_(scope: Scope) -> Value:
                answers = [cast(sample.type, asked.evaluate(each)) for each in matching(scope)]
                return gathered(name, answers, sample)

            return Expression(gathered_, gathered(name, [], sample))
        keys = [inner.compile(key).evaluate for key in node.args[1:]]
        none = value(sample.type, 0, sample.shape)

        def evaluate(scope: Scope) -> Value:
            scopes = matching(scope)
            if name == "nearest":
                squares = [values.dot(s.met.offset, s.met.offset).one for s in scopes]
                best_scope = scopes[squares.index(min(squares))] if scopes else None
            else:
                best_scope = _one_of(scope, number, best(name, scopes, keys))
            return cast(sample.type, asked.evaluate(best_scope)) if best_scope else none

        return Expression(evaluate, none)

    def _named(self, node: ast.Call) -> str:
        """Return the neighbourhood that a question names; it need not where there is only one."""
        hoods = self.names.hoods
        if len(hoods) == 1:
            return next(iter(hoods))
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        (near,) = names & {*hoods} or hoods
        return near


# Closures


def constant(data: Value) -> Expression:
    """Return the expression of a value that is the same for all rows."""
    return Expression(lambda scope: data, data, is_constant=True)


def operation(function: Callable[..., Value], *operands: Expression) -> Expression:
    """Return an operation or function of values that are all worked out."""
    sample = function(*(operand.sample for operand in operands))
    if all(operand.sample.is_literal for operand in operands):
        return constant(sample)
    evaluates = [operand.evaluate for operand in operands]
    if len(operands) == 1:
        (only,) = evaluates
        return Expression(lambda scope: function(only(scope)), sample)
    if len(operands) == 2:
        left, right = evaluates
        return Expression(lambda scope: function(left(scope), right(scope)), sample)
    return Expression(lambda scope: function(*(evaluate(scope) for evaluate in evaluates)), sample)


def arithmetic(sign: str, left: Expression, right: Expression) -> Expression:
    """Return an operation of two values: `binary` with types that are known."""
    if sign not in values.UFUNCS or (left.sample.is_literal and right.sample.is_literal):
        return operation(partial(binary, sign), left, right)
    sample, ufunc = binary(sign, left.sample, right.sample), values.UFUNCS[sign]
    a, b, type_ = _meeting(left, right).evaluate, _meeting(right, left).evaluate, sample.type
    return Expression(lambda scope: Value(type_, ufunc(a(scope).data, b(scope).data)), sample)


def _meeting(operand: Expression, other: Expression) -> Expression:
    """Return an operand in the type in which it is computed with."""
    if not operand.sample.is_literal:
        return operand
    sample = values.meeting(operand.sample, other.sample)
    if operand.is_constant:
        return constant(sample)
    type_, evaluate = sample.type, operand.evaluate
    return Expression(lambda scope: cast(type_, evaluate(scope)), sample)


def connected(sign: str, parts: Sequence[Expression]) -> Expression:
    """Return `and` or `or` of parts; a part that decides ends it, if none has a shape."""
    if len(parts) == 1:
        return parts[0]
    join = partial(binary, sign)
    if not all(part.is_scalar for part in parts):
        return reduce(partial(operation, join), parts)
    evaluates, decisive = [part.evaluate for part in parts], sign == "or"

    def evaluate(scope: Scope) -> Value:
        return value("bool", any(bool(e(scope).data) == decisive for e in evaluates) == decisive)

    return Expression(evaluate, reduce(join, (part.sample for part in parts)))


def conditional(when: Expression, yes: Expression, no: Expression) -> Expression:
    """Return `yes if when else no`; the side that is not taken is not worked out."""
    sample = values.chosen(when.sample, yes.sample, no.sample)
    if not when.is_scalar:
        return operation(values.chosen, when, yes, no)
    test, sides = when.evaluate, (no.evaluate, yes.evaluate)
    kind = float if sample.type == "float" else int
    like = value("f64" if sample.is_literal else sample.type, 0, sample.shape)

    def evaluate(scope: Scope) -> Value:
        side = sides[bool(test(scope).data)](scope)
        if sample.is_literal:
            return Value(sample.type, kind(side.data))
        return values.assigned(side, like)

    return Expression(evaluate, sample)


def gathered(name: str, answers: list[Value], sample: Value) -> Value:
    """Return what neighbours have together; of none 0, or NaN as a float."""
    is_float = sample.kind == "f"
    if name in ("min", "max"):
        nothing = value(sample.type, math.nan if is_float else 0, sample.shape)
        return values.function(name, answers) if answers else nothing
    wide = "f64" if is_float or name == "mean" else "i64" if sample.kind == "i" else "u64"
    total = value(wide, 0, sample.shape)
    for answer in answers:
        total = binary("+", total, cast(wide, answer))
    if name == "mean":
        total = binary("/", total, value("f64", len(answers)))
    return cast(sample.type, total) if is_float else total


def best(name: str, scopes: list[Scope], keys: Sequence[Evaluate]) -> list[Scope]:
    """Return the neighbours with the greatest, or least, first key; of several, by the next …"""
    for number, key in enumerate(keys):
        numbers = [key(scope).one for scope in scopes]
        comparable = [n for n in numbers if n == n]
        if comparable or number == 0:
            top = (max if name == "max_by" else min)(comparable, default=None)
            scopes = [scope for scope, n in zip(scopes, numbers, strict=True) if n == top]
    return scopes


def _one_of(scope: Scope, number: int, candidates: Sequence[Any]) -> Any:
    """Return one of the candidates by chance; None if there are none."""
    word = random_numbers.word(scope.stem, number)
    return candidates[random_numbers.number_below(word, len(candidates))] if candidates else None


def _negation(operand: Value) -> Value:
    return values.typed(np.logical_not(operand.data))


def _negative(operand: Value) -> Value:
    if operand.is_literal:
        return Value(operand.type, -operand.data)
    return values.function("-", [operand])


def _own_row(scope: Scope) -> Row | None:
    return scope.row


def _neighbour_handle(scope: Scope) -> Value:
    row = scope.met.row
    return scope.run.world.reference(row.component, row)


def _row_with_id(head: Expression) -> FindRow:
    evaluate, target = head.evaluate, head.sample.target
    return lambda scope: scope.run.world.with_id(target, evaluate(scope).one)
