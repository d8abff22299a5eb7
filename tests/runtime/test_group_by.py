"""Members of groups: by counting, by sorting, and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.tables.bulk import Bulk


@pytest.fixture(params=["counted or sorted", "compiled"])
def bulk(request: pytest.FixtureRequest) -> Any:
    if request.param != "compiled":
        return Bulk
    return pytest.importorskip("ecsgen_runtime.tables.compiled_bulk").CompiledBulk


@pytest.mark.parametrize("count", [1, 1 << 16, (1 << 16) + 1, 1 << 20])
@pytest.mark.parametrize("size", [0, 1, 3_000])
def test_members_are_ascending_in_each_group(bulk: Any, count: int, size: int) -> None:
    keys = np.random.default_rng(count + size).integers(0, count, size)
    keys[-2:] = count - 1
    starts, members = bulk.group_by(keys, count)
    assert starts.dtype == members.dtype == np.dtype(np.intp)
    assert members.tolist() == sorted(range(size), key=lambda k: (keys[k], k))
    assert starts.tolist() == [0, *np.bincount(keys, minlength=count).cumsum().tolist()]
