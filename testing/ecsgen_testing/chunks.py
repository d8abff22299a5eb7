"""Components in chunks: proxies, buffers, columns, any sequence of changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pytest
from ecsgen_runtime.base.errors import (
    CapacityError,
    DuplicateInstanceError,
    MissingInstanceError,
    StaleEntityError,
)
from ecsgen_runtime.base.handles import EntityArray
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from .common_cases import check_fields
from .row_proxies import check_attributes, check_writes
from .subject import (
    COPIES,
    Subject,
    WorldTests,
    loaded,
    refuses,
    same,
    skipped_if_full,
    small_chunks,
)


class Chunked(WorldTests):
    """The components in chunks of a world."""

    module: ClassVar[Any]
    """The module of the archetypes."""
    members: ClassVar[Mapping[str, Subject]]
    """By their attribute of chunks."""

    def components(self) -> Mapping[str, Subject]:
        return self.members

    def row_class(self, module: str) -> Any:
        return self.members[module].row

    def rows(self, modules: Iterable[str]) -> list[Any]:
        return [self.row_class(module) for module in modules]

    def created(self, w: Any, modules: Iterable[str], count: int) -> EntityArray:
        names = list(modules)
        columns = {module: self.members[module].samples(count) for module in names}
        with skipped_if_full():
            es: EntityArray = w.archetypes.create(self.rows(names), count, **columns)
        return es

    def wrong(self, module: str) -> dict[str, Any]:
        """Return a field with a value that it refuses, or a field that there is not."""
        for field, value, _ in self.members[module].wrong():
            return {field.name: value}
        return {"no_such_field": 0}

    def columns(self, chunk: Any, module: str) -> list[Any]:
        """Return the rows of a component as its columns have them."""
        subject, data = self.members[module], getattr(chunk, module)
        columns = [subject.read_column(data, field) for field in subject.fields]
        if not columns:
            return [()] * len(chunk)
        return list(zip(*columns, strict=True))

    def stored(self, module: str, row: Any) -> Any:
        """Return a row as the columns have it."""
        pairs = zip(self.members[module].fields, row, strict=True)
        return tuple(field.stored(value) for field, value in pairs)

    def subsets(self) -> list[tuple[str, ...]]:
        """Return some sets of components: none, each, pairs, all."""
        names = sorted(self.members)
        sizes = sorted({0, 1, 2, len(names)})
        subsets = [s for size in sizes for s in combinations(names, size)]
        return list(dict.fromkeys(subsets))[:20]


class ChunkProxyCases(Chunked):
    """Proxies of rows in chunks."""

    def check_proxy(self, proxy: Any, w: Any, entity: int, module: str) -> None:
        """Check that all attributes of a proxy are those of an entity's row."""
        assert proxy.entity == entity
        subject = self.members[module]
        check_attributes(proxy, subject, w.archetypes.get(entity, subject.row))

    def test_proxies_follow_their_entities(self) -> None:
        for module, subject, w in self.each():
            es = self.created(w, self.members, 3).tolist()
            proxies = [getattr(w[e], module) for e in es]
            for e, proxy in zip(es, proxies, strict=True):
                self.check_proxy(proxy, w, e, module)
            w.destroy(es[0])
            for other in self.members.keys() - {module}:
                w.archetypes.remove(es[1], self.row_class(other))
            for e, proxy in list(zip(es, proxies, strict=True))[1:]:
                self.check_proxy(proxy, w, e, module)
            w.archetypes.remove(es[1], subject.row)
            for field in subject.fields:
                for proxy, error in (
                    (proxies[0], StaleEntityError),
                    (proxies[1], MissingInstanceError),
                ):
                    refuses(error, getattr, proxy, field.name)
                    refuses(error, setattr, proxy, field.name, field.sample(0))
                    assert type(proxy).__name__ in repr(proxy)
            refuses(MissingInstanceError, getattr, w[es[1]], module)

    def test_proxies_write(self) -> None:
        for module, subject, w in self.each():
            es = self.created(w, self.members, 3).tolist()
            proxy = getattr(w[es[1]], module)
            check_writes(proxy, subject, partial(w.archetypes.get, es[1], subject.row))
            for field, value, error in subject.wrong():
                named = f"{subject.label}.{field.name}"
                refuses(error, named, setattr, proxy, field.name, value)
            self.check_proxy(proxy, w, es[1], module)
            refuses(AttributeError, "no_such_field", getattr, proxy, "no_such_field")
            self.check_samples(w, module, (es[0], es[2]), (0, 2))


class ChunkStructureCases(Chunked):
    """Chunks: what they hold, and where it lies."""

    def test_fields_are_those_of_the_schema(self, w: Any) -> None:
        self.created(w, self.members, 1)
        (chunk,) = w.archetypes.chunks()
        for module, subject in self.members.items():
            check_fields(subject, getattr(chunk, module).FIELDS)

    def test_one_buffer_for_each_chunk(self, w: Any) -> None:
        count_of = Counter[frozenset[str]]()
        for modules in self.subsets():
            self.created(w, modules, 2)
            count_of[frozenset(self.with_required(modules))] += 2
        buffers = []
        for chunk in w.archetypes.chunks():
            start = chunk.buffer.__array_interface__["data"][0]
            assert chunk.buffer.dtype == np.uint8
            assert chunk.buffer.nbytes == self.module.CHUNK_BYTES
            held = frozenset(m for m, of in self.members.items() if chunk.has(of.row))
            assert chunk.capacity >= chunk.n == count_of[held] > 0
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
            refuses(ValueError, "read-only", chunk.entity.fill, 0)
            buffers.append(start)
        assert len(set(buffers)) == len(buffers)
        assert w.archetypes.nbytes > len(buffers) * self.module.CHUNK_BYTES

    def test_what_a_chunk_lacks(self, w: Any) -> None:
        for module, subject, alone in self.each():
            self.created(alone, [module], 1)
            (chunk,) = alone.archetypes.chunks(all=[subject.row])
            come = self.with_required([module])
            for other, others in self.members.items():
                assert chunk.has(others.row) == (other in come)
                assert hasattr(chunk, other) == (other in come)
            refuses(AttributeError, getattr, chunk, "no_such_component")
        self.created(w, [*self.members][:1], 1)
        chunks = w.archetypes.chunks()
        self.created(w, self.members, 1)
        refuses(RuntimeError, "changed", next, chunks)


class ChunkCases(ChunkProxyCases):
    """Rows and columns of components in chunks, one thing at a time."""

    def test_rows_are_taken_as_they_are(self) -> None:
        """By all that makes rows; what is wrong changes nothing."""
        for module, subject, w in self.each():
            row = subject.row(**subject.sample(1))
            created = w.archetypes.create([subject.row], 2, **{module: row})
            spawned = w.spawn(2, **{module: row})
            added = w.spawn(4)
            w.archetypes.add(added[0], row)
            w.archetypes.add_many(added[1:3], row)
            self.check_samples(w, module, (*created, *spawned, *added[:3]), [1] * 7)
            refused: list[tuple[Any, type[Exception]]] = [((1, 2), TypeError)]
            wrong = subject.wrong()
            refused += [(subject.row(**{f.name: v}), error) for f, v, error in wrong]
            for row_given, error in refused:
                for call in (
                    partial(w.archetypes.add, added[3], row_given),
                    partial(w.archetypes.add_many, added[3:], row_given),
                    partial(w.archetypes.create, [subject.row], **{module: row_given}),
                    partial(w.spawn, 2, **{module: row_given}),
                ):
                    refuses(error, call)
            refuses(TypeError, w.archetypes.add, added[3], row, no_such_field=1)
            assert len(w.entities) == 8
            assert w.components(added[3]) == ()

    def test_columns_are_assigned(self) -> None:
        for module, subject, w in self.each():
            self.created(w, self.members, 3)
            (chunk,) = w.archetypes.chunks(all=[subject.row])
            data = getattr(chunk, module)
            for field in subject.whole:
                setattr(data, field.name, [field.sample(k) for k in (4, 5, 6)])
                expected = [field.stored(field.sample(k)) for k in (4, 5, 6)]
                assert same(getattr(data, field.name).tolist(), expected)
                setattr(data, field.name, getattr(data, field.name)[::-1])
                assert same(getattr(data, field.name).tolist(), expected[::-1])
                view = getattr(data, field.name)
                setattr(data, field.name, view)
                for value, error in field.wrong():
                    with pytest.raises(error):
                        setattr(data, field.name, [field.sample(0), value, value])
                assert same(getattr(data, field.name).tolist(), expected[::-1])
            for tag, names in subject.tagged.items():
                assert data.tagged(tag)._fields == names
            refuses(ValueError, "no_such_tag", data.tagged, "no_such_tag")

    def test_an_old_view_is_checked_as_any_array(self) -> None:
        for module, subject in self.members.items():
            for field in subject.whole:
                w = self.world()
                self.created(w, [module], 3)
                (chunk,) = w.archetypes.chunks()
                view = getattr(getattr(chunk, module), field.name)
                self.created(w, [module], 1)
                data = getattr(chunk, module)
                refuses(ValueError, field.name, setattr, data, field.name, view)


REFUSED = (TypeError, ValueError, OverflowError)


class ChunkRules(Chunked, RuleBasedStateMachine):
    """Any sequence of changes, against rows by component by entity."""

    def __init__(self) -> None:
        super().__init__()
        self.small = small_chunks(self.world())
        self.small.start()
        self.w = self.world()
        self.entities: dict[int, dict[str, Any]] = {}
        self.dead: list[int] = []
        self.version = 0

    def teardown(self) -> None:
        self.small.stop()

    def some_values(self, data: st.DataObject, module: str) -> dict[str, Any]:
        values: dict[str, Any] = data.draw(self.members[module].some_values)
        return values

    def chosen(self, data: st.DataObject, module: str, has: bool, at_most: int = 1000) -> list[int]:
        owners = [e for e, rows in self.entities.items() if (module in rows) == has]
        if not owners:
            return []
        if at_most > 1 and data.draw(st.booleans()):
            return owners
        choices = st.lists(st.sampled_from(owners), unique=True, max_size=at_most)
        return data.draw(choices)

    def a_module(self, data: st.DataObject) -> str:
        module: str = data.draw(st.sampled_from(sorted(self.members)))
        return module

    def learn(self, es: Iterable[int], module: str, values: dict[str, Any]) -> None:
        for e in es:
            self.entities[e][module] = self.members[module].read(values)

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.create(data, 40)

    @rule(data=st.data(), n=st.sampled_from([0, 1, 2, 5]))
    def create(self, data: st.DataObject, n: int) -> None:
        choices = st.lists(st.sampled_from(sorted(self.members)), unique=True)
        modules = data.draw(choices)
        columns = {module: self.some_values(data, module) for module in modules}
        try:
            if data.draw(st.booleans()):
                es = self.w.spawn(n, **columns).tolist()
            else:
                names = self.rows(modules)
                es = self.w.archetypes.create(names, n, **columns).tolist()
        except CapacityError:
            return
        self.entities |= {e: {} for e in es}
        for module in self.with_required(modules):
            self.learn(es, module, columns.get(module, {}))
        self.version += bool(es and modules)

    @rule(data=st.data(), at_once=st.booleans())
    def add(self, data: st.DataObject, at_once: bool) -> None:
        module = self.a_module(data)
        subject = self.members[module]
        es = self.chosen(data, module, False, at_most=1000 if at_once else 1)
        for other in self.with_required([module]) - {module}:
            lacking = [e for e in es if other not in self.entities[e]]
            self.learn(lacking, other, {})
            self.version += bool(lacking)
        if at_once:
            samples = subject.samples(len(es))
            self.w.archetypes.add_many(es, subject.row, **samples)
        for k, e in enumerate(es):
            values = subject.sample(k) if at_once else self.some_values(data, module)
            if not at_once:
                self.w.archetypes.add(e, subject.row, **values)
            self.learn([e], module, values)
        self.version += bool(es)

    @rule(data=st.data(), at_once=st.booleans())
    def remove(self, data: st.DataObject, at_once: bool) -> None:
        module = self.a_module(data)
        es = self.chosen(data, module, True, at_most=1000 if at_once else 1)
        if at_once:
            self.w.archetypes.remove_many(es, self.row_class(module))
        for e in es:
            if not at_once:
                self.w.archetypes.remove(e, self.row_class(module))
            del self.entities[e][module]
        self.version += bool(es)

    @rule(data=st.data())
    def set_fields(self, data: st.DataObject) -> None:
        module = self.a_module(data)
        values = self.some_values(data, module)
        fields = {f.name: f for f in self.members[module].fields}
        for e in self.chosen(data, module, True, at_most=1):
            self.w.archetypes.set(e, self.row_class(module), **values)
            read = {name: fields[name].read(value) for name, value in values.items()}
            self.entities[e][module] = self.entities[e][module]._replace(**read)

    @precondition(lambda self: self.entities)
    @rule(data=st.data(), most=st.booleans())
    def destroy(self, data: st.DataObject, most: bool) -> None:
        es = data.draw(st.lists(st.sampled_from(list(self.entities)), unique=True))
        if most:
            es = [e for e in self.entities if e not in es]
        self.w.destroy_many(es)
        self.version += any(self.entities[e] for e in es)
        for e in es:
            del self.entities[e]
        self.dead += es

    @rule()
    def clear(self) -> None:
        self.w.archetypes.clear()
        self.version += any(self.entities.values())
        self.entities = {e: {} for e in self.entities}

    @rule(copied=st.sampled_from([*COPIES, loaded]))
    def copy(self, copied: Callable[[Any], Any]) -> None:
        self.w = copied(self.w)

    @rule(data=st.data())
    def refused(self, data: st.DataObject) -> None:
        module = self.a_module(data)
        store, row, bad = self.w.archetypes, self.row_class(module), self.wrong(module)
        for e in self.dead[-1:]:
            for call in (store.add, store.remove, store.get, store.set):
                refuses(StaleEntityError, call, e, row)
            for call in (store.add_many, store.remove_many):
                refuses(StaleEntityError, call, [*list(self.entities)[:1], e], row)
        for e in self.chosen(data, module, False, at_most=1):
            for call in (store.remove, store.get, store.set):
                refuses(MissingInstanceError, call, e, row)
            refuses(MissingInstanceError, store.remove_many, [e], row)
            refuses(DuplicateInstanceError, store.add_many, [e, e], row, **bad)
            refuses(REFUSED, store.add, e, row, **bad)
            with pytest.raises(REFUSED):
                store.add_many([e], row, **{k: [v] for k, v in bad.items()})
        for e in self.chosen(data, module, True, at_most=1):
            refuses(DuplicateInstanceError, store.add, e, row, **bad)
            refuses(DuplicateInstanceError, store.add_many, [e], row, **bad)
            refuses(MissingInstanceError, store.remove_many, [e, e], row)

    @invariant()
    def rows_agree(self) -> None:
        store = self.w.archetypes
        assert store.version == self.version
        stored: dict[int, dict[str, Any]] = {}
        for chunk in store.chunks():
            es = chunk.entity.tolist()
            assert 0 < len(chunk) == len(es) <= chunk.capacity
            assert chunk.buffer.nbytes == self.module.CHUNK_BYTES
            modules = [m for m, s in self.members.items() if chunk.has(s.row)]
            assert not stored.keys() & set(es)
            stored |= {e: {} for e in es}
            for module in modules:
                for e, row in zip(es, self.columns(chunk, module), strict=True):
                    stored[e][module] = row
        assert len(store) == len(stored)
        expected = {e: rows for e, rows in self.entities.items() if rows}
        assert stored.keys() == expected.keys()
        for e, rows in expected.items():
            assert stored[e].keys() == rows.keys()
            for module, row in rows.items():
                assert same(stored[e][module], self.stored(module, row))

    @invariant()
    def chunks_are_packed(self) -> None:
        full: dict[Any, bool] = {}
        for chunk in self.w.archetypes.chunks():
            assert full.get(chunk.components, True)
            full[chunk.components] = len(chunk) == chunk.capacity

    @invariant()
    def entities_agree(self) -> None:
        store, es = self.w.archetypes, list(self.entities)
        for module, subject in self.members.items():
            having = [module in self.entities[e] for e in es]
            assert store.has_many(es, subject.row).tolist() == having
        for e in {*es[:1], *es[-1:], *es[len(es) // 2 :][:1]}:
            assert set(store.components(e)) == set(self.rows(self.entities[e]))
            for module, row in self.entities[e].items():
                assert store.has(e, self.row_class(module))
                assert same(store.get(e, self.row_class(module)), row)
