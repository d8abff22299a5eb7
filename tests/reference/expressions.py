"""The expressions of kernels: what each node of Python's syntax tree is worth for one row."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.reference import values
from tests.reference.grids import Neighbour
from tests.reference.values import LITERALS, NUMBERS, Draws, Value, binary, cast, value

if TYPE_CHECKING:
    from tests.reference.interpreter import Run
    from tests.reference.world import Actor, Row

SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
SIGNS |= {ast.FloorDiv: "//", ast.Pow: "**", ast.MatMult: "@", ast.And: "and", ast.Or: "or"}
SIGNS |= {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
CONSTANTS = {"true": value("bool", True), "false": value("bool", False)}
CONSTANTS |= {"pi": Value("float", math.pi), "tau": Value("float", math.tau)}
QUESTIONS = ("count", "sum", "mean", "nearest", "choice", "max_by", "min_by")


@dataclass(frozen=True)
class Place:
    """A field of a row, or an element of it; without a row the reference leads nowhere."""

    row: Row | None
    component: str
    field: str
    is_own: bool = False
    index: tuple[int, ...] = ()


class Scope:
    """What names mean for one row; within a question `met` is the neighbour, by its name."""

    def __init__(self, run: Run, rows: Actor, draws: Draws, locals_: dict[str, Value]) -> None:
        self.run, self.world, self.rows, self.draws = run, run.world, rows, draws
        self.row = next(iter(rows.values()))
        self.locals = locals_
        self.met: dict[str, Neighbour] = {}

    def value(self, node: ast.expr) -> Value:
        found = self.denoted(node)
        return self.read(found) if isinstance(found, Place) else found

    def holds(self, node: ast.expr | None) -> bool:
        """Is a condition true, or is there none?"""
        return node is None or bool(self.value(node).one)

    def read(self, place: Place) -> Value:
        """A row's own fields as its steps left them, others' as the kernel sees them."""
        if place.row is None:
            found = self.world.default(place.component, place.field)
        else:
            cells = place.row.cells if place.is_own else self.run.cells(place.row)
            found = cells[place.field]
        return Value(found.type, found.data[place.index]) if place.index else found

    # Names, fields, elements

    def denoted(self, node: ast.expr) -> Place | Value:
        """What a node stands for: the place of a field, or a value that has none."""
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Subscript):
            index = ast.literal_eval(node.slice)
            return _part(self.denoted(node.value), index if isinstance(index, tuple) else (index,))
        return self._computed(node)

    def is_field(self, name: str) -> bool:
        """Is it a field of a component's own kernel?"""
        return bool(self.run.kernel.home) and name in self.row.cells

    def _named(self, name: str) -> Place | Value:
        if name in self.locals or name in self.run.arguments:
            return self.locals.get(name) or self.run.arguments[name]
        if self.is_field(name):
            return Place(self.row, self.row.component, name, is_own=True)
        if name == "entity":
            return value("entity", self.row.owner)
        if name in self.met:
            row = self.met[name].row
            return self.world.reference(row.component, row)
        if name in ("offset", "distance"):
            (met,) = self.met.values()
            return met.offset if name == "offset" else met.distance
        return value("i64", self.world.tick) if name == "tick" else CONSTANTS[name]

    def _attribute(self, node: ast.Attribute) -> Place | Value:
        base, name = node.value, node.attr
        found = self._dotted(base.id, name) if isinstance(base, ast.Name) else None
        if found:
            return found
        if isinstance(base, ast.Attribute) and base.attr in self.world.rows:
            return Place(self.row_at(base), base.attr, name)
        head = self.denoted(base)
        one = self.read(head) if isinstance(head, Place) else head
        if one.type.startswith("id<") and one.shape == ():
            target = one.type[3:-1]
            return Place(self.world.with_id(target, one.one), target, name)
        return _part(head, ("xyzw".index(name),))

    def _dotted(self, base: str, name: str) -> Place | Value | None:
        """`base.name` of a base that is no value: a neighbour, a component, an enum …"""
        if base in self.locals or base in self.run.arguments or self.is_field(base):
            return None
        if base in self.met:
            met = self.met[base]
            known = {"offset": met.offset, "distance": met.distance}
            known["entity"] = value("entity", met.row.owner)
            return known.get(name) or Place(met.row, met.row.component, name)
        if base in self.rows:
            return Place(self.rows[base], base, name, is_own=True)
        if base == "parent":
            return Place(self.row.parent, self.row.component, name, is_own=True)
        if base == "settings":
            return self.world.settings[name]
        enum = self.world.schema.enums.get(base)
        return value(base, enum[name]) if enum else None

    def row_at(self, node: ast.Attribute) -> Row | None:
        """The row of `H.Component`: a neighbour's, an entity's, or the first on a cell."""
        name, base = node.attr, node.value
        met = self.met.get(base.id) if isinstance(base, ast.Name) else None
        if met and name in met.rows:
            return met.rows[name]
        head = self.value(base)
        if head.type == "entity":
            return self.world.first(name, head.one)
        return next(iter(self.run.standing(name, head.one)), None)

    # Operations: all parts are worked out, and draw, in the order in which they are written

    def _computed(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant(bool() as data):
                return value("bool", data)
            case ast.Constant(data):
                return Value(type(data).__name__, data)
            case ast.UnaryOp(ast.UAdd(), operand):
                return self.value(operand)
            case ast.UnaryOp(ast.Not(), operand):
                return values.typed(np.logical_not(self.value(operand).data))
            case ast.UnaryOp(ast.USub(), operand):
                one = self.value(operand)
                is_written = one.type in LITERALS
                return Value(one.type, -one.data) if is_written else values.function("-", [one])
            case ast.BinOp(left, sign, right):
                return binary(SIGNS[type(sign)], self.value(left), self.value(right))
            case ast.BoolOp(sign, parts):
                operands = [self.value(part) for part in parts]
                return reduce(partial(binary, SIGNS[type(sign)]), operands)
            case ast.Compare(left, signs, others):
                sides = [self.value(side) for side in (left, *others)]
                pairs = zip(signs, sides, sides[1:], strict=False)
                chain = [binary(SIGNS[type(sign)], one, other) for sign, one, other in pairs]
                return reduce(partial(binary, "and"), chain)
            case ast.IfExp(condition, yes, no):
                first, when = self.value(yes), self.value(condition)
                return values.chosen(when, first, self.value(no))
            case ast.Call():
                return self._call(node)
        raise TypeError(ast.dump(node))

    def _call(self, node: ast.Call) -> Value:
        name, args = ast.unparse(node.func), node.args
        component = args[0].id if args and isinstance(args[0], ast.Name) else ""
        if component not in self.world.rows:
            component = ""
        if name == "exists":
            return value("bool", self._exists(args[0]))
        if name in ("random", "normal", "uniform", "randrange"):
            return self._drawn(name, args)
        if component and name in ("choice", "random_empty"):
            return self._anywhere(name, component)
        if name in QUESTIONS or (name in ("min", "max") and len(args) == 1):
            return self._question(name, node)
        if name == "cell_at":
            return value(
                f"id<{component}>", self.world.grids[component].at(self.value(args[1]).data)
            )
        operands = [self.value(one) for one in args]
        if name == "coords":
            grid = self.world.grids[operands[0].type[3:-1]]
            return value("i64", grid.coords(operands[0].one))
        if name in NUMBERS or name == "bool":
            return cast(name, operands[0])
        return values.function(name, operands)

    def _exists(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute) and node.attr in self.world.rows:
            return self.row_at(node) is not None
        head = self.value(node)
        if head.type == "entity":
            return head.one in self.world.entities
        return self.world.with_id(head.type[3:-1], head.one) is not None

    def _drawn(self, name: str, args: Sequence[ast.expr]) -> Value:
        """Random numbers, those of this call before those that its arguments draw."""
        first, dry = self.draws.next, [self.value(one) for one in args]
        if name in ("random", "normal"):
            shape = tuple(one.one for one in dry)
        else:
            shape = max((one.shape for one in dry), key=len)
        self.draws.next = first + math.prod(shape)
        operands = [self.value(one) for one in args]
        after, self.draws.next = self.draws.next, first
        if name == "randrange":
            limits = np.broadcast_to(operands[0].data, shape).ravel().tolist()
            cells: list[Any] = [self.draws.below(limit) for limit in limits]
        else:
            draw = self.draws.normal if name == "normal" else self.draws.random
            cells = [draw() for _ in range(math.prod(shape))]
        self.draws.next = after
        found = value("i64" if name == "randrange" else "f64", np.reshape(cells, shape))
        if name != "uniform":
            return found
        low, high = (cast("f64", one) for one in operands)
        return binary("+", low, binary("*", binary("-", high, low), found))

    def _anywhere(self, name: str, component: str) -> Value:
        """`choice` of all that lived before the kernel, or `random_empty` of a component."""
        if name == "random_empty":
            cell = self._candidate(self.run.empties[component]) or 0
            return value(f"id<{self.world.schema.components[component].grid}>", cell)
        row = self._candidate(self.run.rosters[component])
        return self.world.reference(component, row if row and self.world.lives(row) else None)

    def _candidate(self, candidates: Sequence[Any]) -> Any:
        """One of them by chance; None, but a draw as well, if there are none."""
        k = self.draws.below(len(candidates))
        return candidates[k] if candidates else None

    # Questions to neighbours

    def _question(self, name: str, node: ast.Call) -> Value:
        near = self._asked(node)
        where = next((one.value for one in node.keywords), None)
        everyone = [self._of(near, met) for met in self.run.nearby[near].of(self.rows)]
        scopes = [one for one in everyone if one.holds(where)]
        answer = node.args[0] if node.args else None
        if name == "count":
            is_name = answer is None or ast.unparse(answer) == near
            return value("i64", len([one for one in scopes if is_name or one.holds(answer)]))
        assert answer is not None
        none = values.settled(self._of(near, self.run.nearby[near].none).value(answer))
        if name in ("sum", "mean", "min", "max"):
            return gathered(name, [cast(none.type, one.value(answer)) for one in scopes], none)
        if name == "nearest":
            squares = [values.dot(one.met[near].offset, one.met[near].offset).one for one in scopes]
            found = scopes[squares.index(min(squares))] if scopes else None
        else:
            found = self._candidate(best(name, scopes, node.args[1:]))
        zero = value(none.type, 0, none.shape)
        return cast(none.type, found.value(answer)) if found else zero

    def _asked(self, node: ast.Call) -> str:
        """The neighbourhood that a question names; it need not where there is only one."""
        if len(self.run.nearby) == 1:
            return next(iter(self.run.nearby))
        names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        (near,) = names & {*self.run.nearby} or self.run.nearby
        return near

    def _of(self, near: str, met: Neighbour) -> Scope:
        scope = Scope(self.run, self.rows, self.draws, self.locals)
        scope.met = {near: met}
        return scope


def best(name: str, scopes: list[Scope], keys: Sequence[ast.expr]) -> list[Scope]:
    """Those with the greatest, or least, first key, of these those with the next …"""
    for place, key in enumerate(keys):
        worth = [one.value(key).one for one in scopes]
        numbers = [w for w in worth if w == w]
        if numbers or place == 0:
            top = (max if name == "max_by" else min)(numbers, default=None)
            scopes = [one for one, w in zip(scopes, worth, strict=True) if w == top]
    return scopes


def gathered(name: str, found: list[Value], none: Value) -> Value:
    """What neighbours have together; of none 0, or NaN as a float."""
    is_float = none.kind == "f"
    if name in ("min", "max"):
        nothing = value(none.type, math.nan if is_float else 0, none.shape)
        return values.function(name, found) if found else nothing
    wide = "f64" if is_float or name == "mean" else "i64" if none.kind == "i" else "u64"
    total = value(wide, 0, none.shape)
    for one in found:
        total = binary("+", total, cast(wide, one))
    if name == "mean":
        total = binary("/", total, value("f64", len(found)))
    return cast(none.type, total) if is_float else total


def _part(whole: Place | Value, index: tuple[int, ...]) -> Place | Value:
    if isinstance(whole, Place):
        return replace(whole, index=whole.index + index)
    return Value(whole.type, whole.data[index])
