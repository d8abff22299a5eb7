"""Kernels of the world: the same for every order of the managers, and for those concerned only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest

from ...errors import CapacityError, StructureLockedError
from ..subject import Roomy, same

COUNT = 12


def shuffle(w: Any, over: str, modules: tuple[str, ...]) -> None:
    """Let the orders of managers, or of the group, differ."""
    for seed, module in enumerate(modules):
        shuffle_one(getattr(w, module), seed)
    if hasattr(getattr(w, over), "reorder"):
        shuffle_one(getattr(w, over), 0)


def shuffle_one(holder: Any, seed: int) -> None:
    """Change the order of a manager that has one of its own, or of a group."""
    if hasattr(holder, "reorder") and not hasattr(holder, "is_active"):
        with suppress(StructureLockedError):  # a member of a group
            holder.reorder(np.random.default_rng(seed).permutation(rows_of(holder)))


def rows_of(holder: Any) -> int:
    """Return how many rows a manager or a group has."""
    return int(holder.data.n if hasattr(holder, "data") else holder.n)


def grow(module: str, w: Any) -> None:
    """Give a manager a larger buffer, if it can have another."""
    manager = getattr(w, module)
    manager.reserve(manager.data.allocated + 64)


def shrink(module: str, w: Any) -> None:
    """Give a manager a smaller buffer, if it can have another."""
    getattr(w, module).shrink_to_fit()


def run(w: Any, kernel: str, arguments: tuple[Any, ...]) -> None:
    """Run a kernel, whatever numbers the samples grow to."""
    with np.errstate(all="ignore"):
        getattr(w, kernel)(*arguments)


class Cases(Roomy):
    """The kernels of a world."""

    world: ClassVar[Any]
    kernels: ClassVar[Mapping[str, tuple[str, tuple[str, ...], tuple[Any, ...]]]]
    """What each runs over, the components there, and some arguments."""

    def filled(self, modules: tuple[str, ...]) -> Any:
        """Return a world of entities that have all of some components, in one order."""
        w = self.world()
        columns = {name: self.subjects[name].samples(COUNT) for name in modules}
        try:
            w.spawn(COUNT, **columns)
        except CapacityError:
            pytest.skip("the handles of this project are too small")
        return w

    def rows(self, w: Any, e: int, modules: tuple[str, ...]) -> list[Any]:
        """Return an entity's rows."""
        managers = [getattr(w, module) for module in modules]
        return [manager.row(manager.require(e)) for manager in managers]

    def test_in_any_order(self) -> None:
        for kernel, (over, modules, arguments) in self.kernels.items():
            w = self.filled(modules)
            other = deepcopy(w)
            shuffle(other, over, modules)
            dead = list(other.entities)[COUNT // 2]
            other.destroy(dead)  # so that no manager's rows follow each other
            versions = [getattr(other, module).version for module in modules]
            run(w, kernel, arguments)
            run(other, kernel, arguments)
            assert versions == [getattr(other, m).version for m in modules]
            for e in other.entities:
                pairs = zip(
                    self.rows(w, e, modules), self.rows(other, e, modules), strict=True
                )
                assert all(same(one, another) for one, another in pairs)

    def test_others_are_left_alone(self) -> None:
        for kernel, (_, modules, arguments) in self.kernels.items():
            w = self.filled(modules)
            one = getattr(w, modules[0])
            shuffle_one(one, 1)
            for module in modules[1:]:
                getattr(w, module).remove_many(list(w.entities)[::2])
            entities = list(w.entities)
            before = {e: one.row(one.require(e)) for e in entities}
            run(w, kernel, arguments)
            outside = entities[::2] if len(modules) > 1 else []
            assert all(same(one.row(one.require(e)), before[e]) for e in outside)

    def changes(
        self, over: str, modules: tuple[str, ...]
    ) -> Iterator[Callable[[Any], object]]:
        """Yield what changes how many rows there are, in which order, in which buffers."""
        more = {name: self.subjects[name].samples(2) for name in modules}
        yield lambda w: w.spawn(2, **more)
        yield from (partial(grow, name) for name in modules)
        yield lambda w: shuffle(w, over, modules)
        yield lambda w: w.destroy_many(list(w.entities)[1:4])
        yield lambda w: w.collect()
        yield from (partial(shrink, name) for name in modules)

    def test_what_is_kept_is_not_seen(self) -> None:
        """A copy of the world, which has nothing of earlier calls, does the same."""
        for kernel, (over, modules, arguments) in self.kernels.items():
            w = self.filled(modules)
            for change in self.changes(over, modules):
                run(w, kernel, arguments)
                with warnings.catch_warnings(), suppress(CapacityError):
                    warnings.simplefilter("error")  # nobody holds a view
                    change(w)
                other = deepcopy(w)
                run(w, kernel, arguments)
                run(other, kernel, arguments)
                for e in w.entities:
                    pairs = zip(
                        self.rows(w, e, modules),
                        self.rows(other, e, modules),
                        strict=True,
                    )
                    assert all(same(one, another) for one, another in pairs)

    def test_over_nobody(self) -> None:
        for kernel, (_, _, arguments) in self.kernels.items():
            run(self.world(), kernel, arguments)
