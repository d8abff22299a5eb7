"""What compiled kernels call, and lookups in one pass: to the bit what numpy and the runtime do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.bulk import Bulk
from ecsgen_runtime.errors import StaleInstanceError
from ecsgen_runtime.handles import NIL
from ecsgen_runtime.policies.maps import sparse_map
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.kernel_package import differing
from tests.support.soak import examples

pytest.importorskip("numba")

from ecsgen_runtime.compiled import arithmetic  # needs numba
from ecsgen_runtime.compiled.compiled_bulk import CompiledBulk

SPECIAL = [0.0, -0.0, 1, -1, 3, -3, 0.5, -0.5, 0.1, 7, 1e30, -1e30, 1e-30, 255.5]
FLOATS = [*SPECIAL, np.inf, -np.inf, np.nan, 2.0**63, -(2.0**63), 2.0**64, 2.0**53 + 2]
MASK = 0xFFFF_FFFF


def pairs(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    left, right = np.meshgrid(values, values)
    return left.ravel(), right.ravel()


@pytest.mark.parametrize("scalar", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("compiled", "ufunc"),
    [
        (arithmetic.remainder, np.remainder),
        (arithmetic.floor_divide, np.floor_divide),
        (arithmetic.minimum, np.minimum),
        (arithmetic.maximum, np.maximum),
    ],
    ids=["remainder", "floor_divide", "minimum", "maximum"],
)
def test_floats(scalar: Any, compiled: Callable[..., Any], ufunc: Any) -> None:
    random = np.random.default_rng(1)
    drawn = random.standard_normal(40) * 10.0 ** random.integers(-3, 4, 40)
    left, right = pairs(np.array([*FLOATS, *drawn], scalar))
    found = np.array([compiled(a, b) for a, b in zip(left, right, strict=True)], scalar)
    with np.errstate(all="ignore"):
        expected = ufunc(left, right)
    if ufunc in (np.minimum, np.maximum):  # of two zeros, either
        found, expected = found + 0, expected + 0
    assert not differing(found, expected).any()


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_integers_neither_trap_nor_raise(name: str) -> None:
    left, right = pairs(np.array([-(2**63), 2**63 - 1, 0, 1, -1, 5, -5, 7]))
    compiled = getattr(arithmetic, f"{name}_int64")
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(left, right)
    found = [compiled(a, b) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    assert found == expected.tolist()


def test_floats_cut_to_integers() -> None:
    cut = arithmetic.as_int64
    assert [cut(x) for x in (1.9, -1.9, np.nan, np.inf, -np.inf, 2.0**63)] == [
        *(1, -1, 0, 2**63 - 1, -(2**63), 2**63 - 1)
    ]
    assert [int(arithmetic.as_uint64(x)) for x in (-1.0, 2.0**63, 2.0**64, np.nan)] == [
        *(0, 2**63, 2**64 - 1, 0)
    ]
    assert arithmetic.between(300.0, 0.0, 255.0) == 255.0


def test_powers_wrap() -> None:
    for base in (3, -7, 2**40 + 1):
        wrapped = (pow(base, 5) + 2**63) % 2**64 - 2**63
        assert arithmetic.whole_power(base, 5) == wrapped
    assert arithmetic.whole_power(np.uint64(2**63 + 3), 0) == 1


handles = st.builds(lambda generation, index: generation << 32 | index, *[st.integers(0, 40)] * 2)


@settings(deadline=None, max_examples=examples(100))
@given(
    owners=st.lists(st.integers(0, 40), unique=True, max_size=20),
    asked=st.lists(handles | st.integers(0, 2**64 - 1), max_size=30),
    size=st.integers(0, 64),
)
def test_lookups(owners: list[int], asked: list[int], size: int) -> None:
    indices = np.array([index for index in owners if index < size], np.uint64)
    column = indices | np.uint64(3 << 32)
    rows_of = sparse_map(size)
    rows_of[indices.view(np.intp)] = np.arange(len(indices))
    given = np.array([*column.tolist(), *asked], np.uint64)
    found = CompiledBulk.sparse_lookup(rows_of, column, given, MASK)
    assert found.tolist() == Bulk.sparse_lookup(rows_of, column, given, MASK).tolist()
    assert found.dtype == np.intp
    by_index = np.zeros(size, np.uint64)
    by_index[indices.view(np.intp)] = column
    found = CompiledBulk.direct_lookup(by_index, given, MASK)
    assert found.tolist() == Bulk.direct_lookup(by_index, given, MASK).tolist()
    assert all(row == NIL or by_index[row] == e for row, e in zip(found, given, strict=True))


@settings(deadline=None, max_examples=examples(100))
@given(given=st.lists(st.integers(0, 63), max_size=40), n=st.sampled_from([64, 10_000]))
def test_distinct_rows(given: list[int], n: int) -> None:
    array = np.array(given, np.intp)
    if len(set(given)) == len(given):
        found = CompiledBulk.distinct(array, n, "M")
        assert found.tolist() == Bulk.distinct(array, n, "M").tolist() == sorted(given)
        return
    messages = []
    for function in (CompiledBulk.distinct, Bulk.distinct):
        with pytest.raises(StaleInstanceError) as caught:
            function(array, n, "M")
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
