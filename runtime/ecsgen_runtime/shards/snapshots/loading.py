"""A shard is made of a snapshot of its own schema."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...snapshots.loading import Loading
from ..ids import IDS
from ..ids import SLOTS as ID_SLOTS
from .contents import IDLE, SLOTS, VISITORS


class ShardedLoading(Loading):
    """Takes what a snapshot says into a new world, visitors included."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._extras = (*self._extras, IDS, ID_SLOTS)

    def _load_entities(self, entities: Any) -> None:
        super()._load_entities(entities)
        arrays = self._saved.arrays
        entities._begin(self._saved.state["entities"]["shard"])
        slots = arrays[SLOTS].astype(np.intp)
        entities._welcome(arrays[VISITORS], slots, arrays[IDLE].astype(np.intp))
