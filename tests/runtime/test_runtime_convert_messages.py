"""What must not be accepted, and what the errors say."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.errors import shown
from ecsgen_runtime.field_types import (
    BoolField,
    BytesField,
    Field,
    FloatField,
    HandleField,
    IntField,
    TextField,
)


class Colour(Enum):
    RED = 1


MASS = FloatField("PointMass.mass", "f32")
POSITION = FloatField("PointMass.position", "f32", (3,))
HP = IntField("Health.hp", "u8")
TARGET = HandleField("Ai.target", "entity")
ICON = HandleField("Ai.icon", "id<Icon>")
ALIVE = BoolField("Ai.alive")
LABEL = TextField("PointMass.label", 4)
RAW = BytesField("Blob.raw", 4)


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        (MASS, 1e40, OverflowError, "PointMass.mass: 1e+40 does not fit into f32"),
        (MASS, True, TypeError, "PointMass.mass: wanted f32, not True (bool)"),
        (MASS, "1", TypeError, "PointMass.mass: wanted f32, not '1' (str)"),
        (MASS, [1.0], ValueError, "PointMass.mass: wanted one f32, not [1.0]"),
        (HP, 300, OverflowError, "Health.hp: 300 does not fit into u8"),
        (HP, 3.0, TypeError, "Health.hp: wanted u8, not 3.0 (float)"),
        (HP, Colour.RED, TypeError, "Health.hp: wanted u8, not <Colour.RED: 1> (Colour)"),
        (TARGET, -1, OverflowError, "Ai.target: wanted entity, not -1"),
        (TARGET, None, TypeError, "Ai.target: wanted entity, not None (NoneType)"),
        (ICON, "a", TypeError, "Ai.icon: wanted id<Icon>, not 'a' (str)"),
        (ICON, [1], ValueError, "Ai.icon: wanted one id<Icon>, not [1]"),
        (ALIVE, 1, TypeError, "Ai.alive: wanted bool, not 1 (int)"),
        (LABEL, b"ab", TypeError, "PointMass.label: wanted str[4], not b'ab' (bytes)"),
        (
            LABEL,
            "abcde",
            ValueError,
            "PointMass.label: 'abcde' takes 5 bytes of UTF-8, wanted str[4]",
        ),
        (LABEL, "a\0", ValueError, r"PointMass.label: 'a\x00' has a NUL, wanted str[4]"),
        (LABEL, "\ud800", ValueError, r"PointMass.label: '\ud800' is not valid UTF-8"),
        (RAW, "ab", TypeError, "Blob.raw: wanted bytes[4], not 'ab' (str)"),
        (RAW, b"abcde", ValueError, "Blob.raw: b'abcde' has 5 bytes, wanted bytes[4]"),
        (POSITION, 1.0, ValueError, "PointMass.position: wanted shape (3,), not 1.0"),
        (POSITION, (1, 2), ValueError, "PointMass.position: wanted shape (3,), not (2,)"),
    ],
)
def test_one(field: Field, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        field.one(value)
    assert str(caught.value) == message
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        (MASS, [0.0, 1e40], OverflowError, "1e+40 does not fit into f32 (at position 1)"),
        (
            MASS,
            np.array([0.0, -1e40]),
            OverflowError,
            "-1e+40 does not fit into f32 (at position 1)",
        ),
        (MASS, [1, True], TypeError, "wanted f32, not True (bool) (at position 1)"),
        (MASS, [True, 2], TypeError, "wanted f32, not True (bool) (at position 0)"),
        (MASS, np.array([1, True], object), TypeError, "not True (bool) (at position 1)"),
        (MASS, np.array([True, True]), TypeError, "wanted f32, not an array of bool"),
        (MASS, np.array([1j, 1]), TypeError, "wanted f32, not an array of complex128"),
        (MASS, np.array(["2020"] * 2, "M8[s]"), TypeError, "not an array of datetime64[s]"),
        (MASS, [np.datetime64("2020")] * 2, TypeError, "wanted f32, not np.datetime64('2020')"),
        (MASS, np.zeros(2, "f4,f4"), TypeError, "wanted f32, not an array of [('f0', '<f4')"),
        (MASS, np.ma.array([1.0, 2.0], mask=[False, True]), TypeError, "not masked elements"),
        (MASS, [np.ma.masked, 1.0], TypeError, "not masked elements"),
        (MASS, [1.0, None], TypeError, "wanted f32, not None (NoneType) (at position 1)"),
        (MASS, ["1", "2"], TypeError, "wanted f32, not '1' (str) (at position 0)"),
        (MASS, {0: 1.0, 1: 2.0}, TypeError, "wanted f32, not {0: 1.0, 1: 2.0} (dict)"),
        (MASS, iter([1.0, 2.0]), TypeError, "wanted f32, not <list_iterator"),
        (HP, [1, 2.0], TypeError, "wanted u8, not 2.0 (float) (at position 1)"),
        (HP, [1.0, 2.0], TypeError, "wanted u8, not an array of float64"),
        (HP, np.array([1, 256]), OverflowError, "256 does not fit into u8 (at position 1)"),
        (
            HP,
            [2**64, 1],
            OverflowError,
            "18446744073709551616 does not fit into u8 (at position 0)",
        ),
        (TARGET, [2**63, -1], OverflowError, "wanted entity, not -1 (at position 1)"),
        (TARGET, [5, None], TypeError, "wanted entity, not None (NoneType) (at position 1)"),
        (ICON, np.array([1.0, 2.0]), TypeError, "wanted id<Icon>, not an array of float64"),
        (ALIVE, [True, 1], TypeError, "wanted bool, not 1 (int) (at position 1)"),
        (ALIVE, np.array([0, 1]), TypeError, "wanted bool, not an array of int64"),
        (LABEL, ["a", b"b"], TypeError, "wanted str[4], not b'b' (bytes) (at position 1)"),
        (LABEL, [1, 2], TypeError, "wanted str[4], not an array of int64"),
        (RAW, [b"a", "b"], TypeError, "wanted bytes[4], not 'b' (str) (at position 1)"),
        (RAW, np.array(["a", "b"]), TypeError, "wanted bytes[4], not an array of <U1"),
        (POSITION, [[1, 2, 3]] * 3, ValueError, "wanted shape (2, 3), not (3, 3)"),
        (POSITION, [[[1, 2, 3]]], ValueError, "wanted shape (rows, 3), not [[1, 2, 3]]"),
        (POSITION, [[1, 2, 3], [1, 2]], ValueError, "wanted shape (rows, 3), not rows that differ"),
        (POSITION, [[1, 2, 3], [4, 5, 1e39]], OverflowError, "fit into f32 (at position (1, 2))"),
    ],
)
def test_many(field: Field, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        field.many(value, 2)
    assert str(caught.value).startswith(f"{field.name}: ")
    assert message in str(caught.value)
    assert type(caught.value) is error


def test_integers_too_long_to_print() -> None:
    for field in (HP, MASS):
        for convert in (field.one, lambda v, f=field: f.many([v], 1)):
            with pytest.raises(OverflowError, match=rf"^{field.name}: <int> does not fit into "):
                convert(10**5000)


def test_a_users_own_errors_pass() -> None:
    class Faulty:
        def __index__(self) -> int:
            raise RuntimeError("mine")

    for field in (HP, MASS):
        for convert in (field.one, lambda v, f=field: f.many([1, v], 2)):
            with pytest.raises(RuntimeError, match="mine"):
                convert(Faulty())


def test_numpys_own_error_state_does_not_matter() -> None:
    with np.errstate(all="raise"):
        assert MASS.many(np.array([1e-300, np.inf, np.nan]), 3)[0] == 0
        assert MASS.one(np.longdouble("1e-300")) == 0
        with pytest.raises(OverflowError):
            MASS.many(np.array([1e300]), 1)


def test_values_are_shown_short() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise RuntimeError

    for value in ("x" * 500, [1.5] * 10**6, np.zeros(10**6), 10**200, 10**5000, Loud(), [Loud()]):
        text = shown(value)
        assert 0 < len(text) <= 80
        assert "\n" not in text
