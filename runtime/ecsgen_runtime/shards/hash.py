"""lookup: hash: the whole handle is the key, so visitors are found as others are."""

from __future__ import annotations

from ..maps.hash import Hash
from ..state import NO_SLOTS
from .visited import Visited


class ShardedHash(Visited, Hash):
    """A manager that finds rows in a dict by handle; those of the dead are in nobody's way."""

    __slots__ = NO_SLOTS
