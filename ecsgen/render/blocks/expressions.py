"""Typed expressions to numpy statements: one ufunc per operation, its result in working memory; of
rows, or of each pair of a row and a neighbour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from ecsgen.kernels.operations import TABLE, Rule
from ecsgen.model.programs import (
    Argument,
    Cast,
    Constant,
    Distance,
    Draw,
    Element,
    Expression,
    FieldValue,
    Local,
    Offset,
    Operation,
    OtherField,
)
from ecsgen.model.types import FLOATS, SCALARS, Type, promote
from ecsgen.render.blocks.array_values import Constants, Layout, Shape, Value, Working
from ecsgen.render.calls import MARK, call
from ecsgen.render.quoting import literal

UFUNCS: Final = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "**": "power",
    "neg": "negative",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
    "and": "logical_and",
    "or": "logical_or",
    "not": "logical_not",
    "abs": "absolute",
    "asin": "arcsin",
    "acos": "arccos",
    "atan2": "arctan2",
    "round": "rint",
    "min": "minimum",
    "max": "maximum",
    **{name: name for name in ("square", "sqrt", "hypot", "exp", "log", "log2", "log10", "sign")},
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: name for name in ("floor", "ceil", "trunc")},
}
"""Operations that are one ufunc; the others are put together from these."""

IN_PLACE: Final = {"+": "+=", "-": "-=", "*": "*=", "/": "/="}

COMPLAINING: Final = frozenset(
    ("/", "//", "%", "**", "sqrt", "exp", "log", "log2", "log10", "asin", "acos", "tan")
) | {"sinh", "cosh"}
"""Operations of which numpy warns for values that a field may well have."""

_COMPARING = (Rule.ORDER, Rule.EQUALITY)

Composer = Callable[["Emitter", Operation, Value | None], Value]
"""Writes an operation that takes several ufuncs, to a target if that is as good."""


@dataclass(slots=True)
class Emitter:
    """Writes the statements of one kernel: `before` the loop over blocks, in it, and `after`."""

    view: Callable[[FieldValue], Value]  # of a field
    arguments: Mapping[str, str]  # converted values
    composers: Mapping[str, Composer]  # of operations that take several ufuncs
    indent: int
    working: Working = field(default_factory=Working)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)
    """What blocks have of arrays that are made before the loop: names there, and of the whole."""
    lines: list[str] = field(default_factory=list)
    locals_: dict[str, Value] = field(default_factory=dict)
    _uniforms: int = 0
    _made: dict[str, int] = field(default_factory=dict)
    constants: Constants | None = None  # None: there is no place for them

    def value(self, node: Expression, target: Value | None = None) -> Value:
        """Statements that compute an expression, and where its value is then.

        With a target the value may be written there at once, if that is as good.
        """
        match node:
            case Constant():
                text = literal(node.value)
                return Value(text, node.type.scalar, (), Layout.UNIFORM, is_literal=True)
            case Argument():
                text = self.arguments[node.name]
                return Value(text, node.type.scalar, node.type.shape, self.layout(node))
            case FieldValue():
                return self.view(node)
            case Local():
                return self.locals_[node.name]
            case Element():
                return self.value(node.base).part(node.index)
            case Cast():
                return self._cast(node, target)
            case Operation():
                return self._operation(node, target)
            case Draw():
                return self._draw(node, target)
        raise TypeError(node)  # it is a statement of its own, or there are no pairs

    def layout(self, node: Expression) -> Layout:
        """The layout that the value of an expression will have."""
        match node:
            case Argument(each=True):
                return Layout.TOGETHER if node.type.shape else Layout.ROWS
            case Constant() | Argument():
                return Layout.UNIFORM
            case FieldValue():
                return self.view(node).layout
            case Local():
                return self.locals_[node.name].layout
            case Cast():
                return self.layout(node.operand)
            case Element():
                inner = self.layout(node.base)
                planes = Layout.PLANES if node.type.shape else Layout.ROWS
                return inner if inner is Layout.UNIFORM else planes
            case Draw():
                return Layout.PLANES if node.type.shape else Layout.ROWS
        assert isinstance(node, Operation)
        layouts = [self.layout(operand) for operand in node.operands]
        shapes = [operand.type.shape for operand in node.operands]
        if node.name in UFUNCS or node.name == "if":
            if all(layout is Layout.UNIFORM for layout in layouts):
                return Layout.UNIFORM
            return common_layout(zip(layouts, shapes, strict=True), node.type.shape)
        return Layout.PLANES if node.type.shape else Layout.ROWS

    def write(self, line: str) -> None:
        self.lines.append(" " * self.indent + line)

    def run(self, function: str, *arguments: str) -> None:
        """A statement that calls a function."""
        self.lines.append(call(function, list(arguments), self.indent))

    def uniform(self, text: str, scalar: str, shape: Shape = ()) -> Value:
        """A value that is computed once, before the loop."""
        name = f"_once{len(self.before) + 1 if self.before else ''}"
        self.before.append(f"{name} = {text}")
        return Value(name, scalar, shape, Layout.UNIFORM)

    def made(self, name: str, text: str, scalar: str, is_uniform: bool) -> Value:
        """An array made anew, for a block or once before the loop; nobody writes into it."""
        count = self._made[name] = self._made.get(name, 0) + 1
        name = f"_{name}{count if count > 1 else ''}"
        if is_uniform:
            self.before.append(f"{name} = {text}")
        else:
            self.write(f"{name} = {text}")
        return Value(name, scalar, (), Layout.UNIFORM if is_uniform else Layout.ROWS)

    def cut(self, name: str, text: str, scalar: str) -> Value:
        """An array of all rows, made before the loop, of which each block has its part."""
        whole = self.made(f"all_{name}", text, scalar, True).text
        part = whole.replace("_all", "", 1)
        self.beside[part] = whole
        return Value(part, scalar, (), Layout.ROWS)

    # --- conversions ----------------------------------------------------------------------------

    def _cast(self, node: Cast, target: Value | None) -> Value:
        scalar, inner = node.type.scalar, node.operand
        if scalar == inner.type.scalar:
            return self.value(inner, target)
        if target is not None and _by_ufunc(inner, target.scalar):
            found = self.value(inner, target)
            if found.text == target.text:
                return found
        else:
            found = self.value(inner)
        if found.is_uniform:
            return self._uniform_cast(found, scalar)
        out = self.place(scalar, found.shape, found.layout, (), target)
        if inner.type.is_float and scalar not in (*FLOATS, "bool"):
            self.write(f"{out.text}[...] = as_integers({found.text}, {SCALARS[scalar].numpy})")
        elif scalar == "bool":
            self.run("np.not_equal", found.text, "0", f"out={out.text}")
        else:
            self.write(f"{out.text}[...] = {found.text}")
        self.working.give_back(found)
        return out

    def _uniform_cast(self, found: Value, scalar: str) -> Value:
        text, dtype = as_typed(found), SCALARS[scalar].numpy
        if found.scalar in FLOATS and scalar not in (*FLOATS, "bool"):
            return self.uniform(f"as_integers({text}, {dtype})", scalar, found.shape)
        return self.uniform(f"{text}.astype({dtype})", scalar, found.shape)

    # --- operations -----------------------------------------------------------------------------

    def _operation(self, node: Operation, target: Value | None) -> Value:
        composer = self.composers.get(node.name)
        if composer is not None:
            return composer(self, node, target)
        operands, scalar = self._operands(node)
        if all(operand.is_uniform for operand in operands):
            return self._uniform_operation(node, operands)
        layout = self.layout(node)
        out = self.place(node.type.scalar, node.type.shape, layout, operands, target)
        natural = reduce(promote, _natural(operands, scalar)) if scalar != "bool" else "bool"
        is_typed = natural != scalar and not _is_mixed(node)
        typed = [f"dtype={SCALARS[scalar].numpy}"] if is_typed else []
        texts = [operand.text for operand in operands]
        if self.constants is not None and not typed:
            texts = self.constants.spelled(operands)
        if (
            node.name in IN_PLACE
            and out.text == texts[0]
            and out.text.removeprefix(MARK).isidentifier()
            and not typed
        ):
            self.write(f"{out.text} {IN_PLACE[node.name]} {texts[1]}")
        else:
            function = "negated" if node.name == "neg" else f"np.{UFUNCS[node.name]}"
            self.run(function, *texts, f"out={out.text}", *typed)
        self.working.give_back(*(one for one in operands if one.slot != out.slot))
        return out

    def _operands(self, node: Operation) -> tuple[list[Value], str]:
        """The operands, without conversions that numpy makes itself, and the type in which the
        operation is done."""
        scalar = node.operands[0].type.scalar
        if _is_mixed(node):
            return [self.value(operand) for operand in node.operands], scalar
        bare = [_without_cast(operand) for operand in node.operands]
        if TABLE[node.name].rule in _COMPARING:
            given = [one.type.scalar for one in bare if not isinstance(one, Constant)]
            if not given or "bool" in given or reduce(promote, given) != scalar or scalar == "f64":
                bare = list(node.operands)
        return [self.value(operand) for operand in bare], scalar

    def _uniform_operation(self, node: Operation, operands: list[Value]) -> Value:
        texts = [as_typed(operand) for operand in operands]
        scalar = node.operands[0].type.scalar
        is_typed = TABLE[node.name].rule not in (*_COMPARING, Rule.LOGIC)
        is_typed = is_typed and any(operand.scalar != scalar for operand in operands)
        typed = [f"dtype={SCALARS[scalar].numpy}"] if is_typed else []
        text = call(f"np.{UFUNCS[node.name]}", [*texts, *typed], 0)
        return self.uniform(text, node.type.scalar, node.type.shape)

    def _draw(self, node: Draw, target: Value | None) -> Value:
        bounds = [self.value(operand) for operand in node.operands]
        scalar, shape = node.type.scalar, node.type.shape
        fits = target is not None and target.scalar == scalar
        out = self.place(scalar, shape, self.layout(node), bounds, target if fits else None)
        given = ["_stem", str(node.number), *(bound.text for bound in bounds)]
        self.run(f"draw_{node.how}", *given, out.text, "_word", "_bits")
        self.working.give_back(*(bound for bound in bounds if bound.slot != out.slot))
        return out

    def place(
        self,
        scalar: str,
        shape: Shape,
        layout: Layout,
        operands: tuple[Value, ...] | list[Value],
        target: Value | None,
    ) -> Value:
        """Where a result goes: the target, the memory of an operand, or memory of its own."""
        if target is not None and target.shape == shape and _fits_kind(scalar, target.scalar):
            return target.held
        for operand in operands:
            if operand.is_free_for(scalar, shape, layout):
                return operand
        return self.working.take(scalar, shape, layout)

    def copied(self, value: Value, scalar: str, shape: Shape, layout: Layout) -> Value:
        """A value in working memory of its own."""
        if value.is_free_for(scalar, shape, layout):
            return value
        out = self.working.take(scalar, shape, layout)
        self.write(f"{out.text}[...] = {value.text}")
        self.working.give_back(value)
        return out


def common_layout(operands: Iterable[tuple[Layout, Shape]], shape: Shape) -> Layout:
    """The layout of a result: elements together only if all operands have them so."""
    if not shape:
        return Layout.ROWS
    for layout, own in operands:
        if layout is not Layout.TOGETHER and (own or layout is not Layout.UNIFORM):
            return Layout.PLANES
    return Layout.TOGETHER


def _is_mixed(node: Operation) -> bool:
    """Whether it compares integers of two types, which numpy does exactly."""
    scalars = {operand.type.scalar for operand in node.operands}
    return TABLE[node.name].rule in _COMPARING and len(scalars) > 1


def _without_cast(operand: Expression) -> Expression:
    """The operand of a conversion that numpy makes as well when types meet."""
    if isinstance(operand, Cast):
        inner, outer = operand.operand.type.scalar, operand.type.scalar
        if "bool" not in (inner, outer) and promote(inner, outer) == outer:
            return operand.operand
    return operand


def _natural(operands: list[Value], scalar: str) -> list[str]:
    """The types from which numpy finds the type of an operation; literals have a weak one."""
    found = [operand.scalar for operand in operands if not operand.is_literal]
    weak_float = any(o.is_literal and o.scalar in FLOATS for o in operands)
    if weak_float and not any(one in FLOATS for one in found):
        found.append("f64")
    if len(operands) == 1 and found[0] not in FLOATS and scalar in FLOATS:
        return ["bool"]  # of a small integer numpy takes the root in f16
    return found


def _by_ufunc(node: Expression, scalar: str) -> bool:
    """Whether an operation can write into an array of another type as it goes."""
    if not isinstance(node, Operation) or node.name not in UFUNCS:
        return False
    return _fits_kind(node.type.scalar, scalar)


def _fits_kind(given: str, wanted: str) -> bool:
    """Whether a ufunc may write its result of one type into an array of the other."""
    if given == wanted or (given in FLOATS and wanted in FLOATS):
        return True
    if given == "bool" or wanted == "bool" or given in FLOATS:
        return False
    return wanted in FLOATS or given[0] == wanted[0]


def as_typed(value: Value) -> str:
    """A uniform value as a numpy scalar or array."""
    return f"{SCALARS[value.scalar].numpy}({value.text})" if value.is_literal else value.text


PAIRS = "_pairs"
"""The variable with the pairs of a block."""


def layout_of(type_: Type) -> Layout:
    """The layout of what is made for each pair, or of their answer."""
    return Layout.PLANES if type_.shape else Layout.ROWS


@dataclass(slots=True)
class PairEmitter(Emitter):
    """Writes what is asked of each pair: the row's own values are spread over its pairs."""

    row: Emitter = field(kw_only=True)
    """What writes the row's own values."""
    asked: dict[OtherField, str] = field(default_factory=dict)
    """The neighbours' fields, and what they are called."""

    @classmethod
    def of(cls, row: Emitter) -> PairEmitter:
        """Return one that writes between the statements of a row's emitter."""
        return cls(
            row.view,
            row.arguments,
            row.composers,
            row.indent,
            Working("_each"),
            row.before,
            lines=row.lines,
            constants=row.constants,
            row=row,
        )

    def value(self, node: Expression, target: Value | None = None) -> Value:
        """Statements that compute an expression of each pair, and where its value is then."""
        type_ = node.type
        match node:
            case OtherField():
                text = self.asked.setdefault(node, _name(node))
                return Value(text, type_.scalar, type_.shape, layout_of(type_))
            case Offset():
                return Value(f"{PAIRS}.offset", type_.scalar, type_.shape, Layout.PLANES)
            case Distance():
                return Value(f"{PAIRS}.distance", type_.scalar, (), Layout.ROWS)
            case FieldValue() | Local() | Argument(each=True):
                return self._spread(node)
        return Emitter.value(self, node, target)

    def _spread(self, node: FieldValue | Local | Argument) -> Value:
        own = self.row.value(node)
        if own.is_uniform:
            return own
        out = self.working.take(own.scalar, own.shape, layout_of(node.type))
        self.run(f"{PAIRS}.spread", own.text, out.text)
        self.row.working.give_back(own)
        return out

    def layout(self, node: Expression) -> Layout:
        """The layout that the value of an expression will have."""
        match node:
            case OtherField() | Offset() | Distance() | FieldValue() | Argument(each=True):
                return layout_of(node.type)
            case Local():
                is_uniform = self.row.layout(node) is Layout.UNIFORM
                return Layout.UNIFORM if is_uniform else layout_of(node.type)
        return Emitter.layout(self, node)


def _name(node: OtherField) -> str:
    owner = f"{node.owner.lower()}_" if node.owner else ""
    return f"_other_{owner}{node.name}"
