"""Expressions of kernels, compiled to closures: each gives its value for one row."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce

from . import values
from .draws import DRAWS
from .naive_world import Row
from .neighbours import Hood, Neighbour, candidates
from .operation_values import (
    arithmetic,
    conditional,
    connected,
    constant,
    inverse,
    negation,
    negative,
    operation,
    read_twice,
)
from .questions import QUESTIONS, QuestionCompiler
from .schema import SETTINGS
from .scopes import Expression, FindRow, Index, Names, Place, Scope
from .values import NUMBERS, Value, cast, value

SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
SIGNS |= {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
SIGNS |= {ast.FloorDiv: "//", ast.Pow: "**", ast.MatMult: "@", ast.And: "and", ast.Or: "or"}
SIGNS |= {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
CONSTANTS = {"true": value("bool", True), "false": value("bool", False)}
CONSTANTS |= {"pi": Value("float", math.pi), "tau": Value("float", math.tau)}


class ExpressionCompiler(QuestionCompiler):
    """Compiler of expressions; `asked` is the neighbourhood within a question."""

    def __init__(self, names: Names, asked: str = "", subject: Place | None = None) -> None:
        super().__init__(names, asked, subject)
        self._members = self.schema.members_of(names.over)

    def compile(self, node: ast.expr) -> Expression:
        """Return the expression of a syntax tree."""
        match node:
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript(base, index):
                return self._subscript(self.compile(base), index)
            case ast.Constant(bool() as data):
                return constant(value("bool", data))
            case ast.Constant(data):
                return constant(Value(type(data).__name__, data))
            case ast.UnaryOp(ast.UAdd(), operand):
                return self.compile(operand)
            case ast.UnaryOp(ast.Not(), operand):
                return operation(negation, self.compile(operand))
            case ast.UnaryOp(ast.USub(), operand):
                return operation(negative, self.compile(operand))
            case ast.UnaryOp(ast.Invert(), operand):
                return self._inverse(self.compile(operand))
            case ast.BinOp(left, sign, right):
                return arithmetic(SIGNS[type(sign)], self.compile(left), self.compile(right))
            case ast.BoolOp(sign, parts):
                return connected(SIGNS[type(sign)], [self.compile(part) for part in parts])
            case ast.Compare(left, signs, others):
                first, *rest = [self.compile(side) for side in (left, *others)]
                chain = []
                for sign_, side in zip(signs, rest, strict=True):
                    side, again = read_twice(side)
                    chain.append(_compared(sign_, first, side))
                    first = again
                return connected("and", chain)
            case ast.IfExp(condition, yes, no):
                first, when = self.compile(yes), self.compile(condition)
                return conditional(when, first, self.compile(no))
            case ast.Call():
                return self._call(node)
        raise TypeError(ast.dump(node))

    def _inverse(self, operand: Expression) -> Expression:
        """Return all other bits, of flags those of the members."""
        members = self.schema.enums.get(operand.sample.type)
        if members is None:
            return operation(inverse, operand)
        all_bits = value(operand.sample.type, reduce(operator.or_, members.values()))
        return arithmetic("^", arithmetic("&", operand, constant(all_bits)), constant(all_bits))

    # Names, fields, elements

    def _name(self, name: str) -> Expression:
        names = self.names
        if name in names.locals:
            local = Place(_own_row, "", name)
            return Expression(lambda scope: scope.locals[name], names.locals[name], local)
        if name in names.arguments:
            argument = names.arguments[name]
            if argument.is_each:
                return Expression(lambda scope: scope.locals[name], argument.initial)
            return Expression(lambda scope: scope.run.arguments[name], argument.initial)
        if names.is_own_field(name):
            subject = self._subject or Place(_own_row, names.home, "", is_own=True)
            return self._field(replace(subject, field=name))
        if name == "entity":
            return Expression.of("entity", lambda scope: scope.row.owner)
        if name == "self":
            sample = value(self.schema.handle_type(self._members[0]), 0)
            return Expression(lambda scope: _handle(scope, scope.row), sample)
        if name == "link" and self._linked_by(ast.Name(name)) is not None:
            return self._of_link(self._asked, "")
        if self._is_neighbour(name):
            return self._neighbour(name)
        if name in ("offset", "distance") and self._asked:
            return self._of_neighbour(self._asked, name)
        if name == "tick":
            return Expression.of("i64", lambda scope: scope.run.world.tick)
        return constant(CONSTANTS[name])

    def _attribute(self, node: ast.Attribute) -> Expression:
        base, name = node.value, node.attr
        if (near := self._linked_by(base)) is not None:
            return self._of_link(near, name)
        if name == "link" and isinstance(base, ast.Name) and self._linked_by(node) is not None:
            return self._of_link(base.id, "")
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
        if self._is_neighbour(base):
            if name in ("offset", "distance", "entity"):
                return self._of_neighbour(base, name)
            there = self._hood(base).there
            if self.schema.components[there].has(name):
                return self._field(Place(self._row_met(base, there), there, name))
        if base == SETTINGS:
            sample = self.schema.settings[name].initial
            setting = Place(lambda scope: scope.run.world.settings_row, SETTINGS, name)
            return Expression(lambda scope: scope.run.world.settings[name], sample, setting)
        if not self.names.home and base in self._members:
            return self._field(Place(lambda scope: scope.rows[base], base, name, is_own=True))
        if base == "parent":
            home = self.names.home
            return self._field(Place(lambda scope: scope.row.parent, home, name, is_current=True))
        enum = self.schema.enums.get(base)
        return constant(value(base, enum[name])) if enum else None

    # Neighbours: the one of a loop, by its name there, or the one that a question is about

    def _is_neighbour(self, name: str) -> bool:
        return name in self.names.loops or name == self._asked

    def _hood(self, name: str) -> Hood:
        if name in self.names.loops:
            return self.names.loops[name]
        return self.names.hoods.get(name) or candidates(name)

    def _met(self, name: str) -> Callable[[Scope], Neighbour]:
        """Return how to find a neighbour: in a loop this very one, which may die there."""
        if name not in self.names.loops:
            return lambda scope: scope.met
        return lambda scope: scope.loops[name]

    def _neighbour(self, name: str) -> Expression:
        """Return the handle of a neighbour."""
        met, sample = self._met(name), value(self.schema.handle_type(self._hood(name).there), 0)
        return Expression(lambda scope: _handle(scope, met(scope).row), sample)

    def _row_met(self, name: str, component: str) -> FindRow:
        met = self._met(name)
        return lambda scope: met(scope).rows[component]

    def _of_neighbour(self, base: str, name: str) -> Expression:
        """Return the entity, offset or distance of a neighbour."""
        if name == "entity":
            return self._neighbour(base)
        hood, met = self._hood(base), self._met(base)
        near, sample = hood.near.name, hood.sample(self.schema)

        def offset(scope: Scope) -> Value:
            return scope.run.nearby[near].offset(scope.rows, met(scope))

        if name == "offset":
            return Expression(offset, sample)
        return Expression(lambda scope: hood.distance(offset(scope)), hood.distance(sample))

    def _linked_by(self, node: ast.expr) -> str | None:
        """Return the name of the neighbour to which `link`, or `other.link`, leads."""
        match node:
            case ast.Name("link") if self._asked and self._hood(self._asked).near.via:
                return self._asked
            case ast.Attribute(ast.Name(name), "link") if self._is_neighbour(name):
                return name if self._hood(name).near.via else None
        return None

    def _of_link(self, name: str, field: str) -> Expression:
        """Return a field of the link to a neighbour; for no field its id."""
        via, met = self._hood(name).near.via, self._met(name)

        def link(scope: Scope) -> Row:
            row = met(scope).link
            assert row is not None
            return row

        if not field:
            return Expression.of(f"id<{via}>", lambda scope: link(scope).id)
        if field == "entity":
            return Expression.of("entity", lambda scope: link(scope).owner)
        return self._field(Place(link, via, field))

    def row_of(self, node: ast.Attribute) -> FindRow:
        """Return how to find the row of `H.Component`: a neighbour's, an entity's, or the first on
        a cell."""
        name, base = node.attr, node.value
        met = base.id if isinstance(base, ast.Name) and self._is_neighbour(base.id) else ""
        if met and name in self.schema.members_of(self._hood(met).among):
            return self._row_met(met, name)
        head = self.compile(base)
        evaluate = head.evaluate
        if head.sample.type == "entity":
            return lambda scope: scope.run.world.first(name, evaluate(scope).one)
        return lambda scope: next(
            iter(scope.run.occupants(name).standing(evaluate(scope).one)), None
        )

    def _field(self, target: Place) -> Expression:
        """Return a field or a derived value."""
        name, find = target.field, target.find
        if name in self.schema.components[target.component].derived:
            return self._derived(target)
        f = self.schema.components[target.component].fields[name]
        absent = f.absent

        def current(scope: Scope) -> Value:
            row = find(scope)
            return absent if row is None else row.cells[name]

        def seen(scope: Scope) -> Value:
            row = find(scope)
            return absent if row is None else scope.run.seen(row, name)

        is_current = target.is_own or target.is_current
        return Expression(current if is_current else seen, f.initial, target)

    def _derived(self, target: Place) -> Expression:
        """Return a derived value, of what the fields of the row are when it is read."""
        home = target.component
        compiler = type(self)(Names(self.schema, home, home), subject=target)
        derived = compiler.compile(self.schema.components[home].derived[target.field])
        return operation(values.settled, replace(derived, place=None))

    def _subscript(self, vector: Expression, node: ast.expr) -> Expression:
        """Return an element; of an index that is worked out and is outside of the shape 0."""
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        positions = [self.compile(position) for position in nodes]
        if all(p.sample.is_literal and p.is_constant for p in positions):
            return self._element(vector, tuple(position.sample.one for position in positions))
        shape, zero = vector.sample.shape, value(vector.sample.type, 0)
        evaluate, evaluates = vector.evaluate, [position.evaluate for position in positions]

        def index(scope: Scope) -> Index | None:
            numbers = tuple(position(scope).one for position in evaluates)
            pairs = zip(numbers, shape, strict=True)
            return numbers if all(0 <= k < size for k, size in pairs) else None

        def element(scope: Scope) -> Value:
            numbers = index(scope)
            return zero if numbers is None else Value(zero.type, evaluate(scope).data[numbers])

        target = vector.place and replace(vector.place, index=index)
        return Expression(element, zero, target)

    def _element(self, vector: Expression, index: Index) -> Expression:
        def element(cells: Value) -> Value:
            return Value(cells.type, cells.data[index])

        evaluate, target = vector.evaluate, vector.place
        if target is not None:
            outer = target.index
            target = replace(target, index=lambda scope: (outer(scope) or ()) + index)
        return Expression(lambda scope: element(evaluate(scope)), element(vector.sample), target)

    # Calls

    def _call(self, node: ast.Call) -> Expression:
        name, args = ast.unparse(node.func), node.args
        if isinstance(node.func, ast.Attribute):
            return self._reduced(name)
        component = args[0].id if args and isinstance(args[0], ast.Name) else ""
        if component not in self.schema.components:
            component = ""
        if name == "exists":
            return self._exists(args[0])
        if name == "full":
            cell, there = self.compile(args[0]).evaluate, ast.unparse(args[1])
            return Expression.of("bool", lambda scope: scope.run.is_full(there, cell(scope).one))
        if name in DRAWS:
            return self._draw(name, args)
        if component and name in ("choice", "random_empty"):
            return self._choice_of(name, component, node.keywords)
        if name in ("min", "max", "sum") and self._is_of_elements(node):
            return operation(partial(values.of_elements, name), self.compile(args[0]))
        if name in QUESTIONS or (name in ("min", "max") and len(args) == 1):
            return self._question(name, node)
        if name == "cell_at":
            coords = self.compile(args[1]).evaluate
            return Expression.of(
                f"id<{component}>",
                lambda scope: scope.run.world.grids[component].at(coords(scope).data),
            )
        operands = [self.compile(arg) for arg in args]
        if name == "coords":
            return self._coords(operands[0])
        if name in NUMBERS or name == "bool":
            return operation(partial(cast, name), operands[0])
        return operation(lambda *operands: values.function(name, operands), *operands)

    def _reduced(self, name: str) -> Expression:
        """Return the value that a reduction has when the kernel is called."""
        reduction = self.names.reduction(name)
        rows = ExpressionCompiler(Names.of(self.schema, reduction)).compile(reduction.value)
        type_ = values.reduced_type(reduction.function, rows.sample)
        return Expression(lambda scope: scope.run.reduced[name], value(type_, 0))

    def _coords(self, cell: Expression) -> Expression:
        name, evaluate = cell.sample.target, cell.evaluate
        return Expression.of(
            "i64",
            lambda scope: scope.run.world.grids[name].coords(evaluate(scope).one),
            (len(self.schema.components[name].shape),),
        )

    def _exists(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Attribute) and node.attr in self.schema.components:
            find = self.row_of(node)
        else:
            head = self.compile(node)
            evaluate = head.evaluate
            if head.sample.type == "entity":
                return Expression.of(
                    "bool", lambda scope: evaluate(scope).one in scope.run.world.entities
                )
            find = _row_with_id(head)
        return Expression.of("bool", lambda scope: find(scope) is not None)


def _compared(sign: ast.cmpop, left: Expression, right: Expression) -> Expression:
    if isinstance(sign, ast.In | ast.NotIn):
        how = "==" if isinstance(sign, ast.In) else "!="
        return arithmetic(how, arithmetic("&", right, left), left)
    return arithmetic(SIGNS[type(sign)], left, right)


def _own_row(scope: Scope) -> Row | None:
    return scope.row


def _handle(scope: Scope, row: Row) -> Value:
    return scope.run.world.reference(row.component, row)


def _row_with_id(head: Expression) -> FindRow:
    evaluate, target = head.evaluate, head.sample.target
    return lambda scope: scope.run.world.with_id(target, evaluate(scope).one)
