"""A member of a group on its own: packed rows, as long as no world tells it of mates."""

from __future__ import annotations

from . import packed


class Rules(packed.Rules):
    """Nothing is in the group."""


class Cases(packed.Cases):
    """Nothing is in the group; the world's tests have the rest."""
