"""Enums and flags."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.field_types import EnumField
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.soak import examples


class Mode(IntEnum):
    IDLE = 0
    WALK = 1
    RUN = 2


class Gap(IntEnum):
    FIRST = 0
    THIRD = 2


class Sparse(IntEnum):
    LOW = 3
    MIDDLE = 70
    HIGH = 2**63 + 1
    TOP = HIGH


class Traits(IntFlag):
    FLIES = 1
    SWIMS = 2
    BURNS = 16
    BOTH = 3


class Other(IntEnum):
    IDLE = 0


FIELDS = [
    EnumField("C.f", Mode, "u8"),
    EnumField("C.f", Sparse, "u64"),
    EnumField("C.f", Traits, "u8"),
    EnumField("C.f", Gap, "u8"),
]
ENUMS: list[type[IntEnum] | type[IntFlag]] = [Mode, Sparse, Traits, Gap]

WHOLE = (int, np.integer)

values = st.one_of(
    st.integers(-2, 80),
    st.sampled_from([*Mode, *Sparse, *Traits, Traits.BOTH, Traits(0), Traits(4), Other.IDLE]),
    st.sampled_from([2**63 + 1, 2**63, 2**64, 2**64 + 3, -(2**63), 10**5000, 256, 259]),
    st.sampled_from(
        [True, np.True_, 1.0, np.float64(1), None, "IDLE", np.timedelta64(1, "s"), Mode]
    ),
    st.integers(-2, 20).map(np.int8),
    st.integers(0, 80).map(np.uint64),
    st.integers(0, 80).map(np.array),
)


def oracle(which: int, value: Any) -> int | type:
    enum = ENUMS[which]
    if isinstance(value, np.ndarray):
        value = int(value)
    if isinstance(value, bool | np.bool_ | np.timedelta64) or not isinstance(value, WHOLE):
        return TypeError
    if isinstance(value, IntEnum | IntFlag) and type(value) is not enum:
        return TypeError
    if enum is Traits:
        return (
            int(value) if value >= 0 and all(bit in "0" for bit in _outside(value)) else ValueError
        )
    return int(value) if int(value) in [member.value for member in enum] else ValueError


def _outside(number: Any) -> str:
    """The binary digits of a number that no trait stands for."""
    digits = f"{int(number):b}" if abs(number) < 2**70 else "1" * 20
    return "".join(bit for place, bit in enumerate(reversed(digits)) if place not in (0, 1, 4))


@settings(deadline=None, max_examples=examples(300))
@given(st.sampled_from(range(4)), values)
@example(2, Traits.BOTH | Traits.BURNS)
@example(0, Mode)
def test_members_and_their_numbers(which: int, value: Any) -> None:
    field = FIELDS[which]
    wanted = ValueError if value is Mode else oracle(which, value)
    if isinstance(wanted, type):
        for convert in (field.one, lambda v: field.many([v], 1)):
            with pytest.raises(wanted, match=r"^C\.f: ") as caught:
                convert(value)
            assert type(caught.value) is wanted
        return
    cell = field.one(value)
    assert type(cell) is int
    assert cell == wanted
    array = field.many([value], 1)
    assert array.dtype == field.dtype
    assert array.tolist() == [wanted]


@settings(deadline=None, max_examples=examples(200))
@given(
    st.sampled_from(range(4)),
    st.one_of(hnp.integer_dtypes(endianness="?"), hnp.unsigned_integer_dtypes(endianness="?")),
    st.data(),
)
def test_arrays_of_numbers(which: int, dtype: np.dtype[Any], data: st.DataObject) -> None:
    info = np.iinfo(dtype)
    numbers = st.sampled_from([0, 1, 2, 3, 16, 19, 70, 2**63 + 1])
    fitting = numbers.filter(lambda n: n <= info.max)
    anything = st.integers(int(info.min), int(info.max))
    elements = data.draw(st.sampled_from([fitting, st.one_of(fitting, anything)]))
    array = data.draw(hnp.arrays(dtype, st.integers(0, 4), elements=elements))
    each = [oracle(which, int(number)) for number in array]
    if ValueError in each:
        with pytest.raises(ValueError, match=rf"\(at position {each.index(ValueError)}\)$"):
            FIELDS[which].many(array, len(array))
    else:
        got = FIELDS[which].many(array, len(array))
        assert got.dtype == FIELDS[which].dtype
        assert got.tolist() == each


def test_a_gap_is_no_member() -> None:
    for array in (np.array([2, 1]), np.array([2, 1], np.uint8), [2, 1]):
        with pytest.raises(ValueError, match=r"^C\.f: 1 is no member of Gap \(at position 1\)$"):
            FIELDS[3].many(array, 2)


def test_shaped_and_in_bulk() -> None:
    field = EnumField("C.f", Mode, "u8", (2,))
    assert field.one((Mode.RUN, 1)) == (2, 1)
    assert list(map(type, field.one([Mode.RUN, Mode.IDLE]))) == [int, int]
    assert field.many(Mode.RUN, 4).tolist() == 2
    assert field.many([[Mode.RUN, 0], [1, Mode.IDLE]], 2).tolist() == [[2, 0], [1, 0]]
    with pytest.raises(
        ValueError, match=r"^C\.f: 7 is no member of Mode \(at position \(1, 0\)\)$"
    ):
        field.many([[0, 0], [7, 0]], 2)
    with pytest.raises(TypeError, match=r"^C\.f: wanted Mode, not an array of bool"):
        field.many(np.ones((2, 2), bool), 2)
    with pytest.raises(TypeError, match=r"^C\.f: wanted Mode, not an array of float64"):
        field.many([[0.0, 1.0]], 1)
