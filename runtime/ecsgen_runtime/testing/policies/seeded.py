"""Kernels draw random numbers: the seed and the calls of each are part of a manager's state."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from .. import base, machine
from ..chance import ALL, STEP, mix, name_hash

COPIES: tuple[Callable[[Any], Any], ...] = (
    deepcopy,
    lambda m: pickle.loads(pickle.dumps(m)),
)


class Rules(machine.Machine):
    """Structural changes have nothing to do with random numbers."""


class Cases(base.Cases):
    """What calls of kernels have in common."""

    def keys(self, m: Any) -> list[int]:
        """Count a call of each kernel that draws, and return what its numbers have in common."""
        return [int(m._draw_key(kernel)) for kernel in m._DRAWING]

    def expected(self, m: Any, call: int) -> list[int]:
        """Return the same as the definition has it."""
        hashes = [name_hash(f"{self.subject.label}.{name}") for name in m._DRAWING]
        return [mix(mix(m.seed ^ h) + call * STEP & ALL) for h in hashes]

    def test_keys_of_calls(self) -> None:
        _, m = self.new()
        assert m.seed == 0
        for seed in (0, 1, ALL):
            m.seed = seed
            assert m.seed == seed
            for call in range(3):
                assert self.keys(m) == self.expected(m, call)

    def test_seeds_that_are_none(self) -> None:
        _, m = self.new()
        m.seed = 7
        self.keys(m)
        for seed in (-1, ALL + 1, 1.0, "1", True, None):
            with pytest.raises((ValueError, OverflowError, TypeError), match="seed"):
                m.seed = seed
        assert m.seed == 7
        assert self.keys(m) == self.expected(m, 1)

    def test_copies_go_on(self) -> None:
        _, m = self.new()
        for seed in (0, 9):
            m.seed = seed
            for call in range(2):
                others = [copied(m) for copied in COPIES]
                assert self.keys(m) == self.expected(m, call)
                for other in others:
                    assert other.seed == seed
                    assert self.keys(other) == self.expected(m, call)
