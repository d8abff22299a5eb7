"""Members of groups: by counting, by sorting, and compiled."""

from __future__ import annotations

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Bulk


@pytest.mark.parametrize("count", [1, 1 << 16, (1 << 16) + 1, 1 << 20])
@pytest.mark.parametrize("size", [0, 1, 3_000])
def test_members_are_ascending_in_each_group(count: int, size: int) -> None:
    keys = np.random.default_rng(count + size).integers(0, count, size)
    keys[-2:] = count - 1
    starts, members = Bulk.group_by(keys, count)
    assert starts.dtype == members.dtype == np.dtype(np.intp)
    assert members.tolist() == sorted(range(size), key=lambda k: (keys[k], k))
    assert starts.tolist() == [0, *np.bincount(keys, minlength=count).cumsum().tolist()]


def test_compiled_members_are_the_same() -> None:
    numba_bulk = pytest.importorskip("ecsgen_runtime.tables.compiled_bulk").CompiledBulk
    keys = np.random.default_rng(1).integers(0, 70_000, 3_000)
    for ours, theirs in zip(
        Bulk.group_by(keys, 70_000), numba_bulk.group_by(keys, 70_000), strict=True
    ):
        assert ours.tolist() == theirs.tolist()
