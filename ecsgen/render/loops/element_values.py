"""Expressions as codes of their elements, and the statements that have to come before them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ecsgen.kernels.operations import TABLE, Rule
from ecsgen.model import typed_tree as tree
from ecsgen.model.types import SCALARS, Type
from ecsgen.render.loops.element_operations import arithmetic, cast_of, element_of
from ecsgen.render.loops.scalar_code import (
    Code,
    NameAllocator,
    Precedence,
    infix,
    make_call_code,
    wrap_to_type,
)

UNROLLED: Final = 16
"""Shapes of up to this many elements are written out; longer ones become inner loops."""

_ACROSS: Final = (Rule.DOT, Rule.CROSS, Rule.NORM, Rule.NORMALIZE, Rule.MATRIX)
"""Rules of operations of which an element needs other elements of the operands."""

Place = int | str
"""The place of an element in C order: a number, or the variable of an inner loop."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression's elements."""

    type: Type
    at: Callable[[Place], Code]
    is_split: bool = False
    """Whether each element is in a column of its own, so that no inner loop can reach it."""


def uniform(type_: Type, code: Code) -> Value:
    """One number, or the same one for all elements."""
    return Value(type_, lambda place: code)


def plus(start: Place, further: Place) -> Place:
    """A place further on."""
    if isinstance(start, int) and isinstance(further, int):
        return start + further
    return start if further == 0 else f"{start} + {further}"


def part_of(base: Value, shape: tuple[int, ...], index: tuple[int, ...], type_: Type) -> Value:
    """An element of a shape, or what is left of the shape behind a few indices."""
    start = 0
    for size, place in zip(shape, index, strict=False):
        start = start * size + place
    start *= type_.elements
    return Value(type_, lambda place: base.at(plus(place, start)), base.is_split)


def is_across(node: tree.Expression) -> bool:
    """Whether an element of a value needs other elements of what the value is made of."""
    if isinstance(node, tree.Operation):
        return TABLE[node.name].rule in _ACROSS
    return isinstance(node, tree.Element)


def is_mixing(
    node: tree.Expression, target: tree.FieldValue | tree.Local, inside: bool = False
) -> bool:
    """Whether an element of the value needs another element of what is assigned to."""
    if node == target:
        return inside
    inside = inside or is_across(node)
    return any(is_mixing(part, target, inside) for part in tree.child_expressions(node))


class LoopEmitter(ABC):
    """Writes the statements of a function's loop; in a flat loop every shape is one element."""

    def __init__(
        self,
        names: NameAllocator,
        constant: Callable[[bool | int | float, str], Code],
        is_flat: bool,
    ) -> None:
        """`constant` gives the code of one."""
        self.names = names
        self.constant = constant
        self.is_flat = is_flat
        self.lines: list[str] = []
        self.arrays: list[str] = []
        """Statements that make working memory, outside of the loop over rows."""
        self.locals_: dict[str, Value] = {}
        self.indent = 0
        self.stem = ""
        """The variable with what all random numbers of a row have in common."""

    @abstractmethod
    def _given(self, node: tree.Expression) -> Value:
        """The elements of what is not computed: of a field, an argument, a neighbour's way."""

    def write(self, *lines: str) -> None:
        self.lines += [" " * self.indent + line for line in lines]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Statements below `head:`, further in."""
        self.write(f"{head}:")
        self.indent += 4
        yield
        self.indent -= 4

    @contextmanager
    def over(self, numbers: str, *wishes: str) -> Iterator[str]:
        """Statements for each of some numbers; gives the variable, whose name is free behind
        them."""
        variable = self.names.allocate(*wishes)
        with self.block(f"for {variable} in range({numbers})"):
            yield variable
        self.names.taken.discard(variable)

    def count(self, type_: Type) -> int:
        """How many elements a value of the type has in this loop."""
        return 1 if self.is_flat else type_.elements

    @contextmanager
    def looped(self, count: int, is_unrolled: bool = False) -> Iterator[list[Place]]:
        """The places of so many elements: written out, or that of an inner loop."""
        if count <= UNROLLED or is_unrolled:
            yield list(range(count))
            return
        with self.over(f"{count}", "e", "k") as variable:
            yield [variable]

    # --- expressions -----------------------------------------------------------------------------

    def value(self, node: tree.Expression) -> Value:
        """The elements of an expression."""
        match node:
            case tree.Constant():
                return uniform(node.type, self.constant(node.value, node.type.scalar))
            case tree.Local():
                return self.locals_[node.name]
            case tree.Element():
                return part_of(self.value(node.base), node.base.type.shape, node.index, node.type)
            case tree.Cast():
                operand = self.value(node.operand)
                return Value(node.type, lambda p: cast_of(node, operand.at(p)), operand.is_split)
            case tree.Operation():
                composer = COMPOSERS.get(node.name)
                return composer(self, node) if composer else self._elementwise(node)
            case tree.Draw():
                return self._elementwise(node)
            case _:
                return self._given(node)

    def _elementwise(self, node: tree.Operation | tree.Draw) -> Value:
        operands = [self.spread(operand, node.type) for operand in node.operands]
        if isinstance(node, tree.Operation) and node.name == "square":
            operands = [self.named(operand) for operand in operands]

        def at(place: Place) -> Code:
            codes = [operand.at(place) for operand in operands]
            if isinstance(node, tree.Operation):
                return element_of(node, codes)
            number = Code(str(plus(place, node.number)))
            return make_call_code(f"{node.distribution}_at", Code(self.stem), number, *codes)

        return Value(node.type, at, any(operand.is_split for operand in operands))

    def spread(self, operand: tree.Expression, type_: Type) -> Value:
        """An operand; one number for many elements is computed once."""
        value = self.value(operand)
        if self.count(type_) > 1 and not operand.type.shape:
            return self.keep_number(value)
        return value

    # --- names for what is needed more than once ---------------------------------------------

    def keep_number(self, value: Value) -> Value:
        """One number under a name, if it is not at hand anyway."""
        code = wrap_to_type(value.at(0), value.type.scalar)
        if not code.is_at_hand:
            code = self.assign(code)
        return uniform(value.type, code)

    def assign(self, code: Code, *wishes: str) -> Code:
        """A new name for a number."""
        name = self.names.allocate(*wishes)
        self.write(f"{name} = {code.text}")
        return Code(name)

    def named(self, value: Value) -> Value:
        """All elements under names, if they are not at hand anyway."""
        if self.count(value.type) == 1 and not value.type.shape:
            return self.keep_number(value)
        if self.count(value.type) <= UNROLLED:
            codes = [value.at(place) for place in range(self.count(value.type))]
            if all(code.is_at_hand for code in codes):
                return value
        elif not value.is_split and value.at("_").is_at_hand:
            return value
        return self.stored(value)

    def stored(self, value: Value, *wishes: str) -> Value:
        """All elements in variables of their own, or in working memory."""
        held = self.variables(value.type, *wishes)
        self.store(value, held)
        return held

    def variables(self, type_: Type, *wishes: str) -> Value:
        """New variables, one per element, or working memory for many."""
        count = self.count(type_)
        if count > UNROLLED:
            return self.memory(type_, *wishes)
        name = self.names.allocate(*wishes)
        if not type_.shape or self.is_flat:
            return uniform(type_, Code(name))
        parts = [self.names.allocate(f"{name}_{place}") for place in range(count)]
        return Value(type_, lambda place: Code(parts[int(place)]))

    def memory(self, type_: Type, *wishes: str) -> Value:
        """An array for the elements of one row."""
        name = self.names.allocate(*wishes)
        self.arrays.append(f"{name} = np.empty({self.count(type_)}, {SCALARS[type_.scalar].numpy})")
        return Value(type_, lambda place: Code(f"{name}[{place}]"))

    def indexable(self, value: Value) -> Value:
        """All elements in an array, where inner loops find them."""
        if self.count(value.type) > UNROLLED:
            return self.named(value)
        held = self.memory(value.type)
        self.store(value, held)
        return held

    def store(self, value: Value, held: Value, sign: str = "=") -> None:
        """Write the elements of a value, or one for all, over those of another."""
        scalar = value.type.scalar
        self.change(held, value, lambda there, code: wrap_to_type(code, scalar).text, sign)

    def change(
        self, held: Value, value: Value, made: Callable[[Code, Code], str], sign: str = "="
    ) -> None:
        """Write over each element what is made of it and of that of a value, or of one for all."""
        if self.count(held.type) > 1 and not value.type.shape:
            value = self.keep_number(value)
        with self.looped(self.count(held.type), value.is_split or held.is_split) as places:
            for place in places:
                there = held.at(place)
                self.write(f"{there.text} {sign} {made(there, value.at(place))}")

    @contextmanager
    def into(self, lines: list[str]) -> Iterator[None]:
        """Statements that do not go where the others do."""
        others, self.lines, self.indent = (self.lines, self.indent), lines, 0
        yield
        self.lines, self.indent = others


# --- operations that are more than one element at a time: products of vectors and matrices --------


def _sum_of_products(
    emit: LoopEmitter, type_: Type, count: int, pair: Callable[[Place], tuple[Code, Code]]
) -> Code:
    """From left to right, each product and each sum rounded."""
    if count <= UNROLLED:
        total = arithmetic("*", type_, *pair(0))
        for place in range(1, count):
            total = arithmetic("+", type_, total, arithmetic("*", type_, *pair(place)))
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
    return make_call_code("np.sqrt", _product(emit, vector, vector))


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

    def at(place: Place) -> Code:
        i, j = ((1, 2), (2, 0), (0, 1))[int(place)]
        minuend = arithmetic("*", type_, a.at(i), b.at(j))
        subtrahend = arithmetic("*", type_, a.at(j), b.at(i))
        return arithmetic("-", type_, minuend, subtrahend)

    return Value(node.type, at)


def _matrix_product(emit: LoopEmitter, node: tree.Operation) -> Value:
    """Each element from left to right; large ones in three loops over working memory."""
    left, right = (emit.named(emit.value(operand)) for operand in node.operands)
    inner, type_ = node.operands[0].type.shape[-1], Type(node.type.scalar)
    columns = right.type.elements // right.type.shape[0]
    is_small = max(emit.count(one.type) for one in (left, right)) <= UNROLLED >= node.type.elements
    if not is_small:
        left, right = emit.indexable(left), emit.indexable(right)

    def cell(row: Place, column: Place) -> Code:
        def pair(k: Place) -> tuple[Code, Code]:
            return left.at(_in_row(row, inner, k)), right.at(_in_row(k, columns, column))

        return _sum_of_products(emit, type_, inner, pair)

    if is_small:
        return Value(node.type, lambda place: cell(*divmod(int(place), columns)))
    product = emit.memory(node.type, "product")
    rows = node.type.elements // columns
    with emit.over(f"{rows}", "r") as row, emit.over(f"{columns}", "c") as column:
        made = wrap_to_type(cell(row, column), type_.scalar)
        emit.write(f"{product.at(_in_row(row, columns, column)).text} = {made.text}")
    return product


def _in_row(row: Place, columns: int, column: Place) -> Place:
    return plus(columns * row if isinstance(row, int) else f"{columns} * {row}", column)


COMPOSERS: Final[dict[str, Callable[[LoopEmitter, tree.Operation], Value]]] = {
    "dot": _dot,
    "norm": _norm,
    "normalize": _normalize,
    "cross": _cross,
    "@": _matrix_product,
}
