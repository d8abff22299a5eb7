"""Snapshots broken at random are refused, or are worlds like any other."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fuzz_snapshots import try_one

_BLOCK = 40


@pytest.mark.parametrize("start", range(0, 200, _BLOCK))
def test_what_is_broken_is_refused_or_loads_as_it_is(start: int) -> None:
    outcomes: Counter[str] = Counter()
    for seed in range(start, start + _BLOCK):
        try:
            outcomes[try_one(seed)] += 1
        except BaseException as error:
            error.add_note(f"seed {seed}: python -m tests.fuzz_snapshots 1 --start {seed}")
            raise
    kinds = {outcome.partition(":")[0] for outcome in outcomes}
    assert {"bytes", "cells"} <= kinds
