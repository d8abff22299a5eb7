"""Queries: equal to the definition by sets, whatever happens to managers and chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from itertools import islice, permutations, product
from random import Random
from typing import Any, ClassVar

import numpy as np
import pytest
from ecsgen_runtime.base.errors import CapacityError
from ecsgen_runtime.base.handles import NIL
from ecsgen_runtime.tables.bulk import Tuning
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from .chunks import Chunked
from .common_cases import check_shown
from .state_machine import SEARCH
from .subject import (
    COPIES,
    Field,
    Float,
    Int,
    UnlimitedWorldTests,
    methods_of,
    refuses,
    reorder,
    shuffle,
    skipped_if_full,
)

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

    def populated(self) -> Iterator[tuple[str, Clauses, Any]]:
        """For each query: a world of entities that fulfil it, and of some that lack something."""
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

    def test_dead_entities_are_missed_at_once(self) -> None:
        for query, _, w in self.populated():
            assert len(getattr(w, query)) > 0
            for e in list(w.entities):
                w.destroy(e)
                self.check(w)
            assert len(getattr(w, query)) == 0

    def test_kept_while_nothing_changes(self) -> None:
        for name, _, w in self.populated():
            query = getattr(w, name)
            rows = query.rows()
            w.entities.create()
            again = query.rows()
            assert all(old is new for old, new in zip(rows, again, strict=True))
            assert not any(array.flags.writeable for array in rows)

    def test_copies_have_queries_of_their_own(self) -> None:
        for query, _, w in self.populated():
            self.check(w)
            for other in (copied(w) for copied in COPIES):
                self.check(other)
                other.destroy_many(getattr(other, query).rows().entity[:2])
                self.check(other)
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

    def with_all(self, clauses: Clauses) -> Any:
        """Return a world of six entities with all that a query asks for."""
        w = self.world()
        self.populate(w, 6, [*clauses["all"], *clauses["any"]])
        return w


class ColumnCases(Queried):
    """The columns of a world's queries, in every order of rows."""

    def test_columns_are_those_of_the_rows(self) -> None:
        for name, _, w in self.populated():
            self.check_columns(w, name)
            shuffle(w, self.concerned())
            self.check_columns(w, name)

    def test_columns_of_many_rows(self) -> None:
        with as_if_large():
            self.test_columns_are_those_of_the_rows()

    @pytest.mark.parametrize(
        "order",
        [
            [3, 4, 5, 0, 1, 2],
            [5, 3, 4, 0, 2, 1],
            [5, 4, 3, 2, 1, 0],
            [6, 5, 7, 4, 8, 3, 9, 2, 10, 1, 11, 0],
        ],
    )
    def test_columns_in_orders_that_differ(self, order: list[int]) -> None:
        """The last order has other rows between those of the query."""
        for name, clauses in self.queries.items():
            w = self.with_all(clauses)
            for module in clauses["all"] if len(order) > 6 else ():
                self.populate(w, 6, [module])
            for module in clauses["all"][1:]:
                reorder(getattr(w, module), order)
            with as_if_large():
                self.check(w)
                self.check_columns(w, name)

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

    def test_code_reads_copies_and_writes_by_operators(self) -> None:
        """By `exec`: the way in which code reads a column decides, which `getattr` cannot show."""
        for name, clauses in self.queries.items():
            for is_shuffled in (False, True):
                w = self.with_all(clauses)
                if is_shuffled:
                    shuffle(w, self.concerned())
                for module in clauses["all"]:
                    for field in self.subjects[module].whole:
                        self.read_and_write(w, name, module, field)

    def read_and_write(self, w: Any, name: str, module: str, field: Field) -> None:
        """Read a column, let an operator write it if it holds numbers, and read it again."""
        column = f"query.{module}.{field.name}"
        scope = {"query": getattr(w, name), "np": np}
        before = eval(column, scope)
        copy = before.copy()
        assert type(before) is np.ndarray
        refuses(ValueError, "read-only", exec, f"{column}[...] = 0", scope)
        refuses(ValueError, "read-only", exec, f"alone = {column}\nalone *= 0", scope)
        assert same_cells(eval(column, scope), before)
        data = getattr(w, module).data
        unique = getattr(data, "UNIQUE", ())
        if isinstance(field, Float | Int) and field.name not in unique:
            read = getattr(getattr(scope["query"], module), field.name)
            assert not read.__imul__(0).any()
            assert same_cells(read, before)
            exec(f"{column} *= 0", scope)
            rows = getattr(getattr(w, name).rows(), module)
            assert not getattr(data, field.name)[rows].any()
            assert not eval(column, scope).any()
        assert same_cells(before, copy)

    def test_one_absent_component(self) -> None:
        for name, clauses in self.queries.items():
            w = self.world()
            w.spawn(1, **{module: {} for module in (*clauses["all"], *clauses["any"])})
            for module in {*clauses["optional"]} - {*clauses["any"]}:
                assert getattr(getattr(w, name).rows(), module).tolist() == [NIL]
                columns = getattr(getattr(w, name), module)
                for field in self.subjects[module].whole:
                    assert len(getattr(columns, field.name)) == 1

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

    def test_first_instances_in_any_order(self) -> None:
        """From the smallest manager or another, with rows of dead entities."""
        for query, clauses in self.queries.items():
            modules = [*clauses["all"], *clauses["any"], *clauses["optional"]]
            lists = [m for m in modules if hasattr(self.subjects[m].manager, "first")]
            for module, others in product(lists, (0, 4)):
                w = self.world()
                manager = getattr(w, module)
                with skipped_if_full():
                    _, twice, dead = w.spawn(3, **{name: {} for name in modules})
                    w.spawn(others, **{m: {} for m in modules if m != module})
                manager.create(twice)
                w.destroy(dead)
                for order in permutations(range(len(manager))):
                    manager.reorder(order)
                    self.check(w)
                    if module not in clauses["any"]:
                        rows = getattr(getattr(w, query).rows(), module)
                        firsts = rows[rows != NIL]
                        assert all(manager.previous(row) == NIL for row in firsts)

    def test_reprs_say_what_is_known(self) -> None:
        """They do not look for entities; how many there are is known from the last time."""
        for name, _, w in self.populated():
            query = getattr(w, name)
            kind = type(query).__name__
            with methods_of(query._join, _join=None):
                assert repr(query).startswith(f"<{kind}: up to ")
            n = len(query)
            prefix = f"<{kind}: {n} {'entity' if n == 1 else 'entities'}; "
            assert repr(query).startswith(prefix)
            check_shown(query, n)
            w.destroy(query.rows().entity[0])
            assert repr(query).startswith(f"<{kind}: up to ")

    def test_loops_notice_changes(self) -> None:
        """Before the first step, at the next one, and at the end if there is none."""
        ways = (self.kill, self.strip)
        for query, change, taken in product(self.queries, ways, (0, 1, None)):
            w = next(w for name, _, w in self.populated() if name == query)
            rows = list(getattr(w, query))
            loop = iter(getattr(w, query))
            steps = list(islice(loop, len(rows) if taken is None else taken))
            assert steps == rows[:taken]
            change(w, query, (steps or rows)[-1].entity)
            refuses(RuntimeError, "while a query was iterated", next, loop)

    def kill(self, w: Any, query: str, entity: int) -> None:
        w.destroy(entity)

    def strip(self, w: Any, query: str, entity: int) -> None:
        """Remove a component that the query asks for."""
        clauses = self.queries[query]
        for module in (*clauses["all"], *clauses["any"]):
            if getattr(w, module).remove(entity):
                return


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
        with self.small_chunks():
            w = self.world()
        self.check_changes(w, seed, changes)

    def populated(self) -> Iterator[tuple[str, Clauses, Any]]:
        for query, clauses in self.queries.items():
            with self.small_chunks():
                w = self.world()
            wanted = [*clauses["all"], *clauses["any"]]
            for left_out in ("", *wanted):
                self.created(w, [name for name in wanted if name != left_out], 5)
            for added in clauses["none"]:
                self.created(w, [*wanted, added], 2)
            yield query, clauses, w

    def test_loops_notice_changes(self) -> None:
        for query, _, w in self.populated():
            for steps in (1, len(getattr(w, query)) - 1):
                loop = iter(getattr(w, query))
                w.destroy(list(islice(loop, steps))[-1].entity)
                refuses(RuntimeError, "while a query was iterated", next, loop)

    def test_new_archetypes_are_found(self) -> None:
        for query, clauses, w in self.populated():
            for module in sorted(set(self.members) - set(self.concerned(clauses))):
                before = len(getattr(w, query))
                rows = self.rows([*clauses["all"], *clauses["any"], module])
                w.archetypes.create(rows, 3)
                self.check(w)
                assert len(getattr(w, query)) == before + 3
