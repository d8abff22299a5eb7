"""Cells from values of users: numbers and enums."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable
from decimal import Decimal
from enum import IntEnum, IntFlag
from fractions import Fraction
from math import isinf, isnan
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.values.field_types import (
    BoolField,
    EnumField,
    Field,
    FloatField,
    HandleField,
    IntField,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.soak import examples

ERRORS = (TypeError, ValueError, OverflowError)
FORMATS = {"bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "q"}
FORMATS |= {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f32": "f", "f64": "d"}
INTS = [scalar for scalar in FORMATS if scalar[0] in "iu"]
BIG = int(np.finfo(np.float32).max)
HALF = 2**103  # half the distance between the largest numbers of 32 bits


def bits(scalar: str) -> int:
    return int(scalar[1:])


class Whole:
    """A user's integer."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class Real:
    """A user's real number."""

    def __init__(self, value: float) -> None:
        self.value = value

    def __float__(self) -> float:
        return self.value


near_edges = st.builds(
    lambda power, sign, offset: sign * 2**power + offset,
    st.integers(0, 130),
    st.sampled_from([1, -1]),
    st.integers(-2, 2),
)
numpy_numbers = hnp.scalar_dtypes().flatmap(hnp.from_dtype)
numbers = st.one_of(
    st.booleans(),
    st.integers(-300, 300),
    near_edges,
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.fractions(),
    st.decimals(allow_nan=None).filter(lambda d: not d.is_snan()),
    near_edges.map(lambda n: Fraction(n, 3)),
    numpy_numbers,
    numpy_numbers.map(np.array),
    near_edges.map(Whole),
    st.floats().map(Real),
    st.sampled_from([None, "1", b"1", 1j, {}, {1}, BIG + HALF, BIG + HALF - 1, BIG + 1, 10**400]),
)


def plain(value: Any) -> Any:
    """Return the element of a 0-d array."""
    return value[()] if isinstance(value, np.ndarray) else value


def bool_oracle(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TypeError


def int_oracle(scalar: str, value: Any) -> int:
    if isinstance(value, bool | np.bool_):
        raise TypeError
    number = operator.index(value)
    low = -(2 ** (bits(scalar) - 1)) if scalar[0] == "i" else 0
    if not low <= number < low + 2 ** bits(scalar):
        raise OverflowError
    return number


def float_oracle(scalar: str, value: Any) -> float:
    """Round the exact value to the nearest float, ties to even, by looking at the neighbours."""
    if isinstance(value, Whole):
        value = value.value
    if isinstance(value, Real):
        value = value.value
    wanted = (int, float, Fraction, Decimal, np.integer, np.floating)
    if not isinstance(value, wanted) or isinstance(value, bool | np.timedelta64):
        raise TypeError
    if value != value or value in (float("inf"), -float("inf")):
        return float(value)
    exact = Fraction(*value.as_integer_ratio()) if hasattr(value, "as_integer_ratio") else value
    exact = Fraction(int(exact)) if isinstance(exact, np.integer) else Fraction(exact)
    digits, lowest = (24, -149) if scalar == "f32" else (53, -1074)
    size = abs(exact)
    exponent = lowest
    while size >= Fraction(2) ** (exponent + digits):
        exponent += 1
    rounded = round(size / Fraction(2) ** exponent) * Fraction(2) ** exponent
    if rounded >= 2 ** (128 if scalar == "f32" else 1024):
        raise OverflowError
    return float(rounded) * (-1 if exact < 0 else 1)


def outcome(convert: Callable[[Any], Any], value: Any) -> Any:
    """The result, or the class of the error."""
    try:
        return convert(value)
    except ERRORS as error:
        return next(
            kind for kind in (OverflowError, TypeError, ValueError) if isinstance(error, kind)
        )


def same(left: Any, right: Any) -> bool:
    if isinstance(left, type) or isinstance(right, type):
        return left is right
    if isinstance(left, float) and isnan(left):
        return isnan(right)
    return bool(left == right)


def stored(scalar: str, value: Any) -> Any:
    """Return a cell of the format, read back through a memoryview and through a struct."""
    code = FORMATS[scalar]
    raw: Any = memoryview(bytearray(struct.calcsize(f"={code}")))
    cells = raw.cast(code)
    cells[0] = value
    packed = struct.Struct(f"={code}")
    buffer = bytearray(packed.size)
    packed.pack_into(buffer, 0, value)
    assert bytes(cells) == bytes(buffer)
    return cells[0]


def oracle_of(scalar: str, value: Any) -> Any:
    if scalar == "bool":
        return bool_oracle(value)
    return (float_oracle if scalar[0] == "f" else int_oracle)(scalar, value)


FIELDS: dict[str, Field] = {"bool": BoolField("C.f"), "entity": HandleField("C.f", "entity")}
FIELDS |= {scalar: FloatField("C.f", scalar) for scalar in ("f32", "f64")}
FIELDS |= {scalar: IntField("C.f", scalar) for scalar in INTS}


@settings(deadline=None, max_examples=examples(600))
@given(st.sampled_from([*FIELDS]), numbers)
@example("f32", BIG + HALF)
@example("f32", BIG + HALF - 1)
@example("f32", float(BIG + HALF))
@example("f32", np.nextafter(float(BIG + HALF), 0))
@example("f32", 2**54 + 2**30 + 1)  # rounded twice it would end one lower
@example("f32", np.int64(2**54 + 2**30 + 1))
@example("f32", Fraction(2**54 + 2**30 + 1, 2**60))
@example("f64", Decimal("1e400"))
@example("f64", Fraction(10**400))
def test_a_number_fits_or_is_refused(name: str, value: Any) -> None:
    """Alone and in a list; handles are integers of 64 bits."""
    field, scalar = FIELDS[name], "u64" if name == "entity" else name
    wanted = outcome(lambda v: oracle_of(scalar, v), plain(value))
    got = outcome(field.to_cell, value)
    if not isinstance(wanted, type):
        assert type(got) is type(wanted), (value, got)
        got = stored(scalar, got)
    assert same(got, wanted), (value, got, wanted)
    in_bulk = outcome(lambda v: field.to_column([v], 1), value)
    if isinstance(in_bulk, np.ndarray):
        assert in_bulk.dtype == field.dtype
        assert in_bulk.shape == (1,)
        in_bulk = in_bulk[0].item()
    assert same(in_bulk, wanted), (value, in_bulk, wanted)


@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_long_doubles(scalar: str) -> None:
    field = FloatField("C.f", scalar)
    third = np.longdouble(1) / 3
    assert stored(scalar, field.to_cell(third)) == field.to_column(np.array([third]), 1)[0]
    assert isinf(field.to_cell(np.longdouble("inf")))
    if np.finfo(np.longdouble).max > np.finfo(np.float64).max:
        huge = np.longdouble("1e400")
        for given_as in (field.to_cell, lambda v: field.to_column(np.array([v]), 1)):
            with pytest.raises(OverflowError, match=r"C\.f: .*1e\+400.* does not fit"):
                given_as(huge)


@pytest.mark.parametrize("scalar", INTS)
@pytest.mark.parametrize("given_as", INTS)
def test_edges_of_integer_arrays(scalar: str, given_as: str) -> None:
    field = IntField("C.f", scalar)
    info = np.iinfo(f"{given_as[0]}{bits(given_as) // 8}")
    for number in (int(info.min), int(info.max)):
        for dtype in (info.dtype, info.dtype.newbyteorder()):
            array = np.array([0, number], dtype)
            wanted = outcome(lambda v: int_oracle(scalar, v), number)
            if isinstance(wanted, type):
                with pytest.raises(OverflowError, match=r"\(at position 1\)$"):
                    field.to_column(array, 2)
            else:
                assert field.to_column(array, 2).tolist() == [0, number]


sizes = hnp.array_shapes(min_dims=1, max_dims=1, min_side=0, max_side=5)
array_dtypes = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(),
    hnp.datetime64_dtypes(),
    hnp.byte_string_dtypes(max_len=2),
)


@settings(deadline=None, max_examples=examples(250))
@given(st.sampled_from([*FIELDS.values()]), hnp.arrays(array_dtypes, sizes))
def test_an_array_is_its_elements(field: Field, array: np.ndarray[Any, Any]) -> None:
    before = array.copy()
    converted = outcome(lambda v: field.to_column(v, len(array)), array)
    each = [outcome(field.to_cell, element) for element in array]
    if any(isinstance(element, type) for element in each):
        assert converted in each
    elif isinstance(converted, type):  # no element to be wrong, but a dtype
        assert len(array) == 0
        assert converted is TypeError
    else:
        assert converted.dtype == field.dtype
        assert converted.tobytes() == np.array(each, field.dtype).tobytes() or np.isnan(each).any()
    assert array.tobytes() == before.tobytes()


@settings(deadline=None, max_examples=examples(200))
@given(st.sampled_from([*FIELDS.values()]), st.lists(numbers, max_size=4))
def test_a_list_is_its_elements(field: Field, values: list[Any]) -> None:
    converted = outcome(lambda v: field.to_column(v, len(values)), values)
    each = [outcome(field.to_cell, value) for value in values]
    bad = [result for result in each if isinstance(result, type)]
    if bad:
        assert converted in bad
    else:
        assert converted.shape == (len(values),)
        for got, wanted in zip(converted, each, strict=True):
            assert same(got.item(), np.array(wanted, field.dtype).item())


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


ENUMS_FIELDS = [
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
        [True, np.True_, 1.0, np.float64(1), None, "IDLE", "BURNS", np.timedelta64(1, "s"), Mode]
    ),
    st.integers(-2, 20).map(np.int8),
    st.integers(0, 80).map(np.uint64),
    st.integers(0, 80).map(np.array),
)


def oracle(which: int, value: Any) -> int | type:
    enum = ENUMS[which]
    if isinstance(value, np.ndarray):
        value = int(value)
    if isinstance(value, str):
        return int(enum[value]) if value in enum.__members__ else ValueError
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
    return "".join(bit for index, bit in enumerate(reversed(digits)) if index not in (0, 1, 4))


@settings(deadline=None, max_examples=examples(300))
@given(st.sampled_from(range(4)), values)
@example(2, Traits.BOTH | Traits.BURNS)
@example(0, Mode)
def test_members_and_their_numbers(which: int, value: Any) -> None:
    field = ENUMS_FIELDS[which]
    wanted = ValueError if value is Mode else oracle(which, value)
    if isinstance(wanted, type):
        for convert in (field.to_cell, lambda v: field.to_column([v], 1)):
            with pytest.raises(wanted, match=r"^C\.f: ") as caught:
                convert(value)
            assert type(caught.value) is wanted
        return
    cell = field.to_cell(value)
    assert type(cell) is int
    assert cell == wanted
    array = field.to_column([value], 1)
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
            ENUMS_FIELDS[which].to_column(array, len(array))
    else:
        got = ENUMS_FIELDS[which].to_column(array, len(array))
        assert got.dtype == ENUMS_FIELDS[which].dtype
        assert got.tolist() == each


def test_a_gap_is_no_member() -> None:
    for array in (np.array([2, 1]), np.array([2, 1], np.uint8), [2, 1]):
        with pytest.raises(ValueError, match=r"^C\.f: 1 is no member of Gap \(at position 1\)$"):
            ENUMS_FIELDS[3].to_column(array, 2)


@pytest.mark.parametrize("dtype", [None, "U8", "S8", object, np.dtypes.StringDType()])
def test_names_of_members(dtype: Any) -> None:
    names = ["RUN", "IDLE", "RUN"]
    cells = ENUMS_FIELDS[0].to_column(names if dtype is None else np.array(names, dtype), 3)
    assert cells.tolist() == [2, 0, 2]
    assert cells.dtype == "u1"
    wrong = [*names, "WALL"]
    message = r"^C\.f: 'WALL' is no member of Mode; did you mean 'WALK'\? \(at position 3\)$"
    with pytest.raises(ValueError, match=message):
        ENUMS_FIELDS[0].to_column(wrong if dtype is None else np.array(wrong, dtype), 4)


def test_names_of_flags() -> None:
    assert ENUMS_FIELDS[2].to_cell("FLIES|BURNS") == 17
    assert ENUMS_FIELDS[2].to_column(["BOTH", "SWIMS | BURNS", 1], 3).tolist() == [3, 18, 1]
    with pytest.raises(ValueError, match=r"^C\.f: 'FLIES\|' is no member of Traits"):
        ENUMS_FIELDS[2].to_cell("FLIES|")


def test_shaped_fields() -> None:
    field = EnumField("C.f", Mode, "u8", (2,))
    assert field.to_cell(("RUN", Mode.WALK)) == (2, 1)
    assert list(map(type, field.to_cell([Mode.RUN, Mode.IDLE]))) == [int, int]
    assert field.to_column(Mode.RUN, 4).tolist() == 2
    assert field.to_column([["RUN", "IDLE"], ["WALK", "RUN"]], 2).tolist() == [[2, 0], [1, 2]]
    assert field.to_column([[Mode.RUN, 0], [1, Mode.IDLE]], 2).tolist() == [[2, 0], [1, 0]]
    assert field.to_column([], 0).dtype == "u1"
    with pytest.raises(ValueError, match=r"^C\.f: 7 is no .* \(at position \(1, 0\)\)$"):
        field.to_column([[0, 0], [7, 0]], 2)
    for wrong, dtype in ((np.ones((2, 2), bool), "bool"), ([[0.0, 1.0]], "float64")):
        with pytest.raises(TypeError, match=rf"^C\.f: wanted Mode, not an array of {dtype}"):
            field.to_column(wrong, len(wrong))
