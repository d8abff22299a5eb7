"""How fast memory lets a query be: C over the very rows that a query finds."""

from __future__ import annotations

from ctypes import c_float, c_size_t
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _native import compiled, pointer_to
from _systems import DT, Make, Managers, Order, Start, columns, package
from numpy.typing import NDArray


class Floor:
    """A loop in C over the rows of a query, which are asked for once."""

    def __init__(self, made: Any, loop: Any, order: Order, start: Start) -> None:
        self._managers = Managers(made, columns, order, start)
        world = self._managers.world
        rows = world.movers.rows()
        self._loop = partial(
            loop,
            len(rows.entity),
            DT,
            rows.velocity,
            rows.position,
            world.velocity.data.value,
            world.position.data.value,
        )

    def step(self) -> None:
        self._loop()

    def position(self) -> NDArray[np.float32]:
        return self._managers.position()


def floor(folder: Path, loop: str, order: Order) -> Make:
    """Compile the loop of a C file; raises `MissingError` without gcc."""
    source = Path(__file__).with_name(loop)
    rows, array = pointer_to(np.intp), pointer_to(np.float32)
    types = c_size_t, c_float, rows, rows, array, array
    return partial(
        Floor, package(folder, "systems_query.yaml"), compiled(folder, source, *types), order
    )
