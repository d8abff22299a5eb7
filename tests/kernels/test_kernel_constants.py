"""Numbers in numpy kernels: arrays of the type that they meet, if that type has the number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ecsgen.model.types import SCALARS
from ecsgen.render.blocks.array_values import Constants, Layout, Value


def column(scalar: str) -> Value:
    return Value("x", scalar, (), Layout.ROWS)


def number(text: str, scalar: str = "i32") -> Value:
    return Value(text, scalar, (), Layout.UNIFORM, is_literal=True)


def spelled(scalar: str, text: str) -> tuple[str, list[str]]:
    constants = Constants()
    return constants.spelled([column(scalar), number(text)])[1], constants.lines


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        *(("u8", "255"), ("i8", "-128"), ("u64", "18446744073709551615"), ("f32", "3")),
        *(("f32", "0.1"), ("f64", "-2.5"), ("f64", "1e-30"), ("f32", "1.5e+20")),
    ],
)
def test_a_number_that_fits_is_a_constant(scalar: str, text: str) -> None:
    name, lines = spelled(scalar, text)
    found: dict[str, Any] = {}
    exec("\n".join(lines).replace(": Final", ""), {"np": np}, found)
    array = found[name]
    assert (array.dtype, array.shape) == (np.dtype(SCALARS[scalar].code), ())
    python = float(text) if SCALARS[scalar].kind == "f" else int(text)
    weak = np.add(np.zeros(1, array.dtype), python)
    assert weak.dtype == array.dtype
    assert weak[0] == array


@pytest.mark.parametrize(
    ("scalar", "text"),
    [
        *(
            ("u8", "256"),
            ("u8", "-1"),
            ("i32", "0.5"),
            ("f32", "1e39"),
            ("f32", "9007199254740993"),
        ),
        *(("f64", 'float("inf")'), ("bool", "True"), ("bool", "1")),
    ],
)
def test_other_numbers_stay_as_they_are(scalar: str, text: str) -> None:
    assert spelled(scalar, text) == (text, [])


def test_names_tell_numbers_and_types_apart() -> None:
    constants = Constants()
    texts = ("1", "-1", "1.0", "10", "1e10", "1e-10", "-1e-10", "1.5", "15.0", "1.05")
    names = [constants.spelled([column(s), number(t)])[1] for s in ("f32", "f64") for t in texts]
    assert len(set(names)) == len(names) == len(constants.lines)
    assert all(name.isidentifier() and name[1].isdigit() for name in names)


def test_operands_of_two_types_are_left_to_numpy() -> None:
    given = [column("u8"), column("i32"), number("1")]
    assert Constants().spelled(given) == ["x", "x", "1"]
