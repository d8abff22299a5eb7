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


@pytest.mark.parametrize(("old", "new"), list(product(PLAIN, PLAIN)))
def test_every_pair_of_numbers_at_its_edges(old: str, new: str) -> None:
    check_pair(old, new, values_of(old))
    assert of(old, new) in ("", MAY_NOT_FIT)
    if of(old, new) == MAY_NOT_FIT and (old, new) != ("f64", "f32"):
        assert any(wanted(value, new) is None for value in values_of(old))


@given(st.data())
def test_numbers_as_python_has_them(data: st.DataObject) -> None:
    old, new = data.draw(st.sampled_from(PLAIN)), data.draw(st.sampled_from(PLAIN))
    if old == "bool":
        strategy: st.SearchStrategy[Any] = st.booleans()
    elif old[0] == "f":
        strategy = st.floats(width=int(old[1:]))  # type: ignore[arg-type]  # 32 or 64
    else:
        info = np.iinfo(f"{old[0]}{int(old[1:]) // 8}")
        strategy = st.integers(int(info.min), int(info.max))
    zero = False if old == "bool" else 0.0 if old[0] == "f" else 0
    check_pair(old, new, [zero, *data.draw(st.lists(strategy))])


def test_nothing_is_copied_that_stays() -> None:
    cells = np.arange(6, dtype=np.float32).reshape(2, 3)
    kind = cell_type("f32[3]", {})
    same = converted(cells, change_of(kind, kind, {}), cells[0], cells[0])
    assert same is cells


def test_what_stays_in_an_enum_is_not_even_looked_at() -> None:
    cells = np.array([0, 5, 1], np.uint8)
    mode = cell_type("Mode", ENUMS)
    assert converted(cells, change_of(mode, mode, {}), cells[0], cells[0]) is cells


def test_members_follow_their_names() -> None:
    assert convert([0, 1, 5], "Mode", "Wide").tolist() == [7, 0, 300]
    assert of("Mode", "Wide") == ""


def test_a_member_that_the_other_enum_has_not_is_refused_with_its_row() -> None:
    assert convert([0, 1, 0], "Mode", "Few").tolist() == [0, 1, 0]
    with pytest.raises(BadRowError, match="Few has no member 'run'") as error:
        convert([0, 1, 5], "Mode", "Few")
    assert error.value.row == 2
    assert of("Mode", "Few") == MAY_NOT_FIT


def test_renamed_and_removed_members() -> None:
    names = {"run": "walk"}
    assert convert([0, 1, 5], "Mode", "Few", names).tolist() == [0, 1, 1]
    removed: MemberNames = {"run": None}
    assert convert([5, 1, 0], "Mode", "Few", removed, default=1).tolist() == [1, 1, 0]
    assert of("Mode", "Few", removed) == ""


def test_a_removed_member_takes_the_default_of_its_place() -> None:
    cells = convert([[5, 0], [1, 5]], "Mode[2]", "Few[2]", {"run": None}, default=[1, 0])
    assert cells.tolist() == [[1, 0], [1, 0]]


def test_a_number_that_no_member_has_is_refused() -> None:
    with pytest.raises(BadRowError, match="3 is no number of Mode"):
        convert([0, 3], "Mode", "Wide")


def test_flags_follow_their_names_bit_by_bit() -> None:
    assert convert([0, 1, 3, 7], "Bits", "Turned").tolist() == [
        0,
        1 << 63,
        1 << 63 | 1,
        1 << 63 | 3,
    ]
    assert convert([4, 0], "Bits", "Less").tolist() == [2, 0]
    with pytest.raises(BadRowError, match="Less has no member 'b'") as error:
        convert([4, 0, 6], "Bits", "Less")
    assert error.value.row == 2
    with pytest.raises(BadRowError, match="0x8"):
        convert([8], "Bits", "Turned")


def test_removed_flags_go_and_what_had_no_others_becomes_the_default() -> None:
    cells = convert([0, 1, 2, 3, 6], "Bits", "Less", {"b": None}, default=2)
    assert cells.tolist() == [0, 1, 2, 1, 2]


def test_enums_and_flags_have_no_rule() -> None:
    assert of("Mode", "Bits") == of("Bits", "Mode") == NO_RULE
    with pytest.raises(BadRowError, match="no rule makes Bits of Mode") as error:
        convert([0], "Mode", "Bits")
    assert error.value.row is None
    assert convert([], "Mode", "Bits").shape == (0,)


def test_numbers_are_those_of_members() -> None:
    assert convert([0, 5], "i64", "Mode").tolist() == [0, 5]
    assert convert([0, 3, 7], "f32", "Bits").tolist() == [0, 3, 7]
    assert convert([0, 300], "Wide", "i32").tolist() == [0, 300]
    for value, kind in ((2, "i64"), (-1, "i8"), (0.5, "f64"), (256, "u16")):
        with pytest.raises(BadRowError):
            convert([value], kind, "Mode")
    with pytest.raises(BadRowError, match="8 is no number of Bits"):
        convert([8], "u8", "Bits")
    with pytest.raises(BadRowError, match="300 does not fit u8"):
        convert([300], "Wide", "u8")


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


def test_text_and_bytes_of_other_sizes() -> None:
    assert text(convert(["ab", "", "ü"], "str[4]", "str[9]")) == ["ab", "", "ü"]
    assert text(convert(["ab", "", "ü"], "str[4]", "str[2]")) == ["ab", "", "ü"]
    with pytest.raises(BadRowError, match=r"'aü' does not fit str\[2\]") as error:
        convert(["ab", "aü"], "str[4]", "str[2]")
    assert error.value.row == 1
    assert convert([b"\0a\0"], "bytes[3]", "bytes[2]").tolist() == [[0, 97]]
    with pytest.raises(BadRowError, match=r"does not fit bytes\[2\]"):
        convert([b"\0\0a"], "bytes[3]", "bytes[2]")


def test_between_text_and_bytes() -> None:
    assert convert(["ü"], "str[2]", "bytes[3]").tolist() == [[0xC3, 0xBC, 0]]
    assert text(convert(["ü".encode(), b""], "bytes[4]", "str[2]")) == ["ü", ""]
    for given_, why in ((b"a\0b", "NUL"), (b"\0b", "NUL"), (b"\xff", "UTF-8"), (b"\xc3", "UTF-8")):
        with pytest.raises(BadRowError, match=why):
            convert([b"fine", given_], "bytes[4]", "str[4]")


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


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("str[4]", "str[4]", ""),
        ("str[4]", "str[5]", ""),
        ("str[4]", "str[3]", MAY_NOT_FIT),
        ("str[4]", "bytes[4]", ""),
        ("str[4]", "bytes[3]", MAY_NOT_FIT),
        ("bytes[4]", "str[9]", MAY_NOT_FIT),
        ("bytes[4]", "bytes[9]", ""),
        ("bytes[4]", "bytes[3]", MAY_NOT_FIT),
    ],
)
def test_verdicts_on_text(old: str, new: str, code: str) -> None:
    assert of(old, new) == code


def test_a_larger_shape_keeps_elements_in_place() -> None:
    cells = convert([[[1, 2], [3, 4]]], "u8[2,2]", "f32[2,3]", default=[[9, 9, 9], [9, 9, 8]])
    assert cells.tolist() == [[[1, 2, 9], [3, 4, 8]]]
    assert of("u8[2,2]", "f32[2,3]") == ""


def test_a_smaller_shape_loses_defaults_alone() -> None:
    assert convert([[1, 2, 0], [3, 4, 0]], "u8[3]", "u8[2]").tolist() == [[1, 2], [3, 4]]
    with pytest.raises(BadRowError, match=r"7 at \[2\] has no place in u8\[2\]") as error:
        convert([[1, 2, 0], [3, 4, 7]], "u8[3]", "u8[2]")
    assert error.value.row == 1
    assert of("u8[3]", "u8[2]") == of("u8[3,2]", "u8[2,3]") == MAY_NOT_FIT


def test_what_a_smaller_shape_loses_is_compared_bit_for_bit() -> None:
    change = change_of(cell_type("f64[2]", {}), cell_type("f64[1]", {}), {})
    nan = default_cell(change.old, [0.0, "NaN"])
    cells = converted(np.array([[1.0, np.nan]]), change, nan, np.zeros(1))
    assert cells.tolist() == [[1.0]]
    with pytest.raises(BadRowError, match=r"-0\.0 at \[1\]"):
        converted(np.array([[1.0, -0.0]]), change, np.zeros(2), np.zeros(1))


def test_a_bad_element_of_a_shape_is_named_by_its_row() -> None:
    with pytest.raises(BadRowError, match="300 does not fit u8") as error:
        convert([[1, 2, 0], [1, 300, 0]], "u16[3]", "u8[2]")
    assert error.value.row == 1
    with pytest.raises(BadRowError) as error:
        convert([[[1, 2]], [[3, 4]], [[5, 600]]], "i64[1,2]", "u8[4,4]")
    assert error.value.row == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("f32", "f32[3]"), ("f32[3]", "f32"), ("f32[3]", "f32[3,1]"), ("entity", "u64")),
        *(("u64", "entity"), ("entity", "id<Body>"), ("id<Body>", "id<Other>"), ("object", "u8")),
        *(("str[4]", "object"), ("str[4]", "u8"), ("bool", "Mode"), ("Mode", "bool")),
    ],
)
def test_what_has_no_rule(old: str, new: str) -> None:
    assert of(old, new) == NO_RULE


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
