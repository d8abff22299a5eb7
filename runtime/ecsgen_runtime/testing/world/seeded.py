"""A world whose kernels, or whose managers' kernels, draw random numbers."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any, ClassVar

import pytest

from ..subject import CODECS


class Cases:
    """The seed of a world."""

    world: ClassVar[Any]

    def seeded(self, w: Any) -> list[Any]:
        """Return the world and the managers that have a seed."""
        managers = (getattr(w, name) for name in w.MANAGERS)
        return [w, *(manager for manager in managers if hasattr(manager, "_chance"))]

    def keys(self, w: Any) -> list[int]:
        """Count a call of each kernel that draws, and return what its numbers have in common."""
        return [int(m._draw_key(name)) for m in self.seeded(w) for name in m._DRAWING]

    def test_one_seed_for_all(self) -> None:
        w = self.world()
        first = self.keys(w)
        assert first != self.keys(w)
        w.seed = 5
        assert {m.seed for m in self.seeded(w)} == {5}
        other = self.keys(w)
        assert not set(first) & set(other)
        w.seed = 0
        assert self.keys(w) == first
        with pytest.raises((OverflowError, ValueError), match="seed"):
            w.seed = 2**64
        assert {m.seed for m in self.seeded(w)} == {0}

    def test_copies_and_files_go_on(self) -> None:
        w = self.world()
        for seed in (0, 2**64 - 1):
            w.seed = seed
            self.keys(w)
            others = [deepcopy(w), pickle.loads(pickle.dumps(w))]
            data = w.to_bytes(codecs=CODECS)
            others.append(type(w).load(data, codecs=CODECS))
            expected = self.keys(w)
            for other in others:
                assert other.seed == seed
                assert self.keys(other) == expected

    def test_nothing_is_saved_of_a_new_seed(self) -> None:
        w = self.world()
        before = w.to_bytes(codecs=CODECS)
        self.keys(w)
        assert w.to_bytes(codecs=CODECS) != before
        w.seed = 0
        assert w.to_bytes(codecs=CODECS) == before
