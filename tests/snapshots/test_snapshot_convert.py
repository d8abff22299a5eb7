"""Values of one field type as another, compared with Python's own arithmetic."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.snapshots.cell_types import NUMBERS, cell_type, default_cell
from ecsgen_runtime.snapshots.type_conversion import (
    MAY_NOT_FIT,
    NO_RULE,
    BadRowError,
    MemberNames,
    change_of,
    converted,
    verdict,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

ENUMS: dict[str, Any] = {
    "Mode": {"type": "u8", "flags": False, "members": {"idle": 0, "walk": 1, "run": 5}},
    "Wide": {
        "type": "u16",
        "flags": False,
        "members": {"run": 300, "idle": 7, "walk": 0, "fly": 2},
    },
    "Few": {"type": "u8", "flags": False, "members": {"idle": 0, "walk": 1}},
    "Bits": {"type": "u8", "flags": True, "members": {"a": 1, "b": 2, "c": 4, "ab": 3}},
    "Turned": {"type": "u64", "flags": True, "members": {"a": 1 << 63, "b": 1, "c": 2}},
    "Less": {"type": "u8", "flags": True, "members": {"a": 1, "c": 2}},
    "Far": {"type": "u32", "flags": False, "members": {"near": 1, "far": 1 << 30}},
    "FarBits": {"type": "u32", "flags": True, "members": {"near": 1, "far": 1 << 30}},
}
EDGES = sorted(
    {
        sign * ((1 << bits) + step)
        for bits in (0, 7, 8, 15, 16, 23, 24, 25, 31, 32, 52, 53, 54, 63, 64)
        for step in (-2, -1, 0, 1, 2)
        for sign in (1, -1)
    }
    | {0}
)
SOME_FLOATS = [
    *(0.0, -0.0, 0.5, -0.5, 1.0, 1.5, 254.9999, math.inf, -math.inf, math.nan),
    *(1e40, -1e40, 3.4028235e38, 3.4028236e38, 5e-324, 1e-46, 2.0**63, -(2.0**63), 2.0**64),
    *(float(edge) for edge in EDGES),
]


def column(cells: Any, text: str) -> NDArray[Any]:
    kind = cell_type(text, ENUMS)
    if kind.base in ("str", "bytes"):
        rows = [default_cell(kind, cell if isinstance(cell, str) else list(cell)) for cell in cells]
        return np.array(rows, np.uint8).reshape(len(rows), kind.size)
    return np.array(cells, kind.dtype)


def convert(
    cells: Any, old: str, new: str, renamed: MemberNames | None = None, default: Any = None
) -> NDArray[Any]:
    change = change_of(cell_type(old, ENUMS), cell_type(new, ENUMS), renamed or {})
    cells_converted = converted(
        column(cells, old),
        change,
        np.zeros(change.old.cell_shape, change.old.dtype),
        (
            np.zeros(change.new.cell_shape, change.new.dtype)
            if default is None
            else default_cell(change.new, default)
        ),
    )
    assert cells_converted.dtype == change.new.dtype
    assert cells_converted.shape == (len(cells), *change.new.cell_shape)
    return cells_converted


def of(old: str, new: str, renamed: MemberNames | None = None) -> str:
    return verdict(change_of(cell_type(old, ENUMS), cell_type(new, ENUMS), renamed or {}))


def text(cells: NDArray[Any]) -> list[str]:
    return [bytes(cell).rstrip(b"\0").decode() for cell in cells]


def values_of(kind: str) -> list[Any]:
    """Some values that a type of numbers or bools has, edges among them."""
    if kind == "bool":
        return [False, True]
    if kind == "f64":
        return SOME_FLOATS
    if kind == "f32":
        with np.errstate(over="ignore"):
            return [float(np.float32(value)) for value in SOME_FLOATS]
    info = np.iinfo(f"{kind[0]}{int(kind[1:]) // 8}")
    return [edge for edge in EDGES if info.min <= edge <= info.max]


def wanted(value: Any, new: str) -> Any:
    """Return Python's value in another type, or None if it does not fit."""
    if new == "bool":
        return bool(value) if value in (0, 1) else None
    if new[0] == "f":
        if isinstance(value, (bool, int)):
            number = float(value)
            if new == "f32":
                with np.errstate(over="ignore"):
                    number = float(np.float32(number))
            return number if math.isfinite(number) and int(number) == value else None
        if new == "f64" or not math.isfinite(value):
            return value
        with np.errstate(over="ignore"):
            number = float(np.float32(value))
        return number if math.isfinite(number) else None
    if isinstance(value, float) and (not math.isfinite(value) or value != int(value)):
        return None
    info = np.iinfo(f"{new[0]}{int(new[1:]) // 8}")
    return int(value) if info.min <= int(value) <= info.max else None


def check_pair(old: str, new: str, values: list[Any]) -> None:
    exact = [(value, wanted(value, new)) for value in values]
    fits = [(value, want) for value, want in exact if want is not None]
    cells = convert([value for value, _ in fits], old, new)
    for got, (value, want) in zip(cells.tolist(), fits, strict=True):
        assert type(got) is type(want), value
        assert got == want or (got != got and want != want), value
        if isinstance(want, float) and isinstance(value, float):
            assert math.copysign(1, got) == math.copysign(1, want), value
    for value, want in exact:
        if want is None:
            with pytest.raises(BadRowError) as error:
                convert([fits[0][0], value], old, new)
            assert error.value.row == 1
            assert f"does not fit {new}" in str(error.value)
    if of(old, new) == "":
        assert len(fits) == len(exact)


PLAIN = ("bool", *NUMBERS)
GONE: MemberNames = {"run": None}


@pytest.mark.parametrize(("old", "new"), list(product(PLAIN, PLAIN)))
def test_every_pair_of_numbers_at_its_edges(old: str, new: str) -> None:
    check_pair(old, new, values_of(old))
    assert of(old, new) in ("", MAY_NOT_FIT)
    if of(old, new) == MAY_NOT_FIT and (old, new) != ("f64", "f32"):
        assert any(wanted(value, new) is None for value in values_of(old))


def test_nothing_is_copied_that_stays() -> None:
    for name, cells in (("f32[3]", [[0, 1, 2], [3, 4, 5]]), ("Mode", [0, 5, 1])):
        kind, stored = cell_type(name, ENUMS), column(cells, name)
        assert converted(stored, change_of(kind, kind, {}), stored[0], stored[0]) is stored


BAD_ROWS: list[tuple[list[Any], str, str, int | None, str]] = [
    ([0, 1, 5], "Mode", "Few", 2, "Few has no member 'run'"),
    ([0, 3], "Mode", "Wide", 1, "3 is no number of Mode"),
    ([4, 0, 6], "Bits", "Less", 2, "Less has no member 'b'"),
    ([8], "Bits", "Turned", 0, "0x8"),
    ([0], "Mode", "Bits", None, "no rule makes Bits of Mode"),
    ([2], "i64", "Mode", 0, "2 is no number of Mode"),
    ([-1], "i8", "Mode", 0, "-1 is no number of Mode"),
    ([0.5], "f64", "Mode", 0, "0.5 is no number of Mode"),
    ([256], "u16", "Mode", 0, "256 is no number of Mode"),
    ([8], "u8", "Bits", 0, "8 is no number of Bits"),
    ([300], "Wide", "u8", 0, "300 does not fit u8"),
    (["ab", "aü"], "str[4]", "str[2]", 1, r"'aü' does not fit str\[2\]"),
    ([b"\0\0a"], "bytes[3]", "bytes[2]", 0, r"does not fit bytes\[2\]"),
    *(([b"fine", cell], "bytes[4]", "str[4]", 1, "NUL") for cell in (b"a\0b", b"\0b")),
    *(([b"fine", cell], "bytes[4]", "str[4]", 1, "UTF-8") for cell in (b"\xff", b"\xc3")),
    ([[1, 2, 0], [3, 4, 7]], "u8[3]", "u8[2]", 1, r"7 at \[2\] has no place in u8\[2\]"),
    ([[1, 2, 0], [1, 300, 0]], "u16[3]", "u8[2]", 1, "300 does not fit u8"),
    ([[[1, 2]], [[3, 4]], [[5, 600]]], "i64[1,2]", "u8[4,4]", 2, "600 does not fit u8"),
]


@pytest.mark.parametrize(("cells", "old", "new", "row", "why"), BAD_ROWS)
def test_what_does_not_fit_is_refused_with_its_row(
    cells: list[Any], old: str, new: str, row: int | None, why: str
) -> None:
    with pytest.raises(BadRowError, match=why) as error:
        convert(cells, old, new)
    assert error.value.row == row


def test_members_follow_their_names() -> None:
    assert convert([0, 1, 5], "Mode", "Wide").tolist() == [7, 0, 300]
    assert convert([0, 1, 0], "Mode", "Few").tolist() == [0, 1, 0]
    assert convert([0, 1, 5], "Mode", "Few", {"run": "walk"}).tolist() == [0, 1, 1]


def test_a_removed_member_takes_the_default_of_its_place() -> None:
    assert convert([5, 1, 0], "Mode", "Few", GONE, default=1).tolist() == [1, 1, 0]
    cells = convert([[5, 0], [1, 5]], "Mode[2]", "Few[2]", GONE, default=[1, 0])
    assert cells.tolist() == [[1, 0], [1, 0]]
    assert of("Mode", "Few", GONE) == ""


def test_flags_follow_their_names_bit_by_bit() -> None:
    high = 1 << 63
    assert convert([0, 1, 3, 7], "Bits", "Turned").tolist() == [0, high, high | 1, high | 3]
    assert convert([4, 0], "Bits", "Less").tolist() == [2, 0]


def test_removed_flags_go_and_what_had_no_others_becomes_the_default() -> None:
    cells = convert([0, 1, 2, 3, 6], "Bits", "Less", {"b": None}, default=2)
    assert cells.tolist() == [0, 1, 2, 1, 2]


def test_numbers_are_those_of_members() -> None:
    assert convert([0, 5], "i64", "Mode").tolist() == [0, 5]
    assert convert([0, 3, 7], "f32", "Bits").tolist() == [0, 3, 7]
    assert convert([0, 300], "Wide", "i32").tolist() == [0, 300]


@pytest.mark.parametrize(
    ("old", "too_small"),
    [
        ("Mode", ""),
        ("Wide", "i8 u8"),
        ("Bits", ""),
        ("Far", "i8 u8 i16 u16"),
        ("FarBits", "i8 u8 i16 u16 f32"),
        ("Turned", "i8 u8 i16 u16 i32 u32 i64 f32 f64"),
    ],
)
def test_what_holds_all_numbers_of_an_enum_takes_every_cell(old: str, too_small: str) -> None:
    assert [new for new in NUMBERS if of(old, new) == MAY_NOT_FIT] == sorted(
        too_small.split(), key=NUMBERS.index
    )


def test_text_and_bytes() -> None:
    for size in (9, 2):
        assert text(convert(["ab", "", "ü"], "str[4]", f"str[{size}]")) == ["ab", "", "ü"]
    assert convert([b"\0a\0"], "bytes[3]", "bytes[2]").tolist() == [[0, 97]]
    assert convert(["ü"], "str[2]", "bytes[3]").tolist() == [[0xC3, 0xBC, 0]]
    assert text(convert(["ü".encode(), b""], "bytes[4]", "str[2]")) == ["ü", ""]


@given(st.lists(st.binary(max_size=5)), st.integers(1, 6))
def test_bytes_are_text_if_python_says_so(cells: list[bytes], size: int) -> None:
    for cell in cells:
        stored = cell.rstrip(b"\0")
        try:
            fits = "\0" not in stored.decode() and len(stored) <= size
        except UnicodeDecodeError:
            fits = False
        if fits:
            assert text(convert([cell], "bytes[5]", f"str[{size}]")) == [stored.decode()]
        else:
            with pytest.raises(BadRowError):
                convert([cell], "bytes[5]", f"str[{size}]")


def test_a_larger_shape_keeps_elements_in_place() -> None:
    cells = convert([[[1, 2], [3, 4]]], "u8[2,2]", "f32[2,3]", default=[[9, 9, 9], [9, 9, 8]])
    assert cells.tolist() == [[[1, 2, 9], [3, 4, 8]]]


def test_a_smaller_shape_loses_defaults_alone() -> None:
    assert convert([[1, 2, 0], [3, 4, 0]], "u8[3]", "u8[2]").tolist() == [[1, 2], [3, 4]]


def test_what_a_smaller_shape_loses_is_compared_bit_for_bit() -> None:
    change = change_of(cell_type("f64[2]", {}), cell_type("f64[1]", {}), {})
    nan = default_cell(change.old, [0.0, "NaN"])
    cells = converted(np.array([[1.0, np.nan]]), change, nan, np.zeros(1))
    assert cells.tolist() == [[1.0]]
    with pytest.raises(BadRowError, match=r"-0\.0 at \[1\]"):
        converted(np.array([[1.0, -0.0]]), change, np.zeros(2), np.zeros(1))


@pytest.mark.parametrize(
    ("code", "pairs"),
    [
        (
            "",
            [
                *(("str[4]", "str[4]"), ("str[4]", "str[5]"), ("str[4]", "bytes[4]")),
                *(("bytes[4]", "bytes[9]"), ("Mode", "Wide"), ("u8[2,2]", "f32[2,3]")),
            ],
        ),
        (
            MAY_NOT_FIT,
            [
                *(("str[4]", "str[3]"), ("str[4]", "bytes[3]"), ("bytes[4]", "str[9]")),
                *(("bytes[4]", "bytes[3]"), ("Mode", "Few"), ("u8[3]", "u8[2]")),
                ("u8[3,2]", "u8[2,3]"),
            ],
        ),
        (
            NO_RULE,
            [
                *(("f32", "f32[3]"), ("f32[3]", "f32"), ("f32[3]", "f32[3,1]"), ("entity", "u64")),
                *(("u64", "entity"), ("entity", "id<Body>"), ("id<Body>", "id<Other>")),
                *(("object", "u8"), ("str[4]", "object"), ("str[4]", "u8"), ("bool", "Mode")),
                *(("Mode", "bool"), ("Mode", "Bits"), ("Bits", "Mode")),
            ],
        ),
    ],
)
def test_verdicts(code: str, pairs: list[tuple[str, str]]) -> None:
    assert {pair: of(*pair) for pair in pairs} == dict.fromkeys(pairs, code)


def test_what_has_no_rule_is_no_error_without_rows() -> None:
    assert convert([], "Mode", "Bits").shape == (0,)


def test_types_are_taken_apart() -> None:
    kind = cell_type("id<Body>[2,3]", {})
    assert (kind.base, kind.target, kind.shape) == ("id", "Body", (2, 3))
    assert kind.of_shape(()).text == "id<Body>"
    assert cell_type("Bits", ENUMS).mask == 7
    assert cell_type("f32[3]", {}).of_shape((4, 4)).text == "f32[4,4]"
    assert cell_type("str[7]", {}).cell_shape == (7,)
    for wrong in ("", "f16", "Nobody", "str", "bytes[2,2]", "f32[", "id<A", "f32[3]]", "f32[-1]"):
        with pytest.raises(ValueError, match=r"is no field type|has no size"):
            cell_type(wrong, ENUMS)


def test_defaults_of_a_document() -> None:
    floats = default_cell(cell_type("f32[3]", {}), ["NaN", "-Infinity", 1.5])
    assert floats.dtype == np.float32
    assert np.isnan(floats[0])
    assert floats[1:].tolist() == [-math.inf, 1.5]
    assert default_cell(cell_type("str[4]", {}), "ü").tolist() == [0xC3, 0xBC, 0, 0]
    assert default_cell(cell_type("bytes[3]", {}), [1, 2, 3]).tolist() == [1, 2, 3]
    assert default_cell(cell_type("u64", {}), 2**64 - 1)[()] == 2**64 - 1
    assert default_cell(cell_type("object", {}), None)[()] is None
