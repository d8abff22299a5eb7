"""Python's syntax trees to typed ones: a whitelist, the type of every node, and assignments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import reduce
from typing import Final

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.kernels import hints, operations
from ecsgen.kernels.grid_functions import GridFunctions
from ecsgen.kernels.literals import Literal, resolve_literal
from ecsgen.kernels.neighbour_aggregates import (
    NO_DRAWS,
    OPTIONS,
    begins_with_other,
    is_aggregate,
    type_aggregate,
)
from ecsgen.kernels.parsing import KernelError, check_count
from ecsgen.kernels.random_numbers import type_draw
from ecsgen.kernels.references import References
from ecsgen.kernels.scope import Scope, make_silent_error
from ecsgen.kernels.type_rules import (
    Operand,
    apply_operation,
    cast,
    give_default_type,
    unify_operands,
)
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import BOOL, FLOATS, SCALARS, Type

AXES: Final = ("x", "y", "z", "w")
_LEAVES: Final = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript)
_HINTS: Final[dict[type[ast.AST], str]] = {
    ast.BitAnd: "write 'and' for conditions",
    ast.BitOr: "write 'or' for conditions",
    ast.Invert: "write 'not' for conditions",
    ast.BitXor: "write '!=' for conditions",
    ast.Is: "write '=='",
    ast.IsNot: "write '!='",
    ast.GeneratorExp: "neighbours are asked without a loop, as in sum(other.x)",
    ast.NamedExpr: "give it a local name in a step before",
    ast.JoinedStr: "kernels compute with numbers, not with text",
}


class TypeChecker:
    """Typing of the expressions of one kernel."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.references = References(scope, self.value)
        self._grids = GridFunctions(scope, self.value)

    def value(self, node: ast.expr) -> tree.Expression:
        """Return the typed tree of an expression. Raises KernelError."""
        return give_default_type(self.infer(node))

    def condition(self, node: ast.expr) -> tree.Expression:
        """Return the typed tree of a condition: one bool per row. Raises KernelError."""
        operand = self.infer(node)
        if isinstance(operand, Literal) or operand.type != BOOL:
            shown = "a number" if isinstance(operand, Literal) else str(operand.type)
            hint = "compare it with something, as in `x > 0`"
            if not isinstance(operand, Literal) and operand.type.is_bool:
                hint = "`any(…)` or `all(…)` of it is one bool"
            elif not isinstance(operand, Literal) and (enum := operand.type.enum):
                hint = f"compare it with a member; of flags `{enum}.name in x` asks for one"
            elif not isinstance(operand, Literal) and operand.type.is_handle:
                hint = f"`exists({ast.unparse(node)})` says whether it leads to somebody"
            raise KernelError("E803", f"a condition is a bool, not {shown}", node, hint)
        return operand

    def infer(self, node: ast.expr) -> Operand:
        """Return the typed tree of an expression, or a literal that has no type yet."""
        match node:
            case ast.Constant(value=str() as text):
                raise unsupported(node, node, hints.of_member(text, self._scope.members))
            case ast.Constant():
                return _constant(node)
            case ast.Name():
                return self._scope.name(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.UnaryOp():
                return self._unary(node)
            case ast.BinOp():
                return self._binary(node)
            case ast.BoolOp():
                return self._logic(node)
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                parts = [self.infer(part) for part in (node.test, node.body, node.orelse)]
                return apply_operation("if", [give_default_type(parts[0]), *parts[1:]], node)
            case ast.Call():
                return self._call(node)
        raise unsupported(node, node)

    def _subscript(self, node: ast.Subscript) -> tree.Expression:
        base = self.value(node.value)
        nodes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [self._index(index) for index in nodes]
        written = tuple(index for index in indices if isinstance(index, int))
        if len(written) == len(indices):
            return element(base, written, node)
        return item(base, indices, node)

    def _index(self, node: ast.expr) -> int | tree.Expression:
        """Return an index: a number if it is written out, else an i64. Raises E807."""
        index = None if isinstance(node, ast.Slice) else self.infer(node)
        if isinstance(index, Literal) and type(index.value) is int and index.choice is None:
            return index.value
        value = None if index is None else give_default_type(index)
        if value is None or not value.type.is_integer or value.type.shape or value.type.kind:
            shown = "" if value is None else f", not {value.type}"
            is_number = value is not None and not (value.type.shape or value.type.is_handle)
            hint = "write i64(…) to convert it" if is_number else ""
            raise KernelError("E807", f"an index is a whole number{shown}", node, hint)
        return cast(value, "i64")

    def _logic(self, node: ast.BoolOp) -> Operand:
        name = operations.WORDS[type(node.op)]
        try:
            values = [self.infer(value) for value in node.values]
            return reduce(lambda left, right: apply_operation(name, [left, right], node), values)
        except KernelError as error:
            if error.code == "E803" and (hint := hints.of_logic(node)):
                error.hint = hint
            raise

    def _unary(self, node: ast.UnaryOp) -> Operand:
        name, operand = operations.UNARY[type(node.op)], self.infer(node.operand)
        if name != "pos":
            return self.apply(name, [operand], node, node.op)
        if isinstance(operand, Literal):
            return operand
        return unify_operands("+", [operand, operand], node)[0]  # `+x` is x, but not for conditions

    def _binary(self, node: ast.BinOp) -> Operand:
        operands = [self.infer(node.left), self.infer(node.right)]
        return self.apply(operations.BINARY[type(node.op)], operands, node, node.op)

    def apply(
        self, name: str, operands: Sequence[Operand], node: ast.expr, operator: ast.AST
    ) -> Operand:
        """Return an operation that is written as an operator. Raises KernelError."""
        if operations.TABLE[name].rule is not operations.Rule.BITS:
            return apply_operation(name, operands, node)
        types = [operand.type for operand in operands if not isinstance(operand, Literal)]
        if any(type_.is_bool for type_ in types):
            raise unsupported(node, operator)
        for type_ in types:
            self._check_flags(name, type_, node)
        result = apply_operation(name, operands, node)
        if name == "~" and not isinstance(result, Literal) and result.type.enum:
            enum = self._scope.enums.get(result.type.enum)
            if enum is None:  # with an error of its own
                raise make_silent_error(node)
            numbers = (number for _, number in enum.values)
            members = tree.Constant(result.type.of_shape(()), reduce(int.__or__, numbers, 0))
            return apply_operation("&", [result, members], node)
        return result

    def _check_flags(self, name: str, type_: Type, node: ast.expr) -> None:
        enum = self._scope.enums.get(type_.enum)
        if enum is not None and not enum.flags:
            message = f"{quote(name)} takes flags, and {quote(enum.name)} has none"
            raise KernelError("E803", message, node, f"give {enum.name} flags: true")

    def _holds(self, operands: Sequence[Operand], node: ast.Compare, sign: str) -> Operand:
        """Return `flags in value`: no flag is missing in the value."""
        flags, value = operands
        if isinstance(flags, Literal) or isinstance(value, Literal) or not flags.type.enum:
            shown = "a number" if isinstance(flags, Literal) else str(flags.type)
            hint = "as in `Caps.swim in caps`"
            raise KernelError("E803", f"'in' takes flags of an enum, not {shown}", node, hint)
        self._check_flags("in", flags.type, node)
        flags, value = unify_operands("in", [flags, value], node)
        others = apply_operation("~", [value], node)
        missing = apply_operation("&", [flags, others], node)
        assert not isinstance(missing, Literal)
        none = tree.Constant(missing.type.of_shape(()), 0)
        return apply_operation(sign, [missing, none], node)

    def _compare(self, node: ast.Compare) -> Operand:
        for middle in node.comparators[:-1]:
            if not isinstance(middle, _LEAVES):  # it would be computed twice
                hint = hints.of_bits(middle) or "write 'and'"
                raise KernelError("E801", "this is part of two comparisons", middle, hint)
        if hint := hints.of_membership(node):
            raise unsupported(node.comparators[0], node.comparators[0], hint)
        values = [self.infer(value) for value in (node.left, *node.comparators)]
        comparisons: list[Operand] = []
        for operator, left, right in zip(node.ops, values, values[1:], strict=False):
            if sign := operations.MEMBERSHIP.get(type(operator)):
                comparisons.append(self._holds([left, right], node, sign))
                continue
            name = operations.COMPARISONS.get(type(operator))
            if name is None:
                raise unsupported(node, operator)
            comparisons.append(apply_operation(name, [left, right], node))
        return reduce(lambda left, right: apply_operation("and", [left, right], node), comparisons)

    def _call(self, node: ast.Call) -> Operand:
        match node.func:
            case ast.Attribute(ast.Name(id=holder), reduction):
                known = self._scope.reference_scope.names
                if holder in known:
                    return self._scope.reduction(node, holder, reduction)
                if hint := did_you_mean(holder, known):
                    raise KernelError("E802", f"unknown component {quote(holder)}", node, hint)
        if not isinstance(node.func, ast.Name):
            raise unsupported(node, node, hints.of_call(node))
        name, near = node.func.id, self._scope.neighbours
        is_choosing = self._scope.candidate is not None
        is_asking = is_choosing or (near is not None and bool(near.current))
        no_draws = NO_DRAWS if is_asking else self._scope.no_draws
        if name in operations.COMMANDS:
            message = f"{quote(name)} is a step of its own, not a part of one"
            raise KernelError("E801", message, node)
        if is_choosing and (self._grids.is_choice(node, name) or is_aggregate(node, name)):
            message = "the condition of a choice asks no questions"
            raise KernelError("E813", message, node, "give it a local name in a step before")
        if self._grids.is_choice(node, name):
            return self._grids.type_choice(node, name, no_draws)
        match node.args:
            case [ast.Name(id=wrong)] if name == "choice" and near is None:
                hint = did_you_mean(wrong, self._scope.reference_scope.names)
                if hint and wrong not in self._scope.names():
                    raise KernelError("E802", f"unknown component {quote(wrong)}", node, hint)
        if is_aggregate(node, name) and near is None and self._scope.has_invalid_neighbours:
            raise make_silent_error(node)
        if (of_elements := self._of_elements(node, name)) is not None:
            return of_elements
        if is_aggregate(node, name) and {keyword.arg for keyword in node.keywords} <= OPTIONS:
            return type_aggregate(node, name, near, self.infer, no_draws)
        names = near.names if near is not None else ()
        if node.keywords:
            hint = hints.of_options(node, OPTIONS) or hints.of_call(node, names)
            raise unsupported(node, node, hint)
        if name == operations.EXISTS:
            occupied = near.occupied(node.args[0]) if near is not None and node.args else None
            if occupied is not None:
                self.references.check_known(occupied.component, node.args[0])
            return occupied or self.references.exists(node)
        if name in operations.GRID_FUNCTIONS:
            return self._grids.type_position(node, name)
        is_known = name in operations.FUNCTIONS or name in operations.DRAWS or name in SCALARS
        operands = [self.infer(argument) for argument in node.args] if is_known else []
        if name in operations.DRAWS:
            return type_draw(name, operands, node, no_draws)
        if name in SCALARS:
            check_count(name, node, 1, 1)
            return _converted(operands[0], name, node)
        if name not in operations.FUNCTIONS:
            hint = hints.of_call(node, names)
            raise KernelError("E802", f"unknown function {quote(name)}", node.func, hint)
        is_pairs, arity = name in ("min", "max"), operations.FUNCTIONS[name].arity
        most = operations.MAX_VECTOR if name == "vec" else arity
        check_count(name, node, arity, None if is_pairs else most)
        if is_pairs:
            return reduce(lambda left, right: apply_operation(name, [left, right], node), operands)
        if name == "clip":
            raised = apply_operation("max", operands[:2], node)
            return apply_operation("min", [raised, operands[2]], node)
        return apply_operation(name, operands, node)

    def _of_elements(self, node: ast.Call, name: str) -> Operand | None:
        """Return `sum(v)` and its like of the elements of one value, `any` and `all`; None for
        questions about neighbours and other calls."""
        near, is_truth = self._scope.neighbours, name in ("any", "all")
        if len(node.args) != 1 or node.keywords or not (name in operations.OF_ELEMENTS or is_truth):
            return None
        if near is not None and not near.current and near.is_named_in(node):
            if not is_truth:
                return None
            message = f"{quote(name)} is of the elements of one value, not of neighbours"
            raise KernelError("E813", message, node, hints.of_call(node, near.names))
        value = self.infer(node.args[0])
        if not is_truth and (isinstance(value, Literal) or not value.type.shape):
            return None
        return apply_operation(operations.OF_ELEMENTS.get(name, name), [value], node)

    def _attribute(self, node: ast.Attribute) -> tree.Expression:
        value = self._scope.member(node)
        is_of_other = begins_with_other(node, self._scope.neighbours)
        if value is None and not is_of_other:
            value = self.references.field(node)
        if value is not None:
            return value
        base = self._holder(node)
        if base.type.is_handle and is_of_other:
            message = "'other' has no references to follow: only its own fields can be read"
            raise KernelError("E813", message, node)
        referred = self.references.of_value(base, node)
        if referred is not None:
            return referred
        if node.attr not in AXES or len(base.type.shape) != 1:
            hint = "write [i, j]" if len(base.type.shape) > 1 else ""
            raise KernelError("E802", f"{base.type} has no element {quote(node.attr)}", node, hint)
        return element(base, (AXES.index(node.attr),), node)

    def _holder(self, node: ast.Attribute) -> tree.Expression:
        try:
            return self.value(node.value)
        except KernelError as error:
            if isinstance(node.value, ast.Name) and error.code == "E802":
                references = self._scope.reference_scope
                hint = hints.of_holder(node, self._scope.names(), references.home, references.names)
                error.hint = hint or error.hint
            raise


def element(base: tree.Expression, index: tuple[int, ...], node: ast.expr) -> tree.Expression:
    """Return an element of a shape. Raises E807 if the index is out of range."""
    shape = base.type.shape
    if not index or len(index) > len(shape):
        shown = f"{len(index)} indices" if len(index) > 1 else "an index"
        raise KernelError("E807", f"{base.type} does not take {shown}", node)
    for position, size in zip(index, shape, strict=False):
        _check_written(position, size, base.type, node)
    type_ = base.type.of_shape(shape[len(index) :])
    if isinstance(base, tree.Element):
        return tree.Element(type_, base.base, base.index + index)
    return tree.Element(type_, base, index)


def item(
    base: tree.Expression, indices: Sequence[int | tree.Expression], node: ast.expr
) -> tree.Item:
    """Return an element at indices that are computed. Raises E807 if they are not one per axis."""
    shape = base.type.shape
    if len(indices) != len(shape):
        shown = f"{len(indices)} indices" if len(indices) > 1 else "an index that is computed"
        hint = f"name {len(shape)} indices, one per axis" if len(shape) > 1 else ""
        raise KernelError("E807", f"{base.type} does not take {shown}", node, hint)
    values: list[tree.Expression] = []
    for index, size in zip(indices, shape, strict=True):
        if isinstance(index, int):
            _check_written(index, size, base.type, node)
            index = tree.Constant(Type("i64"), index)
        values.append(index)
    if isinstance(base, tree.Element):
        written = [tree.Constant(Type("i64"), index) for index in base.index]
        return tree.Item(base.type.of_shape(()), base.base, (*written, *values))
    return tree.Item(base.type.of_shape(()), base, tuple(values))


def _check_written(index: int, size: int, type_: Type, node: ast.expr) -> None:
    if not 0 <= index < size:
        message = f"the index {index} is out of range: {type_} has 0 to {size - 1} there"
        raise KernelError("E807", message, node)


def _constant(node: ast.Constant) -> Operand:
    value = node.value
    if isinstance(value, bool):
        return tree.Constant(BOOL, value)
    if isinstance(value, int | float):
        if value in (float("inf"), float("-inf")):
            raise KernelError("E809", "the number is larger than any float", node)
        return Literal(value, node)
    raise unsupported(node, node)


def _converted(operand: Operand, scalar: str, node: ast.AST) -> tree.Expression:
    if not isinstance(operand, Literal):
        if operand.type.is_handle:
            raise KernelError("E803", f"{operand.type} is a handle, not a number", node)
        if operand.type.is_time and scalar != "i64":
            hint = "i64(…) counts its units" if scalar != "bool" else "x == x is false for NaT"
            raise KernelError("E803", f"{operand.type} is a time, not a number", node, hint)
        return cast(operand, scalar)
    is_whole = isinstance(operand.value, int) or scalar in FLOATS
    if scalar == "bool" or not is_whole:
        return cast(give_default_type(operand), scalar)
    return resolve_literal(operand, Type(scalar))


def unsupported(node: ast.expr, what: ast.AST, hint: str = "") -> KernelError:
    """Return the error of a part of Python that kernels do not have."""
    hint = hint or _HINTS.get(type(what), "")
    if isinstance(what, ast.Tuple | ast.List):
        hint = hint or hints.of_list(what.elts)
    if isinstance(what, ast.Constant) and what.value is None:
        hint = hints.NULL
    elif isinstance(what, ast.Constant) and isinstance(what.value, str | bytes):
        hint = hint or "kernels compute with numbers, not with text"
    return KernelError("E801", "this is not part of the language of kernels", node, hint)
