"""Bulk arguments of entities, and the queue of freed indices."""

from __future__ import annotations

import array
import subprocess
import sys
from collections import deque
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.given_arrays import all_different, are_held, as_entities, first_repeat
from ecsgen_runtime.living import IndexQueue
from hypothesis import given
from hypothesis import strategies as st

integers = st.integers() | st.sampled_from([-1, 2**63 - 1, 2**63, 2**64 - 1, 2**64])


class Handle:
    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def possible(number: int) -> int:
    return number if 0 <= number < 2**64 else 0


@given(st.lists(integers), st.sampled_from([list, tuple, deque]))
def test_any_integers_stay_exact_or_become_null(numbers: list[int], kind: Any) -> None:
    found = as_entities(kind(numbers))
    assert found.dtype == np.uint64
    assert found.tolist() == [possible(number) for number in numbers]


@given(st.lists(integers))
def test_integers_of_many_kinds_in_one_list(numbers: list[int]) -> None:
    mixed: list[Any] = [Handle(n) if i % 2 else n for i, n in enumerate(numbers)]
    assert as_entities(mixed).tolist() == [possible(number) for number in numbers]
    objects = np.empty(len(mixed), object)
    objects[:] = mixed
    assert as_entities(objects).tolist() == [possible(number) for number in numbers]


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", ">i4", "u1", "u2", "u4", "u8", ">u8"])
def test_integer_arrays_of_every_type(dtype: str) -> None:
    limits = np.iinfo(dtype)
    given_numbers = np.array([limits.min, 0, 1, limits.max], dtype)
    expected = [possible(int(number)) for number in given_numbers]
    assert as_entities(given_numbers).tolist() == expected
    assert as_entities(given_numbers[::-2]).tolist() == expected[::-2]
    assert as_entities(given_numbers).dtype == np.dtype("=u8")


def test_an_array_of_handles_is_taken_as_it_is() -> None:
    es = np.arange(5, dtype=np.uint64)
    assert as_entities(es) is es


@pytest.mark.parametrize(
    "es",
    [range(3), array.array("Q", [0, 1, 2]), memoryview(array.array("i", [0, 1, 2]))],
)
def test_other_sequences(es: Any) -> None:
    assert as_entities(es).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "es",
    [
        5,
        None,
        "12",
        b"12",
        {1, 2},
        {1: 2},
        iter([1, 2]),
        np.uint64(5),
        [1.0],
        [2**63, 1.5],
        ["1"],
        [None],
        [Fraction(1)],
        [True, False],
        np.array([True]),
        np.array([1.0]),
        np.array([], float),
        np.array([1], complex),
        np.array([1], "m8[s]"),
        np.array([(1,)], [("e", "u8")]),
        np.ma.array([1, 2], mask=[True, False], dtype=np.uint64),
    ],
)
def test_anything_but_integers_is_refused(es: Any) -> None:
    with pytest.raises(TypeError):
        as_entities(es)


@pytest.mark.parametrize("es", [[[1, 2]], [[]], np.zeros((2, 2), np.uint64), [[1], [2, 3]]])
def test_only_flat_arrays(es: Any) -> None:
    with pytest.raises(ValueError, match=r"flat|shape"):
        as_entities(es)


def test_an_exact_array_does_not_load_masked_arrays() -> None:
    code = (
        "import sys, numpy; from ecsgen_runtime.given_arrays import as_entities;"
        "as_entities(numpy.zeros(3, numpy.uint64)); assert 'numpy.ma' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@given(st.lists(st.integers(0, 300), max_size=60), st.integers(301, 3000))
def test_repetitions_are_found(indices: list[int], bound: int) -> None:
    found = np.array(indices, np.int64)
    assert all_different(found, bound) == (len(set(indices)) == len(indices))
    expected = next((i for i, n in enumerate(indices) if n in indices[:i]), len(indices))
    assert first_repeat(found) == expected


@given(
    st.lists(st.integers(0, 2**20), min_size=1, max_size=40), st.integers(0, 40_000), st.integers(1)
)
def test_held_handles_are_found_in_blocks(cells: list[int], k: int, seed: int) -> None:
    held = np.array(cells, np.uint64)
    es = np.random.default_rng(seed).choice(np.array([*cells, 7, 2**40], np.uint64), k)
    expected = held[np.minimum(es & 0xFF, len(cells) - 1).astype(int)] == es
    assert (are_held(held, es, 0xFF) == expected).all()


actions = st.lists(
    st.tuples(st.sampled_from(["push", "pop", "push_many", "drop", "put_back"]), st.integers(0, 90))
)


@given(actions)
def test_the_queue_is_a_queue(steps: list[tuple[str, int]]) -> None:
    queue, model = IndexQueue(), deque[int]()
    for number, (step, n) in enumerate(steps):
        many = range(number * 100, number * 100 + n)
        if step == "push":
            queue.push(number)
            model.append(number)
        elif step == "push_many":
            queue.push_many(np.array(many, np.int64))
            model.extend(many)
        elif step == "put_back":
            queue.put_back(np.array(many, np.int64))
            model.extendleft(reversed(many))
        elif step == "pop" and model:
            assert queue.pop() == model.popleft()
        elif step == "drop":
            n = min(n, len(model))
            assert queue.first(n).tolist() == [model.popleft() for _ in range(n)]
            queue.drop(n)
        assert queue.count == len(model)
        assert queue.first(queue.count).tolist() == list(model)


def test_the_queue_holds_the_largest_index() -> None:
    queue = IndexQueue()
    queue.push(2**32 - 1)
    queue.push_many(np.array([2**32 - 1]))
    assert [queue.pop(), queue.pop()] == [2**32 - 1] * 2
    assert queue.nbytes == 256
