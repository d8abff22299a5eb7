"""What is saved of a shard beside what every world saves: its number and its visitors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ...snapshots.codecs import Codecs
from ...snapshots.contents import parts_of, state_of
from ...snapshots.saved import Document
from ...snapshots.writing import Part, single

VISITORS: Final = "entities.visitors"
SLOTS: Final = "entities.slots"
IDLE: Final = "entities.idle"


def shard_parts(world: Any, codecs: Codecs) -> Iterator[Part]:
    """Return all tensors of a world, in places from which they can be mapped; views mostly."""
    yield from parts_of(world, codecs)
    state = world.entities.__getstate__()
    yield single(VISITORS, state["visitors"])
    yield single(SLOTS, state["slots"].astype(np.uint32))
    yield single(IDLE, state["idle"].astype(np.uint32))


def shard_state(world: Any, attributes: Document) -> Document:
    """Return the numbers of a world, and those of its attributes that are JSON."""
    state = state_of(world, attributes)
    entities = world.entities
    n_retired = entities._n_retired - entities._revived
    return state | {"entities": {"n_retired": n_retired, "shard": entities.shard}}
