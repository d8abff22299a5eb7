"""Elements of expressions as code, and the statements that have to come before them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from ecsgen.kernels.operations import TABLE, Rule
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.loops.element_operations import (
    arithmetic,
    cast_of,
    choose,
    element_of,
    extreme_of,
)
from ecsgen.render.loops.scalar_code import (
    Code,
    NameAllocator,
    Precedence,
    infix,
    make_call_code,
    wrap_to_type,
    zero_of,
)

UNROLLED: Final = 16
"""Shapes of up to this many elements are written out; longer ones become inner loops."""

_MIXING_RULES: Final = (
    *(Rule.DOT, Rule.CROSS, Rule.NORM, Rule.NORMALIZE, Rule.MATRIX),
    *(Rule.VECTOR, Rule.PLANE, Rule.ELEMENTS, Rule.TOTAL, Rule.TRUTHS),
)
"""Rules of operations whose elements need several elements of the operands."""

_REACHABLE: Final = (tree.FieldValue, tree.NeighbourField, tree.Local, tree.Argument)
"""Nodes whose elements are in an array, unless they are split."""

ElementIndex = int | str
"""Index of an element in C order: a number, or the variable of an inner loop."""


@dataclass(frozen=True, slots=True)
class Value:
    """Elements of an expression."""

    type: Type
    at: Callable[[ElementIndex], Code]
    is_split: bool = False
    """True if each element is in a column or variable of its own, so that no inner loop and no
    computed index can reach it."""


def uniform(type_: Type, code: Code) -> Value:
    """Return a value whose elements are all the same code."""
    return Value(type_, lambda index: code)


def plus(start: ElementIndex, further: ElementIndex) -> ElementIndex:
    """Add to an index."""
    if isinstance(start, int) and isinstance(further, int):
        return start + further
    return start if further == 0 else f"{start} + {further}"


def part_of(base: Value, shape: tuple[int, ...], indices: tuple[int, ...], type_: Type) -> Value:
    """Return the element of `base` at `indices`, or the subarray if `indices` are fewer than
    axes."""
    start = 0
    for size, index in zip(shape, indices, strict=False):
        start = start * size + index
    start *= type_.elements
    return Value(type_, lambda index: base.at(plus(index, start)), base.is_split)


def is_across(node: tree.Expression) -> bool:
    """Return True if an element of the value needs several elements of an operand."""
    if isinstance(node, tree.Operation):
        return TABLE[node.name].rule in _MIXING_RULES
    return isinstance(node, tree.Element | tree.Item)


def is_mixing(
    node: tree.Expression, target: tree.FieldValue | tree.Local, inside: bool = False
) -> bool:
    """Return True if an element of the value needs another element of the target assigned to."""
    if node == target:
        return inside
    inside = inside or is_across(node)
    return any(is_mixing(part, target, inside) for part in tree.child_expressions(node))


class LoopEmitter(ABC):
    """Writer of a function's loop; in a flat loop every shape is one element."""

    def __init__(
        self,
        names: NameAllocator,
        constant: Callable[[bool | int | float, str], Code],
        is_flat: bool,
    ) -> None:
        """`constant`: returns the code of a constant of a scalar type."""
        self.names = names
        self.constant = constant
        self.is_flat = is_flat
        self.lines: list[str] = []
        self.arrays: list[str] = []
        """Statements that allocate arrays, outside of the loop over rows."""
        self.locals_: dict[str, Value] = {}
        self.indent = 0
        self.row_key = ""
        """Variable with the row key, from which all random numbers of a row are made."""

    @abstractmethod
    def _leaf_value(self, node: tree.Expression) -> Value:
        """Return the elements of a field, an argument, a neighbour's offset: of what is not
        computed."""

    def write(self, *lines: str) -> None:
        self.lines += [" " * self.indent + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent the statements below `head:`."""
        self.write(f"{head}:")
        self.indent += 4
        yield
        self.indent -= 4

    @contextmanager
    def over(self, numbers: str, *preferred: str) -> Iterator[str]:
        """Indent a loop over `range(numbers)`; yields its variable, whose name is free
        afterwards."""
        variable = self.names.allocate(*preferred)
        with self.block(f"for {variable} in range({numbers})"):
            yield variable
        self.names.taken.discard(variable)

    def count(self, type_: Type) -> int:
        """Return how many elements a value of the type has in this loop."""
        return 1 if self.is_flat else type_.elements

    @contextmanager
    def looped(
        self, count: int, is_unrolled: bool = False, start: int = 0
    ) -> Iterator[list[ElementIndex]]:
        """Yield the indices of so many elements, those before `start` left out: written out, or the
        variable of an inner loop."""
        if count <= UNROLLED or is_unrolled:
            yield list(range(start, count))
            return
        with self.over(f"{start}, {count}" if start else f"{count}", "e", "k") as variable:
            yield [variable]

    def value(self, node: tree.Expression) -> Value:
        match node:
            case tree.Local():
                return self.locals_[node.name]
            case tree.Element():
                return part_of(self.value(node.base), node.base.type.shape, node.index, node.type)
            case tree.Item():
                return self._item(node)
            case tree.Cast():
                return self._cast(node)
            case tree.Operation():
                composer = COMPOSERS.get(node.name)
                return composer(self, node) if composer else self._elementwise(node)
            case tree.Draw():
                return self._elementwise(node)
            case _:
                return self._leaf_value(node)

    def _item(self, node: tree.Item) -> Value:
        """Return an element at computed indices, 0 outside of the shape."""
        base = self.value(node.base)
        if base.is_split or not isinstance(node.base, _REACHABLE):
            base = self.indexable(base)
        test, position = self.position_of_item(node.base.type.shape, node.indices)
        code, zero = base.at(position), self.constant(zero_of(node.type.scalar), node.type.scalar)
        return uniform(node.type, choose(node.type, test, code, zero))

    def position_of_item(
        self, shape: tuple[int, ...], indices: Sequence[tree.Expression]
    ) -> tuple[Code, str]:
        """Return the test that indices are inside of a shape, and the element's index in C
        order."""
        tests, position = [], ""
        for size, node in zip(shape, indices, strict=True):
            index = self.index_code(node)
            if not isinstance(node, tree.Constant):
                tests.append(f"0 <= {index} < {size}")
            before = f"({position})" if " " in position else position
            position = f"{size} * {before} + {index}" if position else index
        level = Precedence.AND if len(tests) > 1 else Precedence.COMPARISON
        return Code(" and ".join(tests), level), position

    def index_code(self, node: tree.Expression) -> str:
        """Return an index as a name or a number."""
        if isinstance(node, tree.Constant):
            return str(node.value)
        return self.keep_number(self.value(node)).at(0).text

    def write_item(
        self, base: Value, position: str, type_: Type, write: Callable[[Value], None]
    ) -> None:
        """Write to the element at an index in C order, which is inside of the shape."""
        if not base.is_split:
            write(Value(type_, lambda index: base.at(position)))
            return
        for element in range(base.type.elements):
            with self.block(f"{'elif' if element else 'if'} {position} == {element}"):
                write(uniform(type_, base.at(element)))

    def _elementwise(self, node: tree.Operation | tree.Draw) -> Value:
        operands = [self.spread(operand, node.type) for operand in node.operands]
        if isinstance(node, tree.Operation) and node.name == "square":
            operands = [self.named(operand) for operand in operands]

        def at(index: ElementIndex) -> Code:
            codes = [operand.at(index) for operand in operands]
            if isinstance(node, tree.Operation):
                return element_of(node, codes)
            number = Code(str(plus(index, node.number)))
            return make_call_code(f"{node.distribution}_at", Code(self.row_key), number, *codes)

        return Value(node.type, at, any(operand.is_split for operand in operands))

    def _cast(self, node: tree.Cast) -> Value:
        operand = self.value(node.operand)
        return Value(node.type, lambda p: cast_of(node, operand.at(p)), operand.is_split)

    def float_of(self, type_: Type, function: str, *operands: Code) -> Code:
        """Return what a function of numpy's makes of floats."""
        return make_call_code(function, *operands)

    def spread(self, operand: tree.Expression, type_: Type) -> Value:
        """Return an operand; one number for many elements is computed once."""
        value = self.value(operand)
        if self.count(type_) > 1 and not operand.type.shape:
            return self.keep_number(value)
        return value

    def keep_number(self, value: Value) -> Value:
        """Name a number, unless it is a name or a constant already."""
        code = wrap_to_type(value.at(0), value.type.scalar)
        if not code.is_atomic:
            code = self.assign(code)
        return uniform(value.type, code)

    def assign(self, code: Code, *preferred: str) -> Code:
        name = self.names.allocate(*preferred)
        self.write(f"{name} = {code.text}")
        return Code(name)

    def named(self, value: Value) -> Value:
        """Name all elements, unless they are names or constants already."""
        if self.count(value.type) == 1 and not value.type.shape:
            return self.keep_number(value)
        if self.count(value.type) <= UNROLLED:
            codes = [value.at(index) for index in range(self.count(value.type))]
            if all(code.is_atomic for code in codes):
                return value
        elif not value.is_split and value.at("_").is_atomic:
            return value
        return self.stored(value)

    def stored(self, value: Value, *preferred: str) -> Value:
        """Store all elements in new variables, or in a new array."""
        target = self.variables(value.type, *preferred)
        self.store(value, target)
        return target

    def variables(self, type_: Type, *preferred: str) -> Value:
        """Return new variables, one per element, or an array for many."""
        count = self.count(type_)
        if count > UNROLLED:
            return self.memory(type_, *preferred)
        name = self.names.allocate(*preferred)
        if not type_.shape or self.is_flat:
            return uniform(type_, Code(name))
        parts = [self.names.allocate(f"{name}_{index}") for index in range(count)]
        return Value(type_, lambda index: Code(parts[int(index)]), is_split=True)

    def memory(self, type_: Type, *preferred: str) -> Value:
        """Return a new array for the elements of one row."""
        name = self.names.allocate(*preferred)
        self.arrays.append(self.allocation(name, str(self.count(type_)), type_))
        return Value(type_, lambda index: Code(f"{name}[{index}]"))

    def allocation(self, name: str, size: str, type_: Type) -> str:
        """Return the statement that makes an empty array."""
        return f"{name} = np.empty({size}, {SCALARS[type_.scalar].numpy})"

    def indexable(self, value: Value) -> Value:
        """Return all elements in an array, which inner loops can index."""
        if self.count(value.type) > UNROLLED:
            return self.named(value)
        target = self.memory(value.type)
        self.store(value, target)
        return target

    def store(self, value: Value, target: Value, sign: str = "=") -> None:
        """Write a value, or one number for all elements, over the elements of another."""
        scalar = value.type.scalar
        self.change(target, value, lambda there, code: wrap_to_type(code, scalar).text, sign)

    def change(
        self, target: Value, value: Value, combine: Callable[[Code, Code], str], sign: str = "="
    ) -> None:
        """Write over each element `combine(element, element of value)`, or of one number for
        all."""
        if self.count(target.type) > 1 and not value.type.shape:
            value = self.keep_number(value)
        with self.looped(self.count(target.type), value.is_split or target.is_split) as indices:
            for index in indices:
                there = target.at(index)
                self.write(f"{there.text} {sign} {combine(there, value.at(index))}")

    @contextmanager
    def into(self, lines: list[str]) -> Iterator[None]:
        """Collect the statements of the block in `lines`."""
        outer, self.lines, self.indent = (self.lines, self.indent), lines, 0
        yield
        self.lines, self.indent = outer


def _sum_of_products(
    emit: LoopEmitter, type_: Type, count: int, pair: Callable[[ElementIndex], tuple[Code, Code]]
) -> Code:
    """Return the sum of products from left to right, each product and each sum rounded."""
    if count <= UNROLLED:
        total = arithmetic("*", type_, *pair(0))
        for index in range(1, count):
            total = arithmetic("+", type_, total, arithmetic("*", type_, *pair(index)))
        return total
    total = emit.assign(wrap_to_type(arithmetic("*", type_, *pair(0)), type_.scalar), "total")
    with emit.over(f"1, {count}", "k") as variable:
        code = arithmetic("+", type_, total, arithmetic("*", type_, *pair(variable)))
        emit.write(f"{total.text} = {wrap_to_type(code, type_.scalar).text}")
    return total


def _product(emit: LoopEmitter, left: Value, right: Value) -> Code:
    count, type_ = left.type.shape[0], Type(left.type.scalar)
    return _sum_of_products(emit, type_, count, lambda k: (left.at(k), right.at(k)))


def _length(emit: LoopEmitter, vector: Value) -> Code:
    return emit.float_of(vector.type, "np.sqrt", _product(emit, vector, vector))


def _dot(emit: LoopEmitter, node: tree.Operation) -> Value:
    left, right = (emit.named(emit.value(operand)) for operand in node.operands)
    return uniform(node.type, _product(emit, left, right))


def _norm(emit: LoopEmitter, node: tree.Operation) -> Value:
    return uniform(node.type, _length(emit, emit.named(emit.value(node.operands[0]))))


def _normalize(emit: LoopEmitter, node: tree.Operation) -> Value:
    vector = emit.named(emit.value(node.operands[0]))
    length = emit.assign(_length(emit, vector), "length")
    with emit.block(f"if {length.text} == 0"):
        emit.write(f"{length.text} = {emit.constant(1.0, node.type.scalar).text}")
    return Value(
        node.type, lambda p: infix("/", Precedence.PRODUCT, vector.at(p), length), vector.is_split
    )


def _cross(emit: LoopEmitter, node: tree.Operation) -> Value:
    a, b = (emit.named(emit.value(operand)) for operand in node.operands)
    type_ = Type(node.type.scalar)

    def at(index: ElementIndex) -> Code:
        i, j = ((1, 2), (2, 0), (0, 1))[int(index)]
        minuend = arithmetic("*", type_, a.at(i), b.at(j))
        subtrahend = arithmetic("*", type_, a.at(j), b.at(i))
        return arithmetic("-", type_, minuend, subtrahend)

    return Value(node.type, at)


def _matrix_product(emit: LoopEmitter, node: tree.Operation) -> Value:
    """Multiply matrices, each element from left to right; large ones in three loops over arrays."""
    left, right = (emit.named(emit.value(operand)) for operand in node.operands)
    inner, type_ = node.operands[0].type.shape[-1], Type(node.type.scalar)
    columns = right.type.elements // right.type.shape[0]
    sizes = emit.count(left.type), emit.count(right.type), node.type.elements
    is_small = max(sizes) <= UNROLLED
    if not is_small:
        left, right = emit.indexable(left), emit.indexable(right)

    def cell(row: ElementIndex, column: ElementIndex) -> Code:
        def pair(k: ElementIndex) -> tuple[Code, Code]:
            return left.at(_in_row(row, inner, k)), right.at(_in_row(k, columns, column))

        return _sum_of_products(emit, type_, inner, pair)

    if is_small:
        return Value(node.type, lambda index: cell(*divmod(int(index), columns)))
    product = emit.memory(node.type, "product")
    rows = node.type.elements // columns
    with emit.over(f"{rows}", "r") as row, emit.over(f"{columns}", "c") as column:
        element = wrap_to_type(cell(row, column), type_.scalar)
        emit.write(f"{product.at(_in_row(row, columns, column)).text} = {element.text}")
    return product


def _in_row(row: ElementIndex, columns: int, column: ElementIndex) -> ElementIndex:
    return plus(columns * row if isinstance(row, int) else f"{columns} * {row}", column)


def _vector(emit: LoopEmitter, node: tree.Operation) -> Value:
    numbers = [emit.value(operand) for operand in node.operands]
    return Value(node.type, lambda index: numbers[int(index)].at(0))


def _unit(emit: LoopEmitter, node: tree.Operation) -> Value:
    angle = emit.keep_number(emit.value(node.operands[0])).at(0)
    parts = [emit.float_of(node.type, function, angle) for function in ("np.cos", "np.sin")]
    return Value(node.type, lambda index: parts[int(index)])


def _angle(emit: LoopEmitter, node: tree.Operation) -> Value:
    vector = emit.value(node.operands[0])
    return uniform(node.type, emit.float_of(node.type, "np.arctan2", vector.at(1), vector.at(0)))


def _rotate(emit: LoopEmitter, node: tree.Operation) -> Value:
    """Multiply vectors of two as complex numbers."""
    vector, unit = (emit.named(emit.value(operand)) for operand in node.operands)
    type_ = Type(node.type.scalar)

    def at(index: ElementIndex) -> Code:
        first = arithmetic("*", type_, vector.at(0), unit.at(index))
        second = arithmetic("*", type_, vector.at(1), unit.at(1 - int(index)))
        return arithmetic("+" if index else "-", type_, first, second)

    return Value(node.type, at)


def _folded(emit: LoopEmitter, node: tree.Operation) -> Value:
    """Combine all elements one after the other, sums beginning with 0."""
    value = emit.named(emit.value(node.operands[0]))
    count, type_ = emit.count(value.type), Type(value.type.scalar)
    combine = partial(_COMBINE[node.name], type_)
    first = value.at(0)
    if node.name == "total":
        first = combine(emit.constant(zero_of(type_.scalar), type_.scalar), first)
    if count <= UNROLLED:
        for index in range(1, count):
            first = combine(first, value.at(index))
        return uniform(node.type, first)
    folded = emit.assign(wrap_to_type(first, type_.scalar), "folded")
    with emit.over(f"1, {count}", "k") as variable:
        code = combine(folded, value.at(variable))
        emit.write(f"{folded.text} = {wrap_to_type(code, type_.scalar).text}")
    return uniform(node.type, folded)


_COMBINE: Final[dict[str, Callable[[Type, Code, Code], Code]]] = {
    "total": partial(arithmetic, "+"),
    "least": partial(extreme_of, "min"),
    "greatest": partial(extreme_of, "max"),
    "any": lambda type_, left, right: infix("or", Precedence.OR, left, right),
    "all": lambda type_, left, right: infix("and", Precedence.AND, left, right),
}


def _index_of_extreme(emit: LoopEmitter, node: tree.Operation) -> Value:
    """Find the first of the least or greatest elements; NaN goes first."""
    value = emit.named(emit.value(node.operands[0]))
    count, scalar = emit.count(value.type), value.type.scalar
    order = "compare_nan_lowest" if node.name == "argmin" else "compare_nan_highest"
    best = emit.assign(wrap_to_type(value.at(0), scalar), "best").text
    first = emit.assign(Code("0"), "first").text
    with emit.looped(count, start=1) as indices:
        for index in indices:
            element = wrap_to_type(value.at(index), scalar).text
            with emit.block(f"if {order}({element}, {best}) < 0"):
                emit.write(f"{best} = {element}", f"{first} = {index}")
    return uniform(node.type, make_call_code("np.int64", Code(first)))


COMPOSERS: Final[dict[str, Callable[[LoopEmitter, tree.Operation], Value]]] = {
    "dot": _dot,
    "norm": _norm,
    "normalize": _normalize,
    "cross": _cross,
    "@": _matrix_product,
    "vec": _vector,
    "unit": _unit,
    "angle": _angle,
    "rotate": _rotate,
    **dict.fromkeys(_COMBINE, _folded),
    "argmin": _index_of_extreme,
    "argmax": _index_of_extreme,
}
