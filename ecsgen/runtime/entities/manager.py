"""stub"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..callbacks import Dispatch
from .handles import Entity, EntityArray


class EntityManager:
    dispatch: Dispatch
    _cells: memoryview[Entity]

    def alive(self, e: object) -> bool: ...
    def alive_many(self, e: object) -> NDArray[np.bool_]: ...
    def require(self, e: object) -> Entity: ...
    def require_many(self, e: object) -> EntityArray: ...
    def _require_handles(self, e: EntityArray, es: ArrayLike) -> EntityArray: ...
    def _attach(
        self, a: Callable[[], object], b: Callable[[EntityArray], object]
    ) -> None: ...
