"""Archetypes: chunks, their buffers, and what changes them."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import pytest

from ...errors import DuplicateInstanceError, StructureLockedError
from ..reflection import check_fields, check_shown
from ..subject import methods_of, reborn, same
from .base import Members


class Cases(Members):
    """Chunks: which there are, what they hold, when they change."""

    def test_fields_are_those_of_the_schema(self) -> None:
        w = self.world()
        self.created(w, self.members, 1)
        (chunk,) = w.archetypes.chunks()
        for module, subject in self.members.items():
            check_fields(subject, getattr(chunk, module).FIELDS)

    def test_reprs_say_how_many(self) -> None:
        w = self.world()
        assert repr(w.archetypes).startswith("<Archetypes: 0 rows in 0 chunks, ")
        self.created(w, self.members, 3)
        assert repr(w.archetypes).startswith("<Archetypes: 3 rows in 1 chunk, ")
        (chunk,) = w.archetypes.chunks()
        assert repr(chunk).startswith("<ArchetypeChunk: 3 rows, room for ")
        for module in self.members:
            data = getattr(chunk, module)
            assert repr(data).startswith(f"<{type(data).__name__}: 3 rows")
            check_shown(data, 3)

    def test_one_buffer_for_each_chunk(self) -> None:
        w = self.world()
        for modules in self.subsets():
            self.created(w, modules, 2)
        buffers = []
        for chunk in w.archetypes.chunks():
            start = chunk.buffer.__array_interface__["data"][0]
            assert chunk.buffer.dtype == np.uint8
            assert chunk.buffer.nbytes == self.module.CHUNK_BYTES
            assert chunk.capacity >= chunk.n == 2
            taken = []
            for column in chunk._columns:
                if column.dtype.hasobject:
                    continue
                first = column.__array_interface__["data"][0] - start
                assert (first + start) % 64 == 0
                assert 0 <= first <= first + column.nbytes <= chunk.buffer.nbytes
                taken.append((first, first + column.nbytes))
            ordered = sorted(taken)
            ends = [end for _, end in ordered[:-1]]
            assert all(e <= s for e, (s, _) in zip(ends, ordered[1:], strict=True))
            with pytest.raises(ValueError, match="read-only"):
                chunk.entity[0] = 0
            buffers.append(start)
        assert len(set(buffers)) == len(buffers)
        assert w.archetypes.nbytes > len(buffers) * self.module.CHUNK_BYTES

    def test_chunks_by_signature(self) -> None:
        w = self.world()
        subsets = self.subsets()
        for modules in subsets:
            self.created(w, modules, 2)
        with_rows = [set(s) for s in subsets if s]
        for all_of in subsets[:8]:
            for any_of in subsets[:8]:
                for none_of in subsets[:8]:
                    chunks = w.archetypes.chunks(
                        all=self.rows(all_of),
                        any=self.rows(any_of),
                        none=self.rows(none_of),
                    )
                    expected = [
                        s
                        for s in with_rows
                        if s >= set(all_of)
                        and (not any_of or s & set(any_of))
                        and not s & set(none_of)
                    ]
                    found = [set(chunk.components) for chunk in chunks]
                    assert found == [set(self.rows(s)) for s in expected]

    def test_what_a_chunk_lacks(self) -> None:
        w = self.world()
        for module, subject in self.members.items():
            self.created(w, [module], 1)
            (chunk,) = w.archetypes.chunks(all=[subject.row])
            for other, others in self.members.items():
                assert chunk.has(others.row) == (other == module)
                assert hasattr(chunk, other) == (other == module)
            with pytest.raises(AttributeError):
                _ = chunk.no_such_component

    def test_what_is_no_component_here(self) -> None:
        w = self.world()
        (e,) = w.spawn(1).tolist()
        wrong: Any
        for wrong in (int, "Health", None, []):
            with pytest.raises(TypeError):
                w.archetypes.create([wrong])
            with pytest.raises(TypeError):
                w.archetypes.chunks(none=[wrong])
            for name in ("add", "remove", "get", "set", "has"):
                with pytest.raises(TypeError):
                    getattr(w.archetypes, name)(e, wrong)
        for module, subject in self.members.items():
            with pytest.raises(DuplicateInstanceError):
                w.archetypes.create([subject.row, subject.row])
            with pytest.raises(TypeError):
                w.archetypes.create([], **{module: {}})
            with pytest.raises(ValueError, match="-1"):
                w.archetypes.create([subject.row], -1)
        assert len(w.entities) == 1

    def test_a_change_ends_an_iteration(self) -> None:
        for subject in self.members.values():
            w = self.world()
            w.archetypes.create([subject.row], 2)
            chunks = w.archetypes.chunks()
            w.archetypes.create([subject.row])
            with pytest.raises(RuntimeError, match="changed"):
                next(chunks)

    def test_locked(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            (e,) = w.archetypes.create([subject.row]).tolist()
            with w.archetypes.locked():
                for call in (
                    partial(w.archetypes.create, [subject.row]),
                    partial(w.archetypes.remove, e, subject.row),
                    partial(w.archetypes.remove_many, [e], subject.row),
                    partial(w.spawn, 1, **{module: {}}),
                    partial(w.destroy, e),
                    w.archetypes.clear,
                    w.archetypes.shrink_to_fit,
                ):
                    with pytest.raises(StructureLockedError):
                        call()
                with w.archetypes.locked():
                    pass
                with pytest.raises(StructureLockedError):
                    w.archetypes.clear()
            assert len(w.entities) == 1
            w.archetypes.remove(e, subject.row)

    def test_the_last_row_fills_the_hole(self) -> None:
        modules = sorted(self.members)
        w = self.world()
        self.created(w, modules, 1)
        (chunk,) = w.archetypes.chunks()
        count = min(2 * chunk.capacity + 1, 200)
        w = self.world()
        es = self.created(w, modules, count)
        w.destroy(es[1])
        order = [*es[:1], es[-1], *es[2:-1]]
        assert [e for c in w.archetypes.chunks() for e in c.entity] == order
        for k, e in enumerate(es):
            if k != 1:
                for subject in self.members.values():
                    row = w.archetypes.get(e, subject.row)
                    assert same(row, subject.read(subject.sample(k)))

    def test_empty_chunks_are_used_again(self) -> None:
        w = self.world()
        for subject in self.members.values():
            es = w.archetypes.create([subject.row], 3)
            assert w.archetypes._table.pool.nbytes == self.module.CHUNK_BYTES
            w.archetypes.remove_many(es, subject.row)
        w.archetypes.shrink_to_fit()
        assert w.archetypes._table.pool.nbytes == 0

    def test_stale_handles_find_nothing(self) -> None:
        for subject in self.members.values():
            w = self.world()
            old = w.archetypes.create([subject.row], 3)
            new = reborn(w.entities, old)
            assert not w.archetypes.has_many(new, subject.row).any()
            w.archetypes.add_many(new, subject.row)
            assert w.archetypes.has_many(new, subject.row).all()
            assert not w.archetypes.has_many(old, subject.row).any()
            assert not any(w.archetypes.has(e, subject.row) for e in old)
            assert w.components(old[0]) == ()
            assert w.components(new[0]) == (subject.row,)

    def test_without_memory_nothing_changes(self) -> None:
        for module, subject in self.members.items():
            w = self.world()
            (e,) = w.spawn(1).tolist()
            with methods_of(w.archetypes._table.pool, take=_fail):
                for call in (
                    partial(w.archetypes.create, [subject.row], 2),
                    partial(w.archetypes.add, e, subject.row),
                    partial(w.archetypes.add_many, [e], subject.row),
                    partial(w.spawn, 2, **{module: {}}),
                ):
                    with pytest.raises(MemoryError):
                        call()
            assert len(w.entities) == 1
            assert (len(w.archetypes), w.archetypes.version) == (0, 0)
            assert not w.archetypes.has(e, subject.row)
            w.archetypes.add(e, subject.row)
            assert same(w.archetypes.get(e, subject.row), subject.read({}))

    def test_objects_are_let_go(self) -> None:
        class Thing:
            pass

        for module, subject in self.members.items():
            for field in subject.fields:
                if field.dtype != "O":
                    continue
                w = self.world()
                things = [Thing() for _ in range(3)]
                alive = weakref.WeakSet(things)
                columns = {module: {field.name: things}}
                es = w.archetypes.create([subject.row], 3, **columns)
                del things, columns
                w.destroy(es[0])
                assert len(alive) == 2
                w.archetypes.remove_many(es[1:2], subject.row)
                assert len(alive) == 1
                w.archetypes.clear()
                assert len(alive) == 0

    @pytest.mark.parametrize(
        "copied", [deepcopy, lambda w: pickle.loads(pickle.dumps(w))]
    )
    def test_copies_go_their_own_way(self, copied: Callable[[Any], Any]) -> None:
        w = self.world()
        es = self.created(w, self.members, 3)
        other = copied(w)
        assert other.archetypes.version == w.archetypes.version
        other.destroy(es[0])
        assert (len(w.archetypes), len(other.archetypes)) == (3, 2)
        w.destroy_many(es)
        assert (len(w.archetypes), len(other.archetypes)) == (0, 2)
        assert len(list(w.archetypes.chunks())) == 0
        for subject in self.members.values():
            row = other.archetypes.get(es[2], subject.row)
            assert same(row, subject.read(subject.sample(2)))


def _fail(*_: Any) -> None:
    raise MemoryError
