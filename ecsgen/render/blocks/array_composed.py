"""Operations that take several ufuncs: choices, and what vectors and matrices need."""

from __future__ import annotations

from typing import Final

from ecsgen.model.programs import FieldValue, Local, Operation, walk
from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.array_values import Layout, Shape, Value
from ecsgen.render.blocks.expressions import Composer, Emitter


def _choice(emit: Emitter, node: Operation, target: Value | None) -> Value:
    """`a if c else b`: b, over which a is written where c is true."""
    test, then, otherwise = (emit.value(operand) for operand in node.operands)
    scalar, shape = node.type.scalar, node.type.shape
    if test.is_uniform and then.is_uniform and otherwise.is_uniform:
        texts = [one.text if not one.is_literal else _strong(one) for one in (then, otherwise)]
        return emit.uniform(f"np.where({', '.join([test.text, *texts])})", scalar, shape)
    if target is not None and otherwise.text == target.text and target.scalar == scalar:
        out = target.held
    else:
        out = emit.copied(otherwise, scalar, shape, emit.layout(node))
    emit.run("put_where", out.text, test.text, then.text)
    emit.working.give_back(test, then)
    return out


def _strong(value: Value) -> str:
    return f"{SCALARS[value.scalar].numpy}({value.text})"


def _sum_of_products(emit: Emitter, pairs: list[tuple[str, str]], out: Value) -> None:
    """From left to right, each product and each sum rounded."""
    first, *others = pairs
    emit.run("np.multiply", *first, f"out={out.text}")
    if not others:
        return
    product = emit.working.take(out.scalar, out.shape, out.layout)
    for pair in others:
        emit.run("np.multiply", *pair, f"out={product.text}")
        emit.write(f"{out.text} += {product.text}")
    emit.working.give_back(product)


def _result(emit: Emitter, node: Operation, target: Value | None) -> Value:
    """Where a result goes that is written while the operands are still read."""
    type_ = node.type
    layout = Layout.PLANES if type_.shape else Layout.ROWS
    if target is not None and (target.scalar, target.shape) == (type_.scalar, type_.shape):
        name = target.text.partition("[")[0]
        named = (emit.value(one).text for one in walk(node) if isinstance(one, FieldValue | Local))
        if target.layout is layout and name not in {text.partition("[")[0] for text in named}:
            return target.held
    return emit.working.take(type_.scalar, type_.shape, layout)


def _dot(emit: Emitter, node: Operation, target: Value | None) -> Value:
    left, right = (emit.value(operand) for operand in node.operands)
    out = _result(emit, node, target)
    places = range(node.operands[0].type.shape[0])
    _sum_of_products(emit, [(left.element(i), right.element(i)) for i in places], out)
    emit.working.give_back(left, right)
    return out


def _length(emit: Emitter, vector: Value, out: Value) -> Value:
    places = range(vector.shape[0])
    _sum_of_products(emit, [(vector.element(i), vector.element(i)) for i in places], out)
    emit.run("np.sqrt", out.text, f"out={out.text}")
    return out


def _norm(emit: Emitter, node: Operation, target: Value | None) -> Value:
    vector = emit.value(node.operands[0])
    out = _length(emit, vector, _result(emit, node, target))
    emit.working.give_back(vector)
    return out


def _normalize(emit: Emitter, node: Operation, target: Value | None) -> Value:
    vector = emit.value(node.operands[0])
    length = emit.working.take(vector.scalar, (), Layout.ROWS)
    _length(emit, vector, length)
    emit.run("np.putmask", length.text, f"{length.text} == 0", "1")
    out = emit.place(node.type.scalar, node.type.shape, Layout.PLANES, (vector,), target)
    emit.run("np.divide", vector.text, length.text, f"out={out.text}")
    emit.working.give_back(length, *((vector,) if vector.slot != out.slot else ()))
    return out


def _cross(emit: Emitter, node: Operation, target: Value | None) -> Value:
    left, right = (emit.value(operand) for operand in node.operands)
    out = _result(emit, node, target)
    product = emit.working.take(node.type.scalar, (), Layout.ROWS)
    for place, (one, other) in enumerate(((1, 2), (2, 0), (0, 1))):
        element = out.element(place)
        emit.run("np.multiply", left.element(one), right.element(other), f"out={element}")
        emit.run("np.multiply", left.element(other), right.element(one), f"out={product.text}")
        emit.run("np.subtract", element, product.text, f"out={element}")
    emit.working.give_back(left, right, product)
    return out


def _matrix(emit: Emitter, node: Operation, target: Value | None) -> Value:
    """Columns of the left side times rows of the right one: few calls on many numbers."""
    left, right = (emit.value(operand) for operand in node.operands)
    one, other = left.shape, right.shape
    inner = one[-1]
    # What is read more than once is worth laying out in planes.
    left = _in_planes(emit, left, len(other) > 1 and other[1] > 1)
    right = _in_planes(emit, right, len(one) > 1 and one[0] > 1)
    out = _result(emit, node, target)
    pairs = [(_column(left, other, k), right.element(k)) for k in range(inner)]
    _sum_of_products(emit, pairs, out)
    emit.working.give_back(left, right)
    return out


def _column(left: Value, other: Shape, k: int) -> str:
    """Column k of the left side, so that it meets every element of the right side's row k."""
    if len(left.shape) == 1:
        return left.element(k)
    return f"{left.text}[:, {k}, None]" if len(other) > 1 else f"{left.text}[:, {k}]"


def _in_planes(emit: Emitter, value: Value, is_reused: bool) -> Value:
    if value.layout is Layout.TOGETHER and is_reused:
        return emit.copied(value, value.scalar, value.shape, Layout.PLANES)
    return value


COMPOSED: Final[dict[str, Composer]] = {
    "if": _choice,
    "dot": _dot,
    "norm": _norm,
    "normalize": _normalize,
    "cross": _cross,
    "@": _matrix,
}
