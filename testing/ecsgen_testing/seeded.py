"""Cases of managers whose kernels draw random numbers."""

from __future__ import annotations

from typing import Any

from .common_cases import Cases
from .reference.random_words import MASK, call_key
from .subject import COPIES


def draw_keys(*holders: Any) -> list[int]:
    """Count a call of each kernel that draws, and return what its numbers have in common."""
    return [
        int(holder._next_call_key(kernel))
        for holder in holders
        for kernel in holder._RANDOM_KERNELS
    ]


class SeededCases(Cases):
    """Cases of kernels that draw."""

    def expected(self, m: Any, call: int) -> list[int]:
        """Return the same as the definition has it."""
        names = [f"{self.subject.label}.{name}" for name in m._RANDOM_KERNELS]
        return [call_key(m.seed, name, call) for name in names]

    def test_keys_of_calls(self, m: Any) -> None:
        assert m.seed == 0
        for seed in (0, 1, MASK):
            m.seed = seed
            assert m.seed == seed
            for call in range(3):
                assert draw_keys(m) == self.expected(m, call)

    def test_copies_go_on(self, m: Any) -> None:
        for seed in (0, 9):
            m.seed = seed
            for call in range(2):
                others = [copied(m) for copied in COPIES]
                assert draw_keys(m) == self.expected(m, call)
                for other in others:
                    assert other.seed == seed
                    assert draw_keys(other) == self.expected(m, call)
