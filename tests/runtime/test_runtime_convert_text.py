"""Text, bytes and objects."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.field_types import BytesField, ObjectField, TextField
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
        for convert in (field.one, lambda v: field.many(v, 2), lambda v: field.many([v], 1)):
            with pytest.raises(wanted, match=r"^C\.f: ") as caught:
                convert(value)
            assert type(caught.value) is wanted
        return
    cell = field.one(value)
    assert type(cell) is bytes
    assert cell == wanted
    padded = wanted.ljust(SIZE, b"\0")
    assert struct.Struct(f"={SIZE}s").pack(cell) == padded
    for array in (field.many(value, 1), field.many([value], 1)):
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
        each = [text_oracle(element) for element in array.tolist()]
        if ValueError in each:
            place = each.index(ValueError)
            with pytest.raises(ValueError, match=rf"^C\.f: .*\(at position {place}\)$"):
                TEXT.many(array, len(values))
        else:
            got = TEXT.many(array, len(values))
            assert got.dtype == f"S{SIZE}"
            assert got.tolist() == each


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.one_of(st.binary(max_size=9), texts.map(lambda t: t.encode(errors="ignore")))))
@example([b"\xff"])
@example([b"ok", b"\xed\xa0\x80"])
@example([b"a\0b"])
@example([b"sevenby"])
def test_arrays_of_encoded_text(values: list[bytes]) -> None:
    array = np.array(values, "S12")
    for spelled in (array, np.array([*values, b""], "S12")[:-1], array.repeat(2)[::2]):
        before = spelled.tobytes()
        each = []
        for element in array.tolist():
            try:
                each.append(text_oracle(element.decode()))
            except UnicodeDecodeError:
                each.append(ValueError)
        if ValueError in each:
            with pytest.raises(ValueError, match=rf"\(at position {each.index(ValueError)}\)$"):
                TEXT.many(spelled, len(values))
        else:
            got = TEXT.many(spelled, len(values))
            assert got.dtype == f"S{SIZE}"
            assert got.tolist() == each
        assert spelled.tobytes() == before


@settings(deadline=None)
@given(st.lists(st.binary(max_size=9), min_size=1), st.integers(1, 12))
def test_arrays_of_bytes(values: list[bytes], width: int) -> None:
    array = np.array(values, f"S{width}")
    too_long = [len(element) > SIZE for element in array.tolist()]
    if any(too_long):
        with pytest.raises(ValueError, match=rf"\(at position {too_long.index(True)}\)$"):
            BYTES.many(array, len(values))
    else:
        got = BYTES.many(array, len(values))
        assert got.dtype == f"S{SIZE}"
        assert got.tolist() == array.tolist()


def test_a_field_inside_a_record_may_have_no_width() -> None:
    empty = np.zeros(3, np.dtype([("a", "S0"), ("b", "u1")]))["a"]
    for field in (TEXT, BYTES):
        assert field.many(empty, 3).tolist() == [b"", b"", b""]
    records = np.zeros(3, np.dtype([("a", "S2"), ("b", "u1")]))
    records["a"] = b"xy"
    assert TEXT.many(records["a"], 3).tolist() == [b"xy"] * 3
    with pytest.raises(TypeError, match=r"^C\.f: wanted str\[6\], not an array of \["):
        TEXT.many(records, 3)


def test_text_for_all_rows_and_wrong_shapes() -> None:
    assert TEXT.many("é", 5).tolist() == "é".encode()
    assert TEXT.many(["é"], 5).shape == (1,)
    for wrong in (["a", "b"], [["a"]], np.array([["a"]])):
        with pytest.raises(ValueError, match=r"^C\.f: wanted shape"):
            TEXT.many(wrong, 3)


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
    assert OBJECT.one(value) is value
    for rows in {0, 2, 5} - {len(value)}:
        with pytest.raises(ValueError, match=rf"one per row, not {len(value)}; .* \[x\] \* {rows}"):
            OBJECT.many(value, rows)


@pytest.mark.parametrize(
    "value",
    [None, 1, "ab", (1, 2), {1: 2}, Broken(), np.array(5)],
)
def test_one_object_for_all(value: Any) -> None:
    assert OBJECT.one(value) is value
    for rows in (0, 2, 5):
        got = OBJECT.many(value, rows)
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
        got = OBJECT.many(spelled, len(values))
        assert got.shape == (len(values),)
        assert got is not spelled
        assert all(cell is value for cell, value in zip(got, values, strict=True))


def test_an_array_of_numbers_is_one_object_per_row() -> None:
    assert OBJECT.many(np.arange(3), 3).tolist() == [0, 1, 2]
    rows = OBJECT.many(np.arange(6).reshape(3, 2), 3)
    assert [row.tolist() for row in rows] == [[0, 1], [2, 3], [4, 5]]
    buffer = np.zeros(64, np.uint8)
    own = buffer.view(np.float32).reshape(4, 4)
    assert not any(np.may_share_memory(row, buffer) for row in OBJECT.many(own, 4, buffer))
