"""Typed expressions to numpy statements: one ufunc per operation, its result in working memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import Final

from ecsgen.kernels.operations import TABLE, TIME_OPERATIONS, Rule
from ecsgen.kernels.time_rules import TIME_SIGNS
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import FLOATS, SCALARS, Type, promote
from ecsgen.render.blocks.array_values import (
    ArrayValue,
    Constants,
    ElementOrder,
    Kind,
    ScratchPool,
    Shape,
    kind_of,
)
from ecsgen.render.text.formatting import PLACEHOLDER, call
from ecsgen.render.text.quoting import literal

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
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "~": "invert",
    "<<": "left_shift",
    ">>": "right_shift",
    "total": "add",
    "least": "minimum",
    "greatest": "maximum",
    "any": "logical_or",
    "all": "logical_and",
}
"""Names of ufuncs, where they are not those of the operations; of times by their signs."""
UFUNCS.update((operation, UFUNCS[sign]) for operation, sign in TIME_SIGNS.items())


def numpy_function(operation: str) -> str:
    """Return the ufunc of an operation."""
    return f"np.{UFUNCS.get(operation, operation)}"


IN_PLACE: Final = {"+": "+=", "-": "-=", "*": "*=", "/": "/="}

COMPLAINING: Final = frozenset(
    ("/", "//", "%", "**", "sqrt", "exp", "log", "log2", "log10", "asin", "acos", "tan")
) | {"sinh", "cosh", "divide_times"}
"""Operations of which numpy warns for values that a field may well have."""

_WRAPPING_TIMES: Final = ("add_times", "subtract_times", "multiply_time")
"""Operations on times that wrap; numpy's own may raise OverflowError."""
_COMPARING = (Rule.ORDER, Rule.EQUALITY)
_NOT_CUT = (*FLOATS, "bool")
"""Types to which numpy converts floats as kernels do."""


@dataclass(slots=True)
class BlockEmitter:
    """Emitter of a kernel's statements: `before` the loop over blocks, in it, and `after`."""

    view: Callable[[tree.FieldValue], ArrayValue]  # of a field
    arguments: Mapping[str, str]  # converted values
    constants: Constants
    indent: int
    working: ScratchPool = field(default_factory=ScratchPool)
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    beside: dict[str, str] = field(default_factory=dict)
    """Arrays of all rows, made before the loop, by the name of a block's part."""
    lines: list[str] = field(default_factory=list)
    locals_: dict[str, ArrayValue] = field(default_factory=dict)
    _made: dict[str, int] = field(default_factory=dict)
    _slices: dict[str, ArrayValue] = field(default_factory=dict)

    def value(self, node: tree.Expression, target: ArrayValue | None = None) -> ArrayValue:
        """Write the statements that compute an expression, and return its value.

        With a target the value may be written there at once, if that costs no more.
        """
        match node:
            case tree.Constant():
                text = literal(node.value)
                return ArrayValue(text, node.type.scalar, (), ElementOrder.UNIFORM, is_literal=True)
            case tree.Argument():
                text = self.arguments[node.name]
                return ArrayValue(text, node.type.scalar, node.type.shape, self.layout(node))
            case tree.Tick():
                return ArrayValue("_now", node.type.scalar, (), ElementOrder.UNIFORM)
            case tree.FieldValue():
                return self.view(node)
            case tree.Local():
                return self.locals_[node.name]
            case tree.Element():
                return self.value(node.base).part(node.index)
            case tree.Item():
                return self.item(node.type, self.value(node.base), node.indices, target)
            case tree.Cast():
                return self._cast(node, target)
            case tree.Operation():
                return self._operation(node, target)
            case tree.Draw():
                return self._draw(node, target)
        raise TypeError(node)  # lowered to a statement, or only of pairs

    def layout(self, node: tree.Expression) -> ElementOrder:
        """Return the layout that the value of an expression will have."""
        match node:
            case tree.FieldValue() | tree.Local():
                return self.value(node).layout
            case tree.Cast():
                return self.layout(node.operand)
            case tree.Argument(each=True):
                return ElementOrder.TOGETHER if node.type.shape else ElementOrder.ROWS
            case tree.Constant() | tree.Argument() | tree.Tick():
                return ElementOrder.UNIFORM
            case tree.Element() if self.layout(node.base) is ElementOrder.UNIFORM:
                return ElementOrder.UNIFORM
            case tree.Item() if all(
                self.layout(part) is ElementOrder.UNIFORM for part in tree.child_expressions(node)
            ):
                return ElementOrder.UNIFORM
            case tree.Operation() if node.name not in COMPOSED or node.name in ELEMENTWISE:
                operands = [(self.layout(operand), operand.type.shape) for operand in node.operands]
                return common_layout(operands, node.type.shape)
        return kind_of(node.type)[2]

    def item(
        self,
        type_: Type,
        base: ArrayValue,
        indices: Sequence[tree.Expression],
        target: ArrayValue | None = None,
    ) -> ArrayValue:
        """Write the statement that takes an element at computed indices of each row."""
        values = [self.value(index) for index in indices]
        text = call("take_items", [base.text, *map(as_typed, values)], 0)
        if all(value.is_uniform for value in (base, *values)):
            return self.uniform(text, type_.scalar)
        out = self.memory_for(kind_of(type_), (), target)
        self.write(f"{out.text}[...] = {text}")
        self.working.release(base, *values)
        return out

    def write(self, line: str) -> None:
        self.lines.append(" " * self.indent + line)

    def run(self, function: str, *arguments: str) -> None:
        """Write a statement that calls a function."""
        self.lines.append(call(function, list(arguments), self.indent))

    def uniform(self, text: str, scalar: str, shape: Shape = ()) -> ArrayValue:
        """Compute a value once, before the loop."""
        name = f"_once{len(self.before) + 1 if self.before else ''}"
        self.before.append(f"{name} = {text}")
        return ArrayValue(name, scalar, shape, ElementOrder.UNIFORM)

    def materialise(self, name: str, text: str, scalar: str, is_uniform: bool) -> ArrayValue:
        """Compute a new array, for a block or once before the loop, which is not written to."""
        count = self._made[name] = self._made.get(name, 0) + 1
        name = f"_{name}{count if count > 1 else ''}"
        if is_uniform:
            self.before.append(f"{name} = {text}")
        else:
            self.write(f"{name} = {text}")
        layout = ElementOrder.UNIFORM if is_uniform else ElementOrder.ROWS
        return ArrayValue(name, scalar, (), layout)

    def slice_per_block(self, name: str, text: str, scalar: str) -> ArrayValue:
        """Compute an array of all rows once, before the loop, and return a block's part of it."""
        if text not in self._slices:
            all_rows = self.materialise(f"all_{name}", text, scalar, True).text
            part = all_rows.replace("_all", "", 1)
            self.beside[part] = all_rows
            self._slices[text] = ArrayValue(part, scalar, (), ElementOrder.ROWS)
        return self._slices[text]

    def _cast(self, node: tree.Cast, target: ArrayValue | None) -> ArrayValue:
        scalar, inner = node.type.scalar, node.operand
        if scalar == inner.type.scalar:
            return self.value(inner, target)
        if target is not None and _by_ufunc(inner, target.scalar):
            inner_value = self.value(inner, target)
            if inner_value.text == target.text:
                return inner_value
        else:
            inner_value = self.value(inner)
        dtype, is_cut = SCALARS[scalar].numpy, inner.type.is_float and scalar not in _NOT_CUT
        if inner_value.is_uniform:
            text = as_typed(inner_value)
            converted = f"as_integers({text}, {dtype})" if is_cut else f"{text}.astype({dtype})"
            return self.uniform(converted, scalar, inner_value.shape)
        out = self.memory_for((scalar, inner_value.shape, inner_value.layout), (), target)
        if is_cut:
            self.write(f"{out.text}[...] = as_integers({inner_value.text}, {dtype})")
        elif scalar == "bool":
            self.run("np.not_equal", inner_value.text, "0", f"out={out.text}")
        else:
            self.write(f"{out.text}[...] = {inner_value.text}")
        self.working.release(inner_value)
        return out

    def _operation(self, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
        composer = COMPOSED.get(node.name)
        if composer is not None:
            return composer(self, node, target)
        operands, scalar = self._operands(node)
        if all(operand.is_uniform for operand in operands):
            return self._uniform_operation(node, operands)
        out = self.memory_for((*kind_of(node.type)[:2], self.layout(node)), operands, target)
        natural = reduce(promote, _natural(operands, scalar)) if scalar != "bool" else "bool"
        is_narrow = TABLE[node.name].rule in _COMPARING and "f" not in scalar + natural
        is_typed = natural != scalar and not _is_mixed(node) and not is_narrow
        typed = [f"dtype={SCALARS[scalar].numpy}"] if is_typed else []
        texts = [operand.text for operand in operands]
        texts = texts if typed else self.constants.operand_texts(operands)
        is_name = out.text == texts[0] and out.text.removeprefix(PLACEHOLDER).isidentifier()
        if node.name in IN_PLACE and is_name and not typed:
            self.write(f"{out.text} {IN_PLACE[node.name]} {texts[1]}")
        elif node.name == "**" and natural == "f64" and _are_counts(*operands):
            self.run("power_of_counts", *texts, out.text)
        else:
            function = "negated" if node.name == "neg" else numpy_function(node.name)
            self.run(function, *texts, f"out={out.text}", *typed)
        self.working.release(*(operand for operand in operands if operand.slot != out.slot))
        return out

    def _operands(self, node: tree.Operation) -> tuple[list[ArrayValue], str]:
        """Return the operands, without conversions that numpy makes, and the operation's type."""
        scalar = node.operands[0].type.scalar
        if _is_mixed(node):
            return [self.value(operand) for operand in node.operands], scalar
        bare = [without_cast(operand) for operand in node.operands]
        scalars = [part.type.scalar for part in bare if not isinstance(part, tree.Constant)]
        is_alike = scalars and "bool" not in scalars and reduce(promote, scalars) == scalar
        if TABLE[node.name].rule in _COMPARING and (scalar == "f64" or not is_alike):
            bare = list(node.operands)
        return [self.value(operand) for operand in bare], scalar

    def _uniform_operation(self, node: tree.Operation, operands: list[ArrayValue]) -> ArrayValue:
        texts = [as_typed(operand) for operand in operands]
        scalar = node.operands[0].type.scalar
        is_typed = TABLE[node.name].rule not in (*_COMPARING, Rule.LOGIC)
        is_typed = is_typed and any(operand.scalar != scalar for operand in operands)
        typed = [f"dtype={SCALARS[scalar].numpy}"] if is_typed else []
        text = call(numpy_function(node.name), [*texts, *typed], 0)
        return self.uniform(text, node.type.scalar, node.type.shape)

    def _draw(self, node: tree.Draw, target: ArrayValue | None) -> ArrayValue:
        bounds = [self.value(operand) for operand in node.operands]
        fits = target is not None and target.scalar == node.type.scalar
        out = self.memory_for(kind_of(node.type), bounds, target if fits else None)
        arguments = ["_row_keys", str(node.number), *(bound.text for bound in bounds)]
        self.run(f"draw_{node.distribution}", *arguments, out.text, "_word", "_bits")
        self.working.release(*(bound for bound in bounds if bound.slot != out.slot))
        return out

    def memory_for(
        self, kind: Kind, operands: Sequence[ArrayValue], target: ArrayValue | None
    ) -> ArrayValue:
        """Return memory for a result: the target, an operand's, or its own."""
        scalar, shape, _ = kind
        if target is not None and target.shape == shape and _fits_kind(scalar, target.scalar):
            return target.held
        free = (operand for operand in operands if operand.is_free_for(kind))
        return next(free, None) or self.working.acquire(kind)

    def reads(self, node: tree.Expression, target: ArrayValue) -> bool:
        """Return True if an expression reads the field or local of a target."""
        name = target.text.partition("[")[0]
        named = (n for n in tree.walk(node) if isinstance(n, tree.FieldValue | tree.Local))
        return name in {self.value(name_node).text.partition("[")[0] for name_node in named}

    def copied(self, value: ArrayValue, kind: Kind) -> ArrayValue:
        """Write a value to working memory of its own, if it has none."""
        if value.is_free_for(kind):
            return value
        out = self.working.acquire(kind)
        self.write(f"{out.text}[...] = {value.text}")
        self.working.release(value)
        return out


def _are_counts(base: ArrayValue, exponents: ArrayValue) -> bool:
    """Return True for one base, and a whole exponent for each row."""
    return base.is_uniform and not base.shape and exponents.kind[:2] == ("i64", ())


def as_times(text: str) -> str:
    """Return the expression for numbers of units as numpy's times, which know NaT."""
    return f"{text}.view(np.timedelta64)"


def common_layout(operands: Sequence[tuple[ElementOrder, Shape]], shape: Shape) -> ElementOrder:
    """Return the layout of a result: elements together only if all operands have them so."""
    if all(layout is ElementOrder.UNIFORM for layout, _ in operands):
        return ElementOrder.UNIFORM
    if not shape:
        return ElementOrder.ROWS
    apart = (pair for pair in operands if pair[0] is not ElementOrder.TOGETHER)
    is_apart = any(shape_ or layout is not ElementOrder.UNIFORM for layout, shape_ in apart)
    return ElementOrder.PLANES if is_apart else ElementOrder.TOGETHER


def _is_mixed(node: tree.Operation) -> bool:
    """Check that an operation compares integers of two types, which numpy does exactly."""
    scalars = {operand.type.scalar for operand in node.operands}
    return TABLE[node.name].rule in _COMPARING and len(scalars) > 1


def without_cast(operand: tree.Expression) -> tree.Expression:
    """Return the operand of a conversion that numpy's promotion makes as well."""
    if isinstance(operand, tree.Cast):
        inner, outer = operand.operand.type.scalar, operand.type.scalar
        if "bool" not in (inner, outer) and promote(inner, outer) == outer:
            return operand.operand
    return operand


def _natural(operands: list[ArrayValue], scalar: str) -> list[str]:
    """Return the types from which numpy promotes; literals have a weak one."""
    scalars = [operand.scalar for operand in operands if not operand.is_literal]
    weak_float = any(o.is_literal and o.scalar in FLOATS for o in operands)
    if weak_float and not any(scalar_ in FLOATS for scalar_ in scalars):
        scalars.append("f64")
    if len(operands) == 1 and scalars[0] not in FLOATS and scalar in FLOATS:
        return ["bool"]  # of a small integer numpy takes the root in f16
    return scalars


def _by_ufunc(node: tree.Expression, scalar: str) -> bool:
    """Check that the ufunc of an operation can write into an array of another type."""
    is_ufunc = isinstance(node, tree.Operation) and node.name not in COMPOSED
    return is_ufunc and _fits_kind(node.type.scalar, scalar)


def _fits_kind(result: str, memory: str) -> bool:
    """Check that a ufunc may write a result of one type into memory of another."""
    if result == memory or (result in FLOATS and memory in FLOATS):
        return True
    if result == "bool" or memory == "bool" or result in FLOATS:
        return False
    return memory in FLOATS or result[0] == memory[0]


def as_typed(value: ArrayValue) -> str:
    """Return the text of a value, a literal as a numpy scalar."""
    return f"{SCALARS[value.scalar].numpy}({value.text})" if value.is_literal else value.text


def _choice(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    """Write `a if c else b`: b, over which a is written where c is true."""
    test, then, otherwise = (emit.value(operand) for operand in node.operands)
    scalar, shape = node.type.scalar, node.type.shape
    if test.is_uniform and then.is_uniform and otherwise.is_uniform:
        arguments = ", ".join([test.text, as_typed(then), as_typed(otherwise)])
        return emit.uniform(f"np.where({arguments})", scalar, shape)
    if target is not None and otherwise.text == target.text and target.scalar == scalar:
        out = target.held
    else:
        out = emit.copied(otherwise, (scalar, shape, emit.layout(node)))
    emit.run("put_where", out.text, test.text, then.text)
    emit.working.release(test, then)
    return out


def _of_times(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    """Write an operation on times, of numpy, or of the library where a result may not fit: those
    of one unit need not be told from each other."""
    operands = [emit.value(operand) for operand in node.operands]
    function, scalar, texts = numpy_function(node.name), node.type.scalar, list[str]()
    wraps = node.name in _WRAPPING_TIMES
    if wraps:
        function, texts = "combine_times", [function]

    def shown(type_: Type, text: str) -> str:
        return as_times(text) if type_.is_time and not wraps else text

    pairs = zip(node.operands, operands, strict=True)
    texts += [shown(operand.type, as_typed(value)) for operand, value in pairs]
    if all(operand.is_uniform for operand in operands):
        result = call(function, texts, 0)
        ticks = f"{result}.view(np.int64)" if node.type.is_time and not wraps else result
        return emit.uniform(ticks, scalar, node.type.shape)
    is_fit = target is not None and target.scalar == scalar
    kind = scalar, node.type.shape, emit.layout(node)
    out = emit.memory_for(kind, operands, target if is_fit else None)
    emit.run(function, *texts, f"out={shown(node.type, out.text)}")
    emit.working.release(*(operand for operand in operands if operand.slot != out.slot))
    return out


def _sum_of_products(emit: BlockEmitter, pairs: list[tuple[str, str]], out: ArrayValue) -> None:
    """Write a sum from left to right, each product and each sum rounded."""
    first, *later = pairs
    emit.run("np.multiply", *first, f"out={out.text}")
    if not later:
        return
    product = emit.working.acquire(out.kind)
    for pair in later:
        emit.run("np.multiply", *pair, f"out={product.text}")
        emit.write(f"{out.text} += {product.text}")
    emit.working.release(product)


def _result(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    """Return memory for a result that is written while the operands are still read."""
    kind = kind_of(node.type)
    if target is not None and target.kind == kind and not emit.reads(node, target):
        return target.held
    return emit.working.acquire(kind)


def _length(emit: BlockEmitter, vector: ArrayValue, out: ArrayValue) -> ArrayValue:
    indices = range(vector.shape[0])
    _sum_of_products(emit, [(vector.element(i), vector.element(i)) for i in indices], out)
    emit.run("np.sqrt", out.text, f"out={out.text}")
    return out


def _norm(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    vector = emit.value(node.operands[0])
    out = _length(emit, vector, _result(emit, node, target))
    emit.working.release(vector)
    return out


def _normalize(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    vector = emit.value(node.operands[0])
    length = emit.working.acquire((vector.scalar, (), ElementOrder.ROWS))
    _length(emit, vector, length)
    emit.run("np.putmask", length.text, f"{length.text} == 0", "1")
    out = emit.memory_for(kind_of(node.type), (vector,), target)
    emit.run("np.divide", vector.text, length.text, f"out={out.text}")
    emit.working.release(length, *((vector,) if vector.slot != out.slot else ()))
    return out


def _cross(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    left, right = (emit.value(operand) for operand in node.operands)
    out = _result(emit, node, target)
    product = emit.working.acquire((node.type.scalar, (), ElementOrder.ROWS))
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        element = out.element(k)
        emit.run("np.multiply", left.element(i), right.element(j), f"out={element}")
        emit.run("np.multiply", left.element(j), right.element(i), f"out={product.text}")
        emit.run("np.subtract", element, product.text, f"out={element}")
    emit.working.release(left, right, product)
    return out


def _product(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    """Write columns of the left side times rows of the right one: few calls on many numbers."""
    left, right = (emit.value(operand) for operand in node.operands)
    left_shape, right_shape = left.shape, right.shape
    inner = left_shape[-1]
    # an operand that is read more than once is worth laying out in planes
    left = _in_planes(emit, left, len(right_shape) > 1 and right_shape[1] > 1)
    right = _in_planes(emit, right, len(left_shape) > 1 and left_shape[0] > 1)
    out = _result(emit, node, target)
    pairs = [(_column(left, right_shape, k), right.element(k)) for k in range(inner)]
    _sum_of_products(emit, pairs, out)
    emit.working.release(left, right)
    return out


def _column(left: ArrayValue, right_shape: Shape, k: int) -> str:
    if len(left.shape) == 1:
        return left.element(k)
    return f"{left.text}[:, {k}, None]" if len(right_shape) > 1 else f"{left.text}[:, {k}]"


def _in_planes(emit: BlockEmitter, value: ArrayValue, is_reused: bool) -> ArrayValue:
    if value.layout is ElementOrder.TOGETHER and is_reused:
        return emit.copied(value, (value.scalar, value.shape, ElementOrder.PLANES))
    return value


def _by_element(
    emit: BlockEmitter,
    node: tree.Operation,
    target: ArrayValue | None,
    compute: Callable[[int, ArrayValue], ArrayValue],
) -> ArrayValue:
    """Write a vector element by element; beside the target if the elements read it.

    `compute`: writes an element where it is told, or returns where else it is."""
    kind, n_elements = kind_of(node.type), node.type.elements
    fits = target is not None and target.kind[:2] == kind[:2]
    there = target if fits else None
    is_read = there is not None and emit.reads(node, there)
    out = emit.working.acquire(kind) if there is None else there.held
    row = kind[0], (), ElementOrder.ROWS
    places = [ArrayValue(out.element(index), *row) for index in range(n_elements)]
    beside = [emit.working.acquire(row) if is_read else cells for cells in places]
    for index, cells in enumerate(beside):
        value = compute(index, cells)
        if value.text != cells.text:
            emit.write(f"{cells.text}[...] = {value.text}")
            emit.working.release(value)
    for cells, element in zip(beside, places, strict=True) if is_read else ():
        emit.write(f"{element.text}[...] = {cells.text}")
        emit.working.release(cells)
    return out


def _vector(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    numbers = node.operands
    return _by_element(emit, node, target, lambda index, cells: emit.value(numbers[index], cells))


def _unit(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    angle = emit.value(node.operands[0])

    def compute(index: int, cells: ArrayValue) -> ArrayValue:
        function = ("np.cos", "np.sin")[index]
        emit.run(function, as_typed(angle), f"out={cells.text}")
        return cells

    out = _by_element(emit, node, target, compute)
    emit.working.release(angle)
    return out


def _angle(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    vector = emit.value(node.operands[0])
    out = _result(emit, node, target)
    emit.run("np.arctan2", vector.element(1), vector.element(0), f"out={out.text}")
    emit.working.release(vector)
    return out


def _rotate(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    """Multiply vectors of two as complex numbers."""
    vector, unit = (emit.value(operand) for operand in node.operands)
    product = emit.working.acquire((node.type.scalar, (), ElementOrder.ROWS))

    def compute(index: int, cells: ArrayValue) -> ArrayValue:
        function = ("np.subtract", "np.add")[index]
        emit.run("np.multiply", vector.element(0), unit.element(index), f"out={cells.text}")
        emit.run("np.multiply", vector.element(1), unit.element(1 - index), f"out={product.text}")
        emit.run(function, cells.text, product.text, f"out={cells.text}")
        return cells

    out = _by_element(emit, node, target, compute)
    emit.working.release(vector, unit, product)
    return out


def _folded(emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None) -> ArrayValue:
    """Combine all elements one after the other, sums beginning with 0."""
    value = emit.value(node.operands[0])
    out = _result(emit, node, target)
    elements = [value.element(*index) for index in itertools.product(*map(range, value.shape))]
    ufunc = numpy_function(node.name)
    first = ["0", elements[0]] if node.name == "total" else (elements * 2)[:2]
    emit.run(ufunc, *first, f"out={out.text}")
    for element in elements[1 if node.name == "total" else 2 :]:
        emit.run(ufunc, out.text, element, f"out={out.text}")
    emit.working.release(value)
    return out


def _index_of_extreme(
    emit: BlockEmitter, node: tree.Operation, target: ArrayValue | None
) -> ArrayValue:
    value = emit.value(node.operands[0])
    out = _result(emit, node, target)
    function = "np.less" if node.name == "argmin" else "np.greater"
    elements = f"{value.text}.reshape({prod(value.shape)}, -1)"
    emit.write(f"{out.text}[...] = index_of_extreme({function}, {elements})")
    emit.working.release(value)
    return out


COMPOSED: Final[
    dict[str, Callable[[BlockEmitter, tree.Operation, ArrayValue | None], ArrayValue]]
] = {
    "if": _choice,
    "dot": _product,
    "norm": _norm,
    "normalize": _normalize,
    "cross": _cross,
    "@": _product,
    "vec": _vector,
    "unit": _unit,
    "angle": _angle,
    "rotate": _rotate,
    **dict.fromkeys(("total", "least", "greatest", "any", "all"), _folded),
    "argmin": _index_of_extreme,
    "argmax": _index_of_extreme,
    **dict.fromkeys(TIME_OPERATIONS, _of_times),
}
ELEMENTWISE: Final = frozenset(TIME_OPERATIONS) | {"if"}
"""Those that compute element by element all the same."""
