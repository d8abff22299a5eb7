"""Kernels that draw random numbers: the seed, and how often each was called since."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ..convert.numbers import IntField
from ..manager import Manager
from ..state import NO_SLOTS
from .chance import draw_key


class Chance:
    """A seed, and the calls of each kernel since it was set. Pickles and copies."""

    __slots__ = ("calls", "seed")

    def __init__(self, seed: int = 0, calls: Mapping[str, int] | None = None) -> None:
        self.reset(seed, calls)

    def reset(self, seed: int, calls: Mapping[str, int] | None = None) -> None:
        """Begin with a seed, as if there had been so many calls."""
        self.seed = seed
        self.calls = dict(calls or {})

    def key(self, kernel: str, number: int) -> np.uint64:
        """Count a call and return what its random numbers have in common.

        `number`: the hash of the kernel's name.
        """
        call = self.calls.get(kernel, 0)
        self.calls[kernel] = call + 1
        return draw_key(self.seed, number, call)

    def notes(self) -> dict[str, Any]:
        """Return what is not as at first, as JSON."""
        seed = {"seed": self.seed} if self.seed else {}
        return {**seed, **({"calls": dict(self.calls)} if self.calls else {})}


def noted_chance(notes: Mapping[str, Any], kernels: Mapping[str, int]) -> Chance:
    """Return what notes say; calls of kernels that do not draw any more are dropped."""
    calls = notes.get("calls", {})
    known = {kernel: calls[kernel] for kernel in calls if kernel in kernels}
    return Chance(notes.get("seed", 0), known)


def checked_seed(owner: object, seed: int) -> int:
    """Return a seed as an int. OverflowError or TypeError for what is no u64."""
    number: int = IntField(f"{type(owner).__name__}.seed", "u64").one(seed)
    return number


class Seeded(Manager):
    """A manager whose kernels draw random numbers."""

    __slots__ = NO_SLOTS
    _DRAWING: ClassVar[Mapping[str, int]]
    """The kernels that draw, and the hashes of their names."""
    _chance: Chance

    @property
    def seed(self) -> int:
        """Where random numbers come from, 0 to 2^64 - 1; 0 at first.

        The same seed, kernels, calls and entities give the same numbers. Assigning one
        counts calls from 0 again. Saved and copied with the rest.
        """
        return self._chance.seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._chance = Chance(checked_seed(self, seed))

    def _draw_key(self, kernel: str) -> np.uint64:
        return self._chance.key(kernel, self._DRAWING[kernel])

    def _start(self) -> None:
        super()._start()
        self._chance = Chance()

    def _notes(self) -> dict[str, Any]:
        return {**super()._notes(), **self._chance.notes()}

    def _take_notes(self, notes: Mapping[str, Any]) -> None:
        super()._take_notes(notes)
        self._chance = noted_chance(notes, self._DRAWING)
