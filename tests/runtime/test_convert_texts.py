"""Cells from values of users: texts, bytes, shapes; and what messages say of wrong ones."""

from __future__ import annotations

import array as machine_arrays
import struct
from collections import UserList, deque
from enum import Enum
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.errors import short_repr
from ecsgen_runtime.values.field_types import (
    BoolField,
    BytesField,
    Field,
    FloatField,
    HandleField,
    IntField,
    ObjectField,
    TextField,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.soak import examples

SIZE = 6
TEXT = TextField("C.f", SIZE)
BYTES = BytesField("C.f", SIZE)

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)
others: st.SearchStrategy[Any] = st.sampled_from(
    [None, 1, True, 1.5, {}, np.datetime64("2020"), np.void(b"ab")]
)


def text_oracle(value: Any) -> bytes | type:
    if not isinstance(value, str):
        return TypeError
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        return ValueError
    return encoded if len(encoded) <= SIZE and "\0" not in value else ValueError


def bytes_oracle(value: Any) -> bytes | type:
    if not isinstance(value, bytes | bytearray):
        return TypeError
    return bytes(value) if len(value) <= SIZE else ValueError


def check(field: TextField | BytesField, value: Any, wanted: bytes | type) -> None:
    if isinstance(wanted, type):
        for_all, in_list = lambda v: field.to_column(v, 2), lambda v: field.to_column([v], 1)
        for convert in (field.to_cell, for_all, in_list):
            with pytest.raises(wanted, match=r"^C\.f: ") as caught:
                convert(value)
            assert type(caught.value) is wanted
        return
    cell = field.to_cell(value)
    assert type(cell) is bytes
    assert cell == wanted
    padded = wanted.ljust(SIZE, b"\0")
    assert struct.Struct(f"={SIZE}s").pack(cell) == padded
    for array in (field.to_column(value, 1), field.to_column([value], 1)):
        assert array.dtype == f"S{SIZE}"
        assert array.tobytes() == padded


@settings(deadline=None)
@given(st.one_of(texts, texts.map(np.str_), st.binary(max_size=8), others))
@example("ééé")
@example("éééé")
@example("a\0")
@example("\ud800")
def test_text(value: Any) -> None:
    check(TEXT, value, text_oracle(value))


@settings(deadline=None)
@given(st.one_of(st.binary(max_size=8), st.binary(max_size=8).map(bytearray), texts, others))
@example(b"ab\0\0")
@example(b"\0\0\0\0\0\0\0")
def test_bytes(value: Any) -> None:
    check(BYTES, value, bytes_oracle(value))


def check_array(
    field: TextField | BytesField, array: np.ndarray[Any, Any], each: list[bytes | type]
) -> None:
    """An array is its elements, or as wrong as the first wrong one; it stays as it is."""
    before = array.tobytes()
    if ValueError in each:
        position = each.index(ValueError)
        with pytest.raises(ValueError, match=rf"^C\.f: .*\(at position {position}\)$"):
            field.to_column(array, len(each))
    else:
        cells = field.to_column(array, len(each))
        assert cells.dtype == f"S{SIZE}"
        assert cells.tolist() == each
    assert array.tobytes() == before


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(texts, min_size=1, max_size=4))
def test_arrays_of_text(values: list[str]) -> None:
    """Every array that numpy keeps text in; those of fixed width cut NULs off by themselves."""
    arrays: list[np.ndarray[Any, Any]] = [np.array(values, object)]
    try:
        arrays.append(np.array(values))
        arrays.append(arrays[-1].astype(arrays[-1].dtype.newbyteorder()))
        if hasattr(np.dtypes, "StringDType"):
            arrays.append(np.array(values, np.dtypes.StringDType()))
    except UnicodeEncodeError:
        pass
    for array in arrays:
        check_array(TEXT, array, [text_oracle(element) for element in array.tolist()])


def encoded_oracle(value: bytes) -> bytes | type:
    try:
        return text_oracle(value.decode())
    except UnicodeDecodeError:
        return ValueError


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.one_of(st.binary(max_size=9), texts.map(lambda t: t.encode(errors="ignore")))))
@example([b"\xff"])
@example([b"ok", b"\xed\xa0\x80"])
@example([b"a\0b"])
@example([b"sevenby"])
def test_arrays_of_encoded_text(values: list[bytes]) -> None:
    array = np.array(values, "S12")
    for spelled in (array, np.array([*values, b""], "S12")[:-1], array.repeat(2)[::2]):
        check_array(TEXT, spelled, [encoded_oracle(element) for element in array.tolist()])


@settings(deadline=None)
@given(st.lists(st.binary(max_size=9), min_size=1), st.integers(1, 12))
def test_arrays_of_bytes(values: list[bytes], width: int) -> None:
    array = np.array(values, f"S{width}")
    check_array(BYTES, array, [bytes_oracle(element) for element in array.tolist()])


def test_a_field_inside_a_record_may_have_no_width() -> None:
    empty = np.zeros(3, np.dtype([("a", "S0"), ("b", "u1")]))["a"]
    for field in (TEXT, BYTES):
        assert field.to_column(empty, 3).tolist() == [b"", b"", b""]
    records = np.zeros(3, np.dtype([("a", "S2"), ("b", "u1")]))
    records["a"] = b"xy"
    assert TEXT.to_column(records["a"], 3).tolist() == [b"xy"] * 3
    with pytest.raises(TypeError, match=r"^C\.f: wanted str\[6\], not an array of \["):
        TEXT.to_column(records, 3)


def test_text_for_all_rows_and_wrong_shapes() -> None:
    assert TEXT.to_column("é", 5).tolist() == "é".encode()
    assert TEXT.to_column(["é"], 5).shape == (1,)
    for wrong in (["a", "b"], [["a"]], np.array([["a"]])):
        with pytest.raises(ValueError, match=r"^C\.f: wanted shape"):
            TEXT.to_column(wrong, 3)


class Broken:
    """Nothing but trouble for whoever looks into it."""

    def __len__(self) -> int:
        raise AssertionError

    def __iter__(self) -> Any:
        raise AssertionError

    def __eq__(self, other: object) -> bool:
        raise AssertionError

    __hash__ = None  # type: ignore[assignment]  # not even that

    def __array__(self) -> Any:
        raise AssertionError


OBJECT = ObjectField("C.f")


@pytest.mark.parametrize("value", [np.ones(3), [], [1], [[1, 2, 3]]])
def test_lists_of_another_length_are_refused(value: Any) -> None:
    assert OBJECT.to_cell(value) is value
    for rows in {0, 2, 5} - {len(value)}:
        with pytest.raises(ValueError, match=rf"one per row, not {len(value)}; .* \[x\] \* {rows}"):
            OBJECT.to_column(value, rows)


@pytest.mark.parametrize("value", [None, 1, "ab", (1, 2), {1: 2}, Broken(), np.array(5)])
def test_one_object_for_all(value: Any) -> None:
    assert OBJECT.to_cell(value) is value
    for rows in (0, 2, 5):
        got = OBJECT.to_column(value, rows)
        assert got.dtype == object
        column = np.empty(rows, object)
        column[:] = got
        assert all(cell is value for cell in column)


@pytest.mark.parametrize(
    "values",
    [
        *([], [None], [1, 2], [[1, 2], [3, 4]], [(1,), (1, 2)], [np.ones(2), np.ones(2)]),
        *([np.array(1), np.array(2)], [Broken(), Broken()], [[], []], ["ab", b"cd"]),
    ],
)
def test_a_list_is_one_object_per_row(values: list[Any]) -> None:
    array = np.empty(len(values), object)
    for row, value in enumerate(values):
        array[row] = value
    for spelled in (values, array):
        got = OBJECT.to_column(spelled, len(values))
        assert got.shape == (len(values),)
        assert got is not spelled
        assert all(cell is value for cell, value in zip(got, values, strict=True))


def test_an_array_of_numbers_is_one_object_per_row() -> None:
    assert OBJECT.to_column(np.arange(3), 3).tolist() == [0, 1, 2]
    rows = OBJECT.to_column(np.arange(6).reshape(3, 2), 3)
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    buffer = np.zeros(64, np.uint8)
    cells = buffer.view(np.float32).reshape(4, 4)
    assert not any(np.may_share_memory(row, buffer) for row in OBJECT.to_column(cells, 4, buffer))


SHAPES = [(1,), (2,), (3,), (4,), (7,), (2, 2), (4, 4), (2, 1, 3)]


@settings(deadline=None)
@given(st.sampled_from(SHAPES), st.sampled_from(["f32", "f64"]), st.data())
def test_a_cell_is_flat_in_c_order(
    shape: tuple[int, ...], scalar: str, data: st.DataObject
) -> None:
    field = FloatField("C.f", scalar, shape)
    values = data.draw(hnp.arrays(field.dtype, shape))
    packer = struct.Struct(f"={values.size}{'f' if scalar == 'f32' else 'd'}")
    for spelling in (values, values.tolist(), _tuples(values.tolist()), values.astype(object)):
        cell = field.to_cell(spelling)
        assert type(cell) is tuple
        assert set(map(type, cell)) == {float}
        assert np.array_equal(np.array(cell), values.ravel(), equal_nan=True)
        assert np.array_equal(
            np.frombuffer(packer.pack(*cell), values.dtype), values.ravel(), equal_nan=True
        )


def _tuples(values: Any) -> Any:
    return tuple(map(_tuples, values)) if isinstance(values, list) else values


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_every_element_of_a_cell_is_checked(size: int) -> None:
    for position in range(size):
        values: list[Any] = [1.0] * size
        for bad, error in ((1e39, OverflowError), (-1e39, OverflowError), (True, TypeError)):
            values[position] = bad
            for spelled in (values, tuple(values)):
                with pytest.raises(error, match=r"^C\.f: "):
                    FloatField("C.f", "f32", (size,)).to_cell(spelled)
        values[position] = -float("inf")
        assert FloatField("C.f", "f32", (size,)).to_cell(tuple(values)) == tuple(values)


@pytest.mark.parametrize(
    ("field", "value", "cell"),
    [
        (BoolField("C.f", (2,)), (True, np.bool_(False)), (True, False)),
        (IntField("C.f", "i16", (2, 2)), ((1, 2), [3, np.uint8(4)]), (1, 2, 3, 4)),
        (HandleField("C.f", "entity", (2,)), [0, 2**64 - 1], (0, 2**64 - 1)),
        (FloatField("C.f", "f32", (2,)), (1, np.float32(2)), (1.0, 2.0)),
        (FloatField("C.f", "f32", (4,)), range(4), (0.0, 1.0, 2.0, 3.0)),
    ],
)
def test_shaped_cells_are_builtins(field: Field, value: Any, cell: tuple[Any, ...]) -> None:
    got = field.to_cell(value)
    assert got == cell
    assert list(map(type, got)) == list(map(type, cell))


@pytest.mark.parametrize(
    "value",
    [
        *(1.0, (1.0, 2.0), (1.0,) * 4, [[1.0, 2.0, 3.0]], ([1.0], [2.0], [3.0]), (), deque([1.0])),
        *(np.ones(2), np.ones((3, 1)), np.float32(1), ((1.0, 2.0, 3.0),) * 3),
    ],
)
@pytest.mark.parametrize("scalar", ["f32", "f64"])
def test_a_cell_takes_exactly_its_shape(scalar: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^C\.f: wanted "):
        FloatField("C.f", scalar, (3,)).to_cell(value)


@pytest.mark.parametrize("value", [[1.0], (1.0,), np.ones(1), [], range(1), deque([1.0]), [[1.0]]])
@pytest.mark.parametrize(
    "field", [FloatField("C.f", "f32"), IntField("C.f", "u8"), TextField("C.f", 2)]
)
def test_a_scalar_cell_takes_no_sequence(field: Field, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^C\.f: .*wanted one"):
        field.to_cell(value)


@settings(deadline=None, max_examples=examples(200))
@given(
    hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3),
    st.integers(0, 3),
    st.sampled_from([(), (1,), (2,), (3,), (2, 3)]),
    st.booleans(),
)
def test_broadcasting_is_numpys(
    given_shape: tuple[int, ...], rows: int, shape: tuple[int, ...], as_list: bool
) -> None:
    field = FloatField("C.f", "f32", shape)
    size = int(np.prod(given_shape))
    values = np.arange(size, dtype=np.float64).reshape(given_shape)
    given_as = values.tolist() if as_list else values
    try:
        wanted = np.broadcast_to(np.asarray(given_as), (rows, *shape))
    except ValueError:
        if rows == 0 and np.shape(given_as) == (0,):
            wanted = np.empty((0, *shape))
        else:
            with pytest.raises(ValueError, match=r"^C\.f: "):
                field.to_column(given_as, rows)
            return
    assert np.array_equal(np.broadcast_to(field.to_column(given_as, rows), (rows, *shape)), wanted)


@pytest.mark.parametrize(
    "field",
    [
        *(BoolField("C.f"), IntField("C.f", "u8", (2,)), FloatField("C.f", "f32", (2, 2))),
        *(HandleField("C.f", "entity"), TextField("C.f", 3), BytesField("C.f", 3)),
    ],
)
def test_no_rows_take_an_empty_list(field: Field) -> None:
    none = np.empty((0, *field.shape), field.dtype)
    empties: list[Any] = [[], (), deque(), range(0), none]
    for empty in empties:
        got = field.to_column(empty, 0)
        assert got.shape == (0, *field.shape)
        assert got.dtype == field.dtype
    with pytest.raises(ValueError, match="wanted shape"):
        field.to_column([], 2)


def test_what_has_elements_is_an_array() -> None:
    field = IntField("C.f", "u8")
    sources: list[Any] = [
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
        deque([1, 2, 3]),
        UserList([1, 2, 3]),
        machine_arrays.array("q", [1, 2, 3]),
        memoryview(b"\1\2\3"),
        memoryview(b"\3\2\1")[::-1],
        [np.uint8(1), np.int64(2), np.array(3)],
        np.array([1, 2, 3], ">i8"),
        np.array([1, 0, 2, 0, 3])[::2],
        np.array([1, 2, 3], object),
        np.ma.array([1, 2, 3]),
        _Foreign(),
    ]
    for source in sources:
        got = field.to_column(source, 3)
        assert got.dtype == np.uint8
        assert got.tolist() == [1, 2, 3]


class _Foreign:
    """A column that looks like one of another library."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array([1, 2, 3])


def test_rows_of_arrays() -> None:
    field = HandleField("C.f", "entity", (2,))
    unlike = [np.array([1, 2], np.int64), np.array([2**64 - 1, 3], np.uint64), [4, 5]]
    assert field.to_column(unlike, 3).tolist() == [[1, 2], [2**64 - 1, 3], [4, 5]]
    rows = np.empty(2, object)
    rows[0], rows[1] = np.array([1, 2]), (3, 4)
    assert field.to_column(rows, 2).tolist() == [[1, 2], [3, 4]]
    for ragged in ([[1, 2], [3]], [np.ones(2, int), np.ones(3, int)], [[1, 2], 3]):
        with pytest.raises(ValueError, match=r"^C\.f: wanted .* differ in"):
            field.to_column(ragged, 2)


def test_endless_lists_end() -> None:
    endless: list[Any] = []
    endless += [endless, endless]
    deep: Any = 1.0
    for _ in range(5000):
        deep = [deep]
    for value in (endless, deep):
        for field in (FloatField("C.f", "f32"), FloatField("C.f", "f32", (1, 1))):
            for convert in (field.to_cell, lambda v, f=field: f.to_column(v, 1)):
                with pytest.raises(ValueError, match=r"^C\.f: "):
                    convert(value)


@pytest.mark.parametrize("scalar", ["f32", "f64", "u8", "i64"])
def test_the_managers_own_memory_is_copied(scalar: str) -> None:
    field = FloatField("C.f", scalar) if scalar[0] == "f" else IntField("C.f", scalar)
    buffer = np.zeros(64, np.uint8)
    column: Any = buffer.view(field.dtype)[:4]
    for view in (column, column[::2], column[::-1], memoryview(column), column[:1], column[0:0]):
        got = field.to_column(view, len(view), buffer)
        assert not np.may_share_memory(got, buffer)
        assert got.tolist() == [0] * len(view)
    other = np.zeros(4, field.dtype)
    assert field.to_column(other, 4, buffer) is other
    other.flags.writeable = False
    assert field.to_column(other, 4, buffer) is other
    text = TextField("C.f", 4)
    cells = buffer.view("S4")
    assert not np.may_share_memory(text.to_column(cells, len(cells), buffer), buffer)


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
        (MASS, 1e40, OverflowError, "1e+40 does not fit into f32"),
        (MASS, True, TypeError, "wanted f32, not True (bool)"),
        (MASS, "1", TypeError, "wanted f32, not '1' (str)"),
        (MASS, [1.0], ValueError, "wanted one f32, not [1.0]"),
        (HP, 300, OverflowError, "300 does not fit into u8"),
        (HP, 3.0, TypeError, "wanted u8, not 3.0 (float)"),
        (HP, Colour.RED, TypeError, "wanted u8, not <Colour.RED: 1> (Colour)"),
        (TARGET, -1, OverflowError, "wanted entity, not -1"),
        (TARGET, None, TypeError, "wanted entity, not None (NoneType)"),
        (ICON, "a", TypeError, "wanted id<Icon>, not 'a' (str)"),
        (ICON, [1], ValueError, "wanted one id<Icon>, not [1]"),
        (ALIVE, 1, TypeError, "wanted bool, not 1 (int)"),
        (LABEL, b"ab", TypeError, "wanted str[4], not b'ab' (bytes)"),
        (LABEL, "abcde", ValueError, "'abcde' takes 5 bytes of UTF-8, wanted str[4]"),
        (LABEL, "a\0", ValueError, r"'a\x00' has a NUL, wanted str[4]"),
        (LABEL, "\ud800", ValueError, r"'\ud800' is not valid UTF-8"),
        (RAW, "ab", TypeError, "wanted bytes[4], not 'ab' (str)"),
        (RAW, b"abcde", ValueError, "b'abcde' has 5 bytes, wanted bytes[4]"),
        (POSITION, 1.0, ValueError, "wanted shape (3,), not 1.0"),
        (POSITION, (1, 2), ValueError, "wanted shape (3,), not (2,)"),
    ],
)
def test_one(field: Field, value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        field.to_cell(value)
    assert str(caught.value) == f"{field.name}: {message}"
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("field", "value", "error", "message"),
    [
        (MASS, [0.0, 1e40], OverflowError, "1e+40 does not fit into f32 (at position 1)"),
        (MASS, np.array([0.0, -1e40]), OverflowError, "-1e+40 does not fit into f32 (at position"),
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
        (HP, [10**20, 1], OverflowError, f"{10**20} does not fit into u8 (at position 0)"),
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
        field.to_column(value, 2)
    assert str(caught.value).startswith(f"{field.name}: ")
    assert message in str(caught.value)
    assert type(caught.value) is error


def test_integers_too_long_to_print() -> None:
    for field in (HP, MASS):
        for convert in (field.to_cell, lambda v, f=field: f.to_column([v], 1)):
            with pytest.raises(OverflowError, match=rf"^{field.name}: <int> does not fit into "):
                convert(10**5000)


def test_a_users_own_errors_pass() -> None:
    class Faulty:
        def __index__(self) -> int:
            raise RuntimeError("mine")

    for field in (HP, MASS):
        for convert in (field.to_cell, lambda v, f=field: f.to_column([1, v], 2)):
            with pytest.raises(RuntimeError, match="mine"):
                convert(Faulty())


def test_numpys_own_error_state_does_not_matter() -> None:
    with np.errstate(all="raise"):
        assert MASS.to_column(np.array([1e-300, np.inf, np.nan]), 3)[0] == 0
        assert MASS.to_cell(np.longdouble("1e-300")) == 0
        with pytest.raises(OverflowError):
            MASS.to_column(np.array([1e300]), 1)


def test_values_are_shown_short() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise RuntimeError

    for value in ("x" * 500, [1.5] * 10**6, np.zeros(10**6), 10**200, 10**5000, Loud(), [Loud()]):
        text = short_repr(value)
        assert 0 < len(text) <= 80
        assert "\n" not in text
