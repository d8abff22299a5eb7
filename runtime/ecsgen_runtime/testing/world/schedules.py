"""Schedules: in a copy of the world, the kernels called one after the other do the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

from ...errors import CapacityError
from ...sizes import Sizes
from ..kernel_inputs import random_cells
from ..subject import Roomy
from .world_kernels import shuffle_one

COUNTS = (0, 3, 41, 1100)
"""None, few, several blocks of numpy, and of compiled code."""


class Call(NamedTuple):
    """One entry of a schedule."""

    holder: str
    """The attribute of the world with the manager whose kernel it is; empty for the world's."""
    kernel: str
    arguments: tuple[str, ...]
    modules: tuple[str, ...]
    """What the entities have that it runs over."""


class Schedule(NamedTuple):
    """A schedule, with values for its arguments in order."""

    arguments: Mapping[str, Any]
    calls: Sequence[Call]


class Cases(Roomy):
    """The schedules of a world."""

    world: ClassVar[Any]
    schedules: ClassVar[Mapping[str, Schedule]]

    def filled(self, schedule: Schedule, count: int) -> Any:
        """Return a world with entities for each kernel."""
        w = self.world()
        try:
            for modules in dict.fromkeys(call.modules for call in schedule.calls):
                if not modules:
                    continue
                known = self.subjects.get
                samples = (
                    s.samples(count) if (s := known(m)) and count < 100 else {}
                    for m in modules
                )
                w.spawn(count, **dict(zip(modules, samples, strict=True)))
        except CapacityError:
            pytest.skip("the handles of this project are too small")
        for call in schedule.calls:
            if call.holder and not call.modules:
                getattr(w, call.holder).create_many(count)
        rng = np.random.default_rng(count)
        for module in w.MANAGERS:
            m = getattr(w, module)
            for column in m.LAYOUT:
                if column.dtype.kind == "f":
                    cells = getattr(m.data, f"_{column.name}_column")[: m.data.n]
                    cells[...] = random_cells(cells.dtype, cells.shape, rng, tame=True)
        return w

    def add_more(self, w: Any, schedule: Schedule) -> None:
        """Add a few more to each kernel's, if there is room for them."""
        with suppress(CapacityError):
            for modules in dict.fromkeys(call.modules for call in schedule.calls):
                if modules:
                    w.spawn(2, **{module: {} for module in modules})
        for call in schedule.calls:
            if call.holder and not call.modules:
                with suppress(CapacityError):
                    getattr(w, call.holder).create_many(2)

    def columns(self, w: Any) -> dict[tuple[str, str], bytes]:
        """Return the cells of all managers."""
        return {
            (module, column.name): getattr(m.data, f"_{column.name}_column")[
                : m.data.n
            ].tobytes()
            for module in w.MANAGERS
            for m in [getattr(w, module)]
            for column in m.LAYOUT
        }

    @pytest.mark.parametrize("count", COUNTS)
    @pytest.mark.parametrize("is_shuffled", [False, True])
    def test_as_the_calls(self, count: int, is_shuffled: bool) -> None:
        """Twice, and of a few more rows the second time."""
        for name, schedule in self.schedules.items():
            w = self.filled(schedule, count)
            if is_shuffled:
                for seed, module in enumerate(w.MANAGERS):
                    shuffle_one(getattr(w, module), seed)
            other = deepcopy(w)
            with np.errstate(all="ignore"):
                for _ in range(2):
                    with Sizes.of(block_rows=(8, 8)):
                        getattr(w, name)(*schedule.arguments.values())
                    for call in schedule.calls:
                        holder = getattr(other, call.holder) if call.holder else other
                        given = [schedule.arguments[key] for key in call.arguments]
                        getattr(holder, call.kernel)(*given)
                    assert self.columns(w) == self.columns(other)
                    for each in (w, other):
                        self.add_more(each, schedule)

    def test_what_is_wrong_changes_nothing(self) -> None:
        for name, schedule in self.schedules.items():
            w = self.filled(schedule, 5)
            before = self.columns(w)
            for wrong in schedule.arguments:
                given = {**schedule.arguments, wrong: "wrong"}
                with pytest.raises((TypeError, ValueError)):
                    getattr(w, name)(**given)
                assert self.columns(w) == before
