"""lookup: hash: the whole handle is the key, so visitors are found as others are."""

from __future__ import annotations

from ..maps.hash import Hash as OneWorldsHash
from ..state import NO_SLOTS
from .visited import Visited


class Hash(Visited, OneWorldsHash):
    """A manager that finds rows in a dict by handle; those of the dead are in nobody's way."""

    __slots__ = NO_SLOTS
