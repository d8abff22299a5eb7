"""Archetypes under any sequence of changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from ..errors import (
    CapacityError,
    DuplicateInstanceError,
    MissingInstanceError,
    StaleEntityError,
)
from .chunks import Chunked
from .subject import COPIES, loaded, refuses, same

REFUSED = (TypeError, ValueError, OverflowError)


class ChunkRules(Chunked, RuleBasedStateMachine):
    """Any sequence of changes, against rows by component by entity."""

    def __init__(self) -> None:
        super().__init__()
        self.small = self.small_chunks()
        self.small.start()
        self.w = self.world()
        self.entities: dict[int, dict[str, Any]] = {}
        self.dead: list[int] = []
        self.version = 0

    def teardown(self) -> None:
        self.small.stop()

    # --- choosing ------------------------------------------------------------------

    def some_modules(self) -> st.SearchStrategy[Any]:
        return st.lists(st.sampled_from(sorted(self.members)), unique=True)

    def some_values(self, data: st.DataObject, module: str) -> dict[str, Any]:
        values: dict[str, Any] = data.draw(self.members[module].some_values)
        return values

    def chosen(
        self, data: st.DataObject, module: str, has: bool, at_most: int = 1000
    ) -> list[int]:
        found = [e for e, rows in self.entities.items() if (module in rows) == has]
        if not found:
            return []
        if at_most > 1 and data.draw(st.booleans()):
            return found
        return data.draw(
            st.lists(st.sampled_from(found), unique=True, max_size=at_most)
        )

    def a_module(self, data: st.DataObject) -> str:
        module: str = data.draw(st.sampled_from(sorted(self.members)))
        return module

    def learn(self, es: Iterable[int], module: str, values: dict[str, Any]) -> None:
        for e in es:
            self.entities[e][module] = self.members[module].read(values)

    # --- changes -------------------------------------------------------------------

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        self.create(data, 40)

    @rule(data=st.data(), n=st.sampled_from([0, 1, 2, 5]))
    def create(self, data: st.DataObject, n: int) -> None:
        modules = data.draw(self.some_modules())
        given = {module: self.some_values(data, module) for module in modules}
        try:
            if data.draw(st.booleans()):
                es = self.w.spawn(n, **given).tolist()
            else:
                names = self.rows(modules)
                es = self.w.archetypes.create(names, n, **given).tolist()
        except CapacityError:
            return
        self.entities |= {e: {} for e in es}
        for module, values in given.items():
            self.learn(es, module, values)
        self.version += bool(es and modules)

    @rule(data=st.data(), at_once=st.booleans())
    def add(self, data: st.DataObject, at_once: bool) -> None:
        module = self.a_module(data)
        subject = self.members[module]
        es = self.chosen(data, module, False, at_most=1000 if at_once else 1)
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

    # --- what is refused -----------------------------------------------------------

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

    # --- what must hold ------------------------------------------------------------

    @invariant()
    def rows_agree(self) -> None:
        store = self.w.archetypes
        assert store.version == self.version
        found: dict[int, dict[str, Any]] = {}
        for chunk in store.chunks():
            es = chunk.entity.tolist()
            assert 0 < len(chunk) == len(es) <= chunk.capacity
            assert chunk.buffer.nbytes == self.module.CHUNK_BYTES
            modules = [m for m, s in self.members.items() if chunk.has(s.row)]
            assert not found.keys() & set(es)
            found |= {e: {} for e in es}
            for module in modules:
                for e, row in zip(es, self.columns(chunk, module), strict=True):
                    found[e][module] = row
        assert len(store) == len(found)
        expected = {e: rows for e, rows in self.entities.items() if rows}
        assert found.keys() == expected.keys()
        for e, rows in expected.items():
            assert found[e].keys() == rows.keys()
            for module, row in rows.items():
                assert same(found[e][module], self.stored(module, row))

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
