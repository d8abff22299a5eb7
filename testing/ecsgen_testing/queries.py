"""Queries: equal to the definition by sets, whatever happens to managers and chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext, suppress
from random import Random
from typing import Any, ClassVar

import numpy as np
from ecsgen_runtime.base.errors import CapacityError, StructureLockedError
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.tables.bulk import Tuning
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from .chunks import Chunked
from .state_machine import SEARCH
from .subject import UnlimitedWorldTests, small_chunks

Clauses = Mapping[str, tuple[str, ...]]
"""The components of `all`, `any`, `none` and `optional`, as attributes of the world."""

SMALL_SIZES: dict[str, Any] = {
    "tuple_batch": 2,
    "join_block_rows": 3,
    "max_cached_tuples": 2,
    "cached_random_rows": 0,
    "reorder_block_rows": 2,
    "sample_count": 2,
    "sample_length": 2,
    "cached_random_bytes": 0,
    "fast_copy_sizes": (),
}
"""Tuning with which a few rows take the ways of very many."""


def as_if_large() -> Any:
    """Override tuning, so that a few rows are joined and gathered as very many are."""
    return Tuning.override(**SMALL_SIZES)


class Defined:
    """Queries find what their definition says, over managers and over chunks."""

    queries: ClassVar[Mapping[str, Clauses]]

    def check(self, w: Any) -> None:
        """Compare the queries in all their forms with the definition."""
        raise NotImplementedError

    def change(self, w: Any, random: Random) -> None:
        """Change something in some way."""
        raise NotImplementedError

    def check_changes(self, w: Any, seed: int, changes: int) -> None:
        """Compare after each of some changes."""
        random = Random(seed)
        for _ in range(changes):
            try:
                self.change(w, random)
            except CapacityError:  # the handles of this project are small
                break
            self.check(w)


class Queried(Defined, UnlimitedWorldTests):
    """The queries of a world."""

    def concerned(self, *queries: str) -> list[str]:
        """Return the components that matter to queries, without names: to all of them."""
        clauses = [self.queries[query] for query in queries or self.queries]
        return sorted({name for c in clauses for names in c.values() for name in names})

    def expected(self, w: Any, clauses: Clauses) -> dict[int, list[int]]:
        """Return the entities, and their rows in `all` and `optional`, by the definition."""
        rows_of = {}
        for e in w.entities:
            row = {
                name: int(getattr(w, name).lookup(e))
                for names in clauses.values()
                for name in names
            }
            has_any = [row[name] != NIL for name in clauses["any"]]
            if (
                all(row[name] != NIL for name in clauses["all"])
                and all(row[name] == NIL for name in clauses["none"])
                and (any(has_any) or not has_any)
            ):
                rows_of[e] = [row[n] for n in (*clauses["all"], *clauses["optional"])]
        return rows_of

    def check(self, w: Any) -> None:
        for name, clauses in self.queries.items():
            query = getattr(w, name)
            arrays = query.rows()
            lists = [array.tolist() for array in arrays]
            rows_of = {e: rows for e, *rows in zip(*lists, strict=True)}
            assert rows_of == self.expected(w, clauses)
            assert len(rows_of) == len(lists[0]) == len(query)
            assert [tuple(row) for row in query] == list(zip(*lists, strict=True))
            assert arrays._fields[0] == "entity"
            assert arrays._fields[1:] == (*clauses["all"], *clauses["optional"])
            assert arrays.entity.dtype == np.uint64
            assert all(array.dtype == np.intp for array in arrays[1:])

    def populated(self) -> Iterator[tuple[str, Clauses, Any]]:
        for query, clauses in self.queries.items():
            w = self.world()
            modules = [*clauses["all"], *clauses["any"], *clauses["optional"]]
            for left_out in ("", "", *modules):
                present = [name for name in modules if name != left_out]
                self.populate(w, 2, present)
            yield query, clauses, w


class ColumnCases(Queried):
    """The columns of a world's queries, in every order of rows."""

    def test_columns_are_those_of_the_rows(self) -> None:
        for name, _, w in self.populated():
            self.check_columns(w, name)
            self.shuffle(w)
            self.check_columns(w, name)

    def test_columns_of_many_rows(self) -> None:
        with as_if_large():
            self.test_columns_are_those_of_the_rows()

    def shuffle(self, w: Any) -> None:
        """Reorder managers differently, where they have an order of their own."""
        for seed, name in enumerate(self.concerned()):
            manager = getattr(w, name)
            if hasattr(manager, "reorder") and not hasattr(manager, "is_active"):
                with suppress(StructureLockedError):  # a member of a group
                    manager.reorder(np.random.default_rng(seed).permutation(manager.data.n))

    def check_columns(self, w: Any, name: str) -> None:
        query = getattr(w, name)
        for module in self.queries[name]["all"]:
            rows = getattr(query.rows(), module)
            data = getattr(w, module).data
            for field in self.subjects[module].whole:
                wanted = getattr(data, field.name).copy()
                cells = getattr(getattr(query, module), field.name)
                assert same_cells(cells, wanted[rows])
                assert not cells.flags.writeable
                setattr(getattr(query, module), field.name, cells[::-1])
                assert same_cells(cells, wanted[rows])
                wanted[rows] = cells[::-1]
                assert same_cells(getattr(data, field.name), wanted)

    def test_absent_components_are_skipped(self) -> None:
        for name, clauses, w in self.populated():
            for module in clauses["optional"]:
                rows = getattr(getattr(w, name).rows(), module)
                absent = rows == NIL
                assert absent.any()
                columns = getattr(getattr(w, name), module)
                data = getattr(w, module).data
                for field in self.subjects[module].whole:
                    cells = getattr(columns, field.name)
                    wanted = getattr(data, field.name)[rows[~absent]]
                    assert same_cells(cells[~absent], wanted)
                    assert len({repr(cell) for cell in cells[absent].tolist()}) == 1
                    setattr(columns, field.name, cells)
                    assert same_cells(getattr(columns, field.name), cells)


def same_cells(actual: NDArray[Any], wanted: NDArray[Any]) -> bool:
    """Return whether cells are the same, bit for bit; objects themselves."""
    if actual.dtype == np.object_:
        return [id(value) for value in actual] == [id(value) for value in wanted]
    return actual.shape == wanted.shape and actual.tobytes() == wanted.tobytes()


class QueryCases(ColumnCases):
    """The queries of a world."""

    def change(self, w: Any, random: Random) -> None:
        entities = list(w.entities)
        manager = getattr(w, random.choice(self.concerned()))
        kind = random.randrange(8) if entities else 0
        if kind == 0:
            wanted = self.concerned(random.choice(list(self.queries)))
            names = random.sample(wanted, random.randrange(len(wanted) + 1))
            w.spawn(random.choice([1, 2, 9]), **{name: {} for name in names})
        elif kind == 1:
            w.destroy(random.choice(entities))
        elif kind == 2:
            w.destroy_many(random.sample(entities, len(entities) // 2))
        elif kind == 3:
            w.collect()
        elif kind == 4:
            manager.remove(random.choice(entities))
        elif kind == 5 and hasattr(manager, "first"):
            manager.create_many(random.choices(entities, k=3))
        else:
            manager.ensure(random.choice(entities))

    @SEARCH
    @given(st.integers(0, 1 << 32), st.integers(1, 20), st.booleans())
    def test_equal_to_the_definition(self, seed: int, changes: int, is_large: bool) -> None:
        with as_if_large() if is_large else nullcontext():
            self.check_changes(self.world(), seed, changes)


class ChunkQueryCases(Defined, Chunked):
    """The queries of chunks of a world."""

    def concerned(self, clauses: Clauses) -> list[str]:
        """Return the components that matter to a query."""
        return [module for modules in clauses.values() for module in modules]

    def fulfils(self, components: set[Any], clauses: Clauses) -> bool:
        """Return whether a query finds an entity with these components, by the definition."""
        every, has_any, none = (
            [row in components for row in self.rows(clauses[key])] for key in ("all", "any", "none")
        )
        return all(every) and (any(has_any) or not has_any) and not any(none)

    def check(self, w: Any) -> None:
        for name, clauses in self.queries.items():
            query = getattr(w, name)
            having = {e: set(w.archetypes.components(e)) for e in w.entities}
            expected = {e for e in having if self.fulfils(having[e], clauses)}
            rows = query.rows()
            entities = rows.entity.tolist()
            assert rows._fields == ("entity",)
            assert rows.entity.dtype == np.uint64
            assert len(query) == len(entities) == len(expected)
            assert set(entities) == expected
            assert [tuple(row) for row in query] == [(e,) for e in entities]
            chunks = list(query.chunks())
            assert [e for chunk in chunks for e in chunk.entity.tolist()] == entities
            assert all(self.fulfils(set(c.components), clauses) for c in chunks)

    def change(self, w: Any, random: Random) -> None:
        store, entities = w.archetypes, list(w.entities)
        row = self.row_class(random.choice(sorted(self.members)))
        kind = random.randrange(7) if entities else 0
        having = store.has_many(entities, row)
        if kind == 0:
            wanted = self.concerned(random.choice(list(self.queries.values())))
            names = random.sample(wanted, random.randrange(len(wanted) + 1))
            store.create(self.rows(names), random.choice([1, 2, 9]))
        elif kind == 1:
            w.destroy(random.choice(entities))
        elif kind == 2:
            w.destroy_many(random.sample(entities, len(entities) // 2))
        elif kind == 3:
            store.remove_many(np.array(entities, np.uint64)[having], row)
        elif kind == 4:
            store.add_many(np.array(entities, np.uint64)[~having], row)
        elif kind == 5 and not random.randrange(9):
            store.clear()
        else:
            e = random.choice(entities)
            (store.remove if store.has(e, row) else store.add)(e, row)

    @SEARCH
    @given(st.integers(0, 1 << 32), st.integers(1, 20))
    def test_equal_to_the_definition(self, seed: int, changes: int) -> None:
        with small_chunks(self.world()):
            w = self.world()
        self.check_changes(w, seed, changes)
