"""Operations that are more than one element at a time: products of vectors and matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ecsgen.model.programs import Operation
from ecsgen.model.types import Type
from ecsgen.render.loops.code import Code, Level, called, cut, infix
from ecsgen.render.loops.elements import difference_of, product_of, sum_of
from ecsgen.render.loops.values import UNROLLED, Composer, Emitter, Place, Value


def _one(type_: Type, code: Code) -> Value:
    return Value(type_, lambda place: code)


def _sum_of_products(
    emit: Emitter,
    type_: Type,
    count: int,
    pair: Callable[[Place], tuple[Code, Code]],
) -> Code:
    """From left to right, each product and each sum rounded."""
    if count <= UNROLLED:
        total = product_of(type_, *pair(0))
        for place in range(1, count):
            total = sum_of(type_, total, product_of(type_, *pair(place)))
        return total
    first = cut(product_of(type_, *pair(0)), type_.scalar)
    name = emit.names.take("total", "_total")
    emit.write(f"{name} = {first.text}")
    variable = emit.names.take("k", "_k")
    with emit.block(f"for {variable} in range(1, {count})"):
        code = cut(sum_of(type_, Code(name), product_of(type_, *pair(variable))), type_.scalar)
        emit.write(f"{name} = {code.text}")
    emit.names.taken.discard(variable)
    return Code(name)


def _dot(emit: Emitter, node: Operation) -> Value:
    left, right = (emit.named(emit.value(operand)) for operand in node.operands)
    count = node.operands[0].type.shape[0]
    return _one(
        node.type,
        _sum_of_products(emit, node.type, count, lambda k: (left.at(k), right.at(k))),
    )


def _length(emit: Emitter, vector: Value) -> Code:
    type_ = Type(vector.type.scalar)
    count = vector.type.shape[0]
    square = _sum_of_products(emit, type_, count, lambda k: (vector.at(k), vector.at(k)))
    return called("np.sqrt", square)


def _norm(emit: Emitter, node: Operation) -> Value:
    return _one(node.type, _length(emit, emit.named(emit.value(node.operands[0]))))


def _normalize(emit: Emitter, node: Operation) -> Value:
    vector = emit.named(emit.value(node.operands[0]))
    length = emit.assign(_length(emit, vector), "length", "_length")
    with emit.block(f"if {length.text} == 0"):
        emit.write(f"{length.text} = {emit.constants.of(1.0, node.type.scalar).text}")
    return Value(
        node.type,
        lambda place: infix("/", Level.PRODUCT, vector.at(place), length),
        vector.is_split,
    )


def _cross(emit: Emitter, node: Operation) -> Value:
    a, b = (emit.named(emit.value(operand)) for operand in node.operands)
    type_ = Type(node.type.scalar)

    def at(place: Place) -> Code:
        i, j = ((1, 2), (2, 0), (0, 1))[int(place)]
        minuend = product_of(type_, a.at(i), b.at(j))
        subtrahend = product_of(type_, a.at(j), b.at(i))
        return difference_of(type_, minuend, subtrahend)

    return Value(node.type, at)


def _matrix_product(emit: Emitter, node: Operation) -> Value:
    """Each element from left to right; large ones in three loops over working memory."""
    left, right = (emit.named(emit.value(operand)) for operand in node.operands)
    inner = node.operands[0].type.shape[-1]
    columns = 1 if len(right.type.shape) == 1 else right.type.shape[1]
    type_ = Type(node.type.scalar)
    if max(emit.count(one.type) for one in (left, right)) <= UNROLLED >= node.type.elements:

        def at(place: Place) -> Code:
            row, column = divmod(int(place), columns)
            return _sum_of_products(
                emit,
                type_,
                inner,
                lambda k: (left.at(row * inner + int(k)), right.at(int(k) * columns + column)),
            )

        return Value(node.type, at)
    return _large_product(emit, node, left, right)


def _large_product(emit: Emitter, node: Operation, left: Value, right: Value) -> Value:
    inner, columns = node.operands[0].type.shape[-1], right.type.elements // right.type.shape[0]
    left, right = emit.indexable(left), emit.indexable(right)
    type_ = Type(node.type.scalar)
    product = emit.memory(node.type, "product", "_product")
    row, column = emit.names.take("r", "_r"), emit.names.take("c", "_c")
    with (
        emit.block(f"for {row} in range({node.type.elements // columns})"),
        emit.block(f"for {column} in range({columns})"),
    ):

        def pair(k: Place) -> tuple[Code, Code]:
            start = columns * k if isinstance(k, int) else f"{columns} * {k}"
            return left.at(f"{inner} * {row} + {k}"), right.at(f"{start} + {column}")

        total = _sum_of_products(emit, type_, inner, pair)
        target = product.at(f"{columns} * {row} + {column}").text
        emit.write(f"{target} = {cut(total, type_.scalar).text}")
    emit.names.taken -= {row, column}
    return product


COMPOSERS: Final[dict[str, Composer]] = {
    "dot": _dot,
    "norm": _norm,
    "normalize": _normalize,
    "cross": _cross,
    "@": _matrix_product,
}
