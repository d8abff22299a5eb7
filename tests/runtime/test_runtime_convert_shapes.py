"""Shapes, broadcasting and shared memory."""

from __future__ import annotations

import struct
from array import array
from collections import UserList, deque
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.field_types import (
    BoolField,
    BytesField,
    Field,
    FloatField,
    HandleField,
    IntField,
    TextField,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.support.soak import examples

SHAPES = [(1,), (2,), (3,), (4,), (7,), (2, 2), (4, 4), (2, 1, 3)]


@settings(deadline=None)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["f32", "f64"]),
    st.data(),
)
def test_a_cell_is_flat_in_c_order(
    shape: tuple[int, ...], scalar: str, data: st.DataObject
) -> None:
    field = FloatField("C.f", scalar, shape)
    values = data.draw(hnp.arrays(field.dtype, shape))
    packer = struct.Struct(f"={values.size}{'f' if scalar == 'f32' else 'd'}")
    for spelling in (values, values.tolist(), _tuples(values.tolist()), values.astype(object)):
        cell = field.one(spelling)
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
    for place in range(size):
        values: list[Any] = [1.0] * size
        for bad, error in ((1e39, OverflowError), (-1e39, OverflowError), (True, TypeError)):
            values[place] = bad
            for spelled in (values, tuple(values)):
                with pytest.raises(error, match=r"^C\.f: "):
                    FloatField("C.f", "f32", (size,)).one(spelled)
        values[place] = -float("inf")
        assert FloatField("C.f", "f32", (size,)).one(tuple(values)) == tuple(values)


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
    got = field.one(value)
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
        FloatField("C.f", scalar, (3,)).one(value)


@pytest.mark.parametrize("value", [[1.0], (1.0,), np.ones(1), [], range(1), deque([1.0]), [[1.0]]])
@pytest.mark.parametrize(
    "field", [FloatField("C.f", "f32"), IntField("C.f", "u8"), TextField("C.f", 2)]
)
def test_a_scalar_cell_takes_no_sequence(field: Field, value: Any) -> None:
    with pytest.raises(ValueError, match=r"^C\.f: .*wanted one"):
        field.one(value)


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
                field.many(given_as, rows)
            return
    assert np.array_equal(np.broadcast_to(field.many(given_as, rows), (rows, *shape)), wanted)


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
        got = field.many(empty, 0)
        assert got.shape == (0, *field.shape)
        assert got.dtype == field.dtype
    with pytest.raises(ValueError, match="wanted shape"):
        field.many([], 2)


def test_what_has_elements_is_an_array() -> None:
    field = IntField("C.f", "u8")
    sources: list[Any] = [
        [1, 2, 3],
        (1, 2, 3),
        range(1, 4),
        deque([1, 2, 3]),
        UserList([1, 2, 3]),
        array("q", [1, 2, 3]),
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
        got = field.many(source, 3)
        assert got.dtype == np.uint8
        assert got.tolist() == [1, 2, 3]


class _Foreign:
    """What another library's column looks like."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array([1, 2, 3])


def test_rows_of_arrays() -> None:
    field = HandleField("C.f", "entity", (2,))
    unlike = [np.array([1, 2], np.int64), np.array([2**64 - 1, 3], np.uint64), [4, 5]]
    assert field.many(unlike, 3).tolist() == [[1, 2], [2**64 - 1, 3], [4, 5]]
    rows = np.empty(2, object)
    rows[0], rows[1] = np.array([1, 2]), (3, 4)
    assert field.many(rows, 2).tolist() == [[1, 2], [3, 4]]
    for ragged in ([[1, 2], [3]], [np.ones(2, int), np.ones(3, int)], [[1, 2], 3]):
        with pytest.raises(ValueError, match=r"^C\.f: wanted .* differ in"):
            field.many(ragged, 2)


def test_endless_lists_end() -> None:
    endless: list[Any] = []
    endless += [endless, endless]
    deep: Any = 1.0
    for _ in range(5000):
        deep = [deep]
    for value in (endless, deep):
        for field in (FloatField("C.f", "f32"), FloatField("C.f", "f32", (1, 1))):
            for convert in (field.one, lambda v, f=field: f.many(v, 1)):
                with pytest.raises(ValueError, match=r"^C\.f: "):
                    convert(value)


@pytest.mark.parametrize("scalar", ["f32", "f64", "u8", "i64"])
def test_the_managers_own_memory_is_copied(scalar: str) -> None:
    field = FloatField("C.f", scalar) if scalar[0] == "f" else IntField("C.f", scalar)
    buffer = np.zeros(64, np.uint8)
    column: Any = buffer.view(field.dtype)[:4]
    for view in (column, column[::2], column[::-1], memoryview(column), column[:1], column[0:0]):
        got = field.many(view, len(view), buffer)
        assert not np.may_share_memory(got, buffer)
        assert got.tolist() == [0] * len(view)
    other = np.zeros(4, field.dtype)
    assert field.many(other, 4, buffer) is other
    other.flags.writeable = False
    assert field.many(other, 4, buffer) is other
    text = TextField("C.f", 4)
    own = buffer.view("S4")
    assert not np.may_share_memory(text.many(own, len(own), buffer), buffer)
