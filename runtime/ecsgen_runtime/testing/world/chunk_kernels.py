"""Kernels over chunks: each row as if it were alone, whatever chunk it is in."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, ClassVar

import numpy as np

from ..chunks.base import Members
from ..subject import same

COUNT = 150


class Cases(Members):
    """The kernels over chunks of a world."""

    kernels: ClassVar[Mapping[str, tuple[str, tuple[str, ...], tuple[Any, ...]]]]
    """What each runs over, components with which it runs, and some arguments."""
    written: ClassVar[Mapping[str, tuple[tuple[str, str], ...]]]
    """By kernel: the fields that it may change, with their components."""

    def filled(self, modules: Iterable[str]) -> Any:
        """Return a world of entities that have some components, in chunks of a few rows."""
        with self.small_chunks():
            w = self.world()
        self.created(w, modules, COUNT)
        return w

    def rows_of(self, w: Any) -> dict[int, list[Any]]:
        """Return each entity's rows."""
        return {e: self.rows_of_one(w, e) for e in w.entities}

    def rows_of_one(self, w: Any, e: int) -> list[Any]:
        store = w.archetypes
        return [store.get(e, row) for row in store.components(e)]

    def expected(self, kernel: str, w: Any) -> dict[int, list[Any]]:
        """Return what each row becomes on its own, in a world without any other."""
        found, alone = self.rows_of(w), self.world()
        modules = {subject.row: module for module, subject in self.members.items()}
        for e, rows in found.items():
            given = {modules[type(row)]: row._asdict() for row in rows}
            (one,) = alone.archetypes.create(map(type, rows), 1, **given).tolist()
            self.run(kernel, alone)
            found[e] = self.rows_of_one(alone, one)
            alone.destroy(one)
        return found

    def run(self, kernel: str, w: Any) -> None:
        with np.errstate(all="ignore"):  # whatever numbers the samples grow to
            getattr(w, kernel)(*self.kernels[kernel][2])

    def check(self, kernel: str, w: Any) -> None:
        """Run a kernel and compare with what it does to each row on its own."""
        expected = self.expected(kernel, w)
        version = w.archetypes.version
        with w.archetypes.locked():
            self.run(kernel, w)
        assert w.archetypes.version == version
        found = self.rows_of(w)
        assert all(same(found[e], rows) for e, rows in expected.items())

    def others(self, kernel: str, row: Any) -> list[Any]:
        """Return the fields of a row that a kernel leaves alone."""
        written = self.written[kernel]
        named = row._asdict().items()
        return [v for name, v in named if (type(row).__name__, name) not in written]

    def test_other_fields_stay(self) -> None:
        for kernel, (_, modules, _) in self.kernels.items():
            w = self.filled(modules)
            before = self.rows_of(w)
            self.run(kernel, w)
            for e, rows in self.rows_of(w).items():
                for row, old in zip(rows, before[e], strict=True):
                    assert same(self.others(kernel, row), self.others(kernel, old))

    def test_whatever_else_they_have(self) -> None:
        for kernel, (query, modules, _) in self.kernels.items():
            w = self.filled(modules)
            refused = getattr(w, query)._NONE
            w.archetypes.clear()
            more = [m for m, s in self.members.items() if s.row not in refused]
            self.created(w, more, COUNT)
            self.check(kernel, w)
            self.created(w, modules, COUNT)
            self.check(kernel, w)
            w = self.filled(modules)
            for module in sorted(set(self.members) - set(modules)):
                row, entities = self.row_class(module), list(w.entities)
                w.archetypes.add_many(entities[::3], row)
                self.check(kernel, w)
                outside = set(entities) - set(getattr(w, query).rows().entity.tolist())
                before = self.rows_of(w)
                self.run(kernel, w)
                after = self.rows_of(w)
                assert all(same(after[e], before[e]) for e in outside)
                w.archetypes.remove_many(entities[::3], row)

    def test_after_any_change(self) -> None:
        for kernel, (query, modules, _) in self.kernels.items():
            w = self.filled(modules)
            self.check(kernel, w)
            self.created(w, modules, 1)
            self.check(kernel, w)
            w.destroy_many(list(w.entities)[3::2])
            self.check(kernel, w)
            self.created(w, modules, COUNT // 2)
            self.check(kernel, w)
            found = getattr(w, query).rows().entity
            w.archetypes.remove_many(found[::4], self.row_class(modules[0]))
            self.check(kernel, w)
            w.archetypes.shrink_to_fit()
            self.check(kernel, w)
            w.archetypes.clear()
            self.check(kernel, w)
            self.created(w, modules, 3)
            self.check(kernel, w)

    def test_copies_have_chunks_of_their_own(self) -> None:
        for kernel, (_, modules, _) in self.kernels.items():
            w = self.filled(modules)
            self.run(kernel, w)
            before = self.rows_of(w)
            for other in (deepcopy(w), pickle.loads(pickle.dumps(w))):
                self.check(kernel, other)
            assert all(same(rows, before[e]) for e, rows in self.rows_of(w).items())

    def test_memory_is_given_back(self) -> None:
        for kernel, (_, modules, _) in self.kernels.items():
            w = self.filled(modules)
            w.archetypes.shrink_to_fit()
            before = w.archetypes.nbytes
            self.run(kernel, w)
            kept = w.archetypes._kept[kernel]
            assert w.archetypes.nbytes == before + kept.nbytes
            w.archetypes.shrink_to_fit()
            assert w.archetypes.nbytes == before
            self.run(kernel, w)
            buffers = [weakref.ref(c.buffer.base) for c in w.archetypes.chunks()]
            w.archetypes.clear()
            w.archetypes.shrink_to_fit()
            gc.collect()
            assert not any(buffer() is not None for buffer in buffers)
