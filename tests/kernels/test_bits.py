"""Bits of integers in kernels, against Python's integers, in blocks and in loops;
`interpreted/bits.yaml` has those of flags."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_testing.reference.values import dtype_of

from ecsgen.config import BACKENDS
from ecsgen.model.types import SCALARS, promote
from tests.support.world_package import world_package

PAIRS = [
    *((scalar, scalar) for scalar in ("i8", "i32", "i64", "u8", "u32", "u64")),
    *(("u8", "i8"), ("i16", "u32"), ("u16", "u64"), ("i64", "u32")),
]
OPERATORS = {"and": "&", "or": "|", "xor": "^", "up": "<<", "down": ">>"}
SHIFTS = (0, 1, 3, 7, 8, 15, 16, 31, 32, 63, 64, 100, -1, -8)
MIXED = "(~a & 3 | b << 1) + 1 ^ (a >> 2) * 2 - ~b"
NUMBERS = (0, 1, 2, 5, 127, 128, 255, 40_000, 2**31, 2**32 - 1, 2**63 - 1, 2**63, -1, -2, -128)


def _both(name: str, steps: str) -> str:
    """Return a kernel, and the same one in a loop."""
    loop = "".join(f"        {line}\n" for line in steps.split("\n"))
    flat = "".join(f"      {line}\n" for line in steps.split("\n"))
    return (
        f"  {name}:\n    steps: |\n{flat}"
        f"  {name}_looped:\n    steps: |\n      for i in range(1):\n{loop}"
    )


def _component(left: str, right: str) -> str:
    """Return a component with all operations of two types."""
    common = promote(left, right)
    text = f"component: C{left.upper()}{right.upper()}\nfields:\n"
    text += f"  a: {left}\n  b: {right}\n  inverse: {common}\n  mixed: {common}\n"
    text += f"  pairs: '{left}[2]'\n"
    steps = [f"inverse = {common}(~a)", f"pairs = ~vec(a, {left}(b))", f"mixed = {MIXED}"]
    for name, sign in OPERATORS.items():
        text += f"  {name}_: {common}\n  cut_{name}: {left}\n  changed_{name}: {common}\n"
        steps += [f"{name}_ = a {sign} b", f"cut_{name} = {left}((a {sign} b) {sign} b)"]
        steps += [f"changed_{name} = {common}(a)", f"changed_{name} {sign}= b"]
    return text + "kernels:\n" + _both("work", "\n".join(steps))


SCHEMA = "world: Game\n---\n" + "---\n".join(_component(*pair) for pair in PAIRS)


def _cut(value: int, scalar: str) -> int:
    """Return an integer as a type has it."""
    kind = SCALARS[scalar]
    size: int = 2**kind.bits
    low = value % size
    return low - size if kind.kind == "i" and 2 * low >= size else low


def _shifted(a: int, sign: str, n: int, scalar: str) -> int:
    if 0 <= n < SCALARS[scalar].bits:
        return _cut(a << n if sign == "<<" else a >> n, scalar)
    return -1 if sign == ">>" and a < 0 else 0


def _applied(a: int, sign: str, b: int, scalar: str) -> int:
    """Return the operation of two numbers of one type."""
    a, b = _cut(a, scalar), _cut(b, scalar)
    if sign in ("<<", ">>"):
        return _shifted(a, sign, b, scalar)
    results: dict[str, int] = {"&": a & b, "|": a | b, "^": a ^ b}
    return _cut(results[sign], scalar)


def _mixed(a: int, b: int, left: str, right: str) -> int:
    scalar = promote(left, right)
    low = _applied(_cut(~a, left), "&", 3, left) | _applied(b, "<<", 1, right)
    other = _cut(_shifted(a, ">>", 2, left) * 2, left) - _cut(~b, right)
    return _cut(_cut(low + 1, scalar) ^ _cut(other, scalar), scalar)


@pytest.fixture(scope="module", params=BACKENDS)
def game(request: pytest.FixtureRequest) -> Any:
    backend = request.param
    return world_package(SCHEMA, f"bit_operations_{backend}", backend)


@pytest.mark.parametrize("form", ["", "_looped"])
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_integers_have_the_bits_of_pythons(game: Any, left: str, right: str, form: str) -> None:
    entities = game.EntityManager()
    manager = getattr(game, f"C{left.upper()}{right.upper()}Manager")(entities)
    pairs = [(_cut(a, left), _cut(b, right)) for a in NUMBERS for b in (*NUMBERS, *SHIFTS)]
    manager.create_many(entities.create_many(len(pairs)))
    data, common = manager.data, promote(left, right)
    data.a[...] = np.array([a for a, _ in pairs], dtype_of(left))
    data.b[...] = np.array([b for _, b in pairs], dtype_of(right))
    getattr(manager, f"work{form}")()
    for name, sign in OPERATORS.items():
        wanted = [_applied(a, sign, b, common) for a, b in pairs]
        assert getattr(data, f"{name}_").tolist() == wanted
        assert getattr(data, f"changed_{name}").tolist() == wanted
        again = [_applied(a, sign, b, common) for a, (_, b) in zip(wanted, pairs, strict=True)]
        assert getattr(data, f"cut_{name}").tolist() == [_cut(a, left) for a in again]
    assert data.inverse.tolist() == [_cut(_cut(~a, left), common) for a, _ in pairs]
    assert data.pairs.tolist() == [[_cut(~a, left), _cut(~b, left)] for a, b in pairs]
    assert data.mixed.tolist() == [_mixed(a, b, left, right) for a, b in pairs]
