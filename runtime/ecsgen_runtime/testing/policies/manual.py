"""Rows of dead entities are the user's to destroy."""

from __future__ import annotations

from . import lingering


class Rules(lingering.Rules):
    """Nothing more than rows that stay."""


class Cases(lingering.Cases):
    """There is nothing that collects."""

    def test_nothing_collects(self) -> None:
        _, m = self.new()
        assert not hasattr(m, "gc")
        assert not hasattr(m, "collect")
