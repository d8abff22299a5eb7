"""What a kernel is called with: arguments, one value for all rows or one for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernel_cells import Value, flat, random_cells


class Each(NamedTuple):
    """An argument with a value for each row."""

    kind: str
    shape: tuple[int, ...]
    enum: Any = None


def argument(
    rng: np.random.Generator, kind: str, shape: tuple[int, ...], enum: Any = None
) -> NDArray[Any]:
    """Return random values of an argument's type, of a shape."""
    if enum is not None:
        return rng.choice(np.array(list(enum), kind), shape)
    if np.dtype(kind).kind == "f" and rng.random() < 0.3:  # a share, or a chance
        return np.asarray(rng.random(shape)).astype(kind)
    return np.asarray(random_cells(np.dtype(kind), shape, rng))


class Inputs:
    """Values of all arguments, for some number of rows."""

    def __init__(
        self,
        kinds: Mapping[str, tuple[Any, ...]],
        rng: np.random.Generator,
        rows: int = 0,
    ) -> None:
        self._kinds = kinds
        self._rng = rng
        self._values = {
            key: argument(
                rng,
                kind[0],
                ((rows,) if isinstance(kind, Each) else ()) + kind[1],
                *kind[2:],
            )
            for key, kind in kinds.items()
        }

    def of(self, rows: int) -> Inputs:
        """Return the same values for all rows, with others for each of so many."""
        found = Inputs(self._kinds, self._rng, rows)
        for key, kind in self._kinds.items():
            if not isinstance(kind, Each):
                found._values[key] = self._values[key]
        return found

    def one_of(self, key: str, values: Sequence[float]) -> float:
        """Let an argument be one of some values, and return it."""
        chosen = self._rng.choice(np.array(values, self._values[key].dtype))
        self._values[key] = np.asarray(chosen)
        return float(chosen)

    def lead(self, pool: NDArray[np.uint64]) -> None:
        """Let arguments that may be handles be some of a pool."""
        for key, value in self._values.items():
            if value.dtype == pool.dtype:
                self._values[key] = self._rng.choice(pool, value.shape)

    @property
    def plain(self) -> dict[str, Any]:
        """What a call takes."""
        return {key: value.tolist() for key, value in self._values.items()}

    def cells(self, place: int) -> list[Value]:
        """Return what the steps of one row take: the row at a place."""
        return [
            flat(value[place] if isinstance(self._kinds[key], Each) else value)
            for key, value in self._values.items()
        ]
