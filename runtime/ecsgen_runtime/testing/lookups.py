"""How entities find their rows: by index, as their index, by a map; one each or many."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from ..errors import DuplicateInstanceError, StaleInstanceError, StructureLockedError
from ..handles import NIL, NULL_ENTITY
from .machine import MANY_ROWS, Record
from .owned import OwnedCases, OwnedRules
from .subject import Handle, born, reborn, refuses, same

# --- What `sparse` and `direct` share: rows are found by an entity's index ------------


class IndexedRules(OwnedRules):
    """Rows of a dead entity go before another entity of its index gets new ones."""

    def evicted(self, chosen: Sequence[int]) -> list[int]:
        index = self.entities.index
        successors = {index(entity): entity for entity in chosen}
        former = [e for e in self.lists if successors.get(index(e), e) != e]
        return sorted(row for entity in former for row in self.rows_of(entity))


class IndexedCases(OwnedCases):
    """An index is used again, perhaps before its former owner's rows were collected."""

    def test_one_successor_drives_the_dead_out(self) -> None:
        entities, m, es = self.filled(4)
        successors = reborn(entities, es)
        row = m.create(successors[1], **self.subject.sample(9))
        assert m.lookup(es[1]) == NIL
        assert m.lookup(successors[1]) == row
        assert m.entity(row) == successors[1]
        self.check_values(m, [row], [9])
        assert list(m).count(es[1]) == 0
        assert len(m) == len(list(m))
        assert m.remove(es[1]) == 0
        assert m.remove(successors[1]) == 1

    def test_many_successors_drive_the_dead_out(self) -> None:
        entities, m, es = self.filled(6)
        successors = reborn(entities, es[1:4])
        rows = m.create_many(successors, **self.subject.samples(3))
        assert m.lookup_many(successors).tolist() == rows.tolist()
        assert m.lookup_many(es).tolist().count(NIL) == 3
        assert sorted(m) == sorted([es[0], *es[4:], *successors])
        assert len(m) == 6
        self.check_values(m, rows, range(3))

    def test_indices_far_beyond_the_rows(self) -> None:
        entities, m = self.new(2000)
        es = born(entities, 2000)
        assert m.remove(es[-1]) == 0
        m.create(es[-1])
        assert m.lookup_many(es).tolist().count(NIL) == 1999
        assert m.entity(m.lookup(es[-1])) == es[-1]
        m.create_many(es[500:510])
        assert m.has_many(es).nonzero()[0].tolist() == [*range(500, 510), 1999]


# --- Lookup by an array over entity indices -------------------------------------------


class SparseRules(IndexedRules):
    """Nothing more than rows found by index."""


class SparseCases(IndexedCases):
    """The map grows with the highest index, and shrinks on demand."""

    def test_the_map_counts_as_memory(self) -> None:
        entities, m = self.new(2000)
        es = born(entities, 2000)
        m.reserve(64)
        m.create(es[0])
        before = m.nbytes
        m.create(es[-1])
        assert m.nbytes >= before + 4 * (2000 - 64)
        m.remove(es[-1])
        m.shrink_to_fit()
        assert m.nbytes <= before
        assert m.lookup_many(es[[0, -1]]).tolist() == [0, NIL]
        m.create_many(es[1:])
        assert m.lookup_many(es).tolist() == list(range(2000))

    def test_the_map_keeps_the_highest_index(self) -> None:
        entities, m = self.new()
        es = born(entities, 130)
        for k in (63, 64, 65, 127, 128):
            m.create(es[k])
            m.shrink_to_fit()
            assert m.has_many(es).nonzero()[0].tolist() == [k]
            m.clear()

    def test_own_columns_are_copied_before_the_dead_leave(self) -> None:
        entities, m, es = self.filled(6)
        successors = reborn(entities, es[:2])
        expected = [m.row(row) for row in range(2)]
        own = self.subject.own_columns(m, slice(2))
        rows = m.create_many(successors, **own)
        assert same([m.row(row) for row in rows], expected)

    def test_entities_of_own_columns_are_read_before_the_dead_leave(self) -> None:
        for field in self.subject.whole:
            entities, m, es = self.filled(4)
            column = getattr(m.data, field.name)
            if isinstance(field, Handle) and not field.shape:
                column[2:] = successors = reborn(entities, es[:2])
                rows = m.create_many(column[2:])
                assert same(m.data.entity[rows].tolist(), successors.tolist())
                assert same(m.lookup_many(successors).tolist(), rows.tolist())


# --- Lookup by a map over whole handles: the dead are in nobody's way -----------------


class HashCases(OwnedCases):
    """An index is used again before its former owner's rows were collected."""

    def test_the_map_counts_as_memory(self) -> None:
        _, more, _ = self.filled(1000)
        more.reserve(1000)
        _, m, _ = self.filled(1)
        m.reserve(1000)
        assert more.nbytes >= m.nbytes + 1000


# --- At most one instance per entity --------------------------------------------------


class OneRules(OwnedRules):
    """A second instance is refused."""

    def creatable(self) -> list[int]:
        return [entity for entity in self.alive if entity not in self.lists]

    def choose_new(self, data: st.DataObject) -> list[int]:
        return data.draw(self.some(self.creatable()))

    @precondition(lambda self: any(entity in self.lists for entity in self.alive))
    @rule(data=st.data())
    def second_instances_are_refused(self, data: st.DataObject) -> None:
        m = self.manager
        owner = data.draw(st.sampled_from([e for e in self.alive if e in self.lists]))
        refuses(DuplicateInstanceError, m.create, owner)
        refuses(DuplicateInstanceError, m.create_many, [*self.creatable()[:3], owner])


class OneCases(OwnedCases):
    """Duplicates, one and many."""

    def test_a_second_instance_is_refused(self) -> None:
        entities, m, es = self.filled(3)
        new, other = born(entities, 2).tolist()
        with self.unchanged(m):
            refuses(DuplicateInstanceError, m.create, es[1], **self.subject.sample(5))
            repeats = [new, new], [other, new, other], [new, other, new]
            for chosen in ([new, es[2]], [es[0]], *repeats):
                refuses(DuplicateInstanceError, m.create_many, chosen)

    def test_a_lock_is_an_earlier_error(self) -> None:
        _, m, es = self.filled(2)
        with m.locked():
            refuses(StructureLockedError, m.create, es[0])
            refuses(StructureLockedError, m.create_many, es)


# --- The entity's index is the row: nothing moves, and there may be holes -------------


class DirectRules(IndexedRules, OneRules):
    """Rows are where the entity's index says."""

    def append(self, records: list[Record]) -> list[int]:
        rows = [self.entities.index(record.owner) for record in records]
        self.table += [None] * (max(rows) + 1 - len(self.table))
        for row, record in zip(rows, records, strict=True):
            self.table[row] = record
        return rows

    def rows_needed(self, owners: Sequence[int]) -> int:
        return max(map(self.entities.index, owners), default=-1) + 1

    def close(self, rows: list[int]) -> None:
        for row in rows:
            self.table[row] = None
        while self.table and self.table[-1] is None:
            self.table.pop()

    @invariant()
    def holes_agree(self) -> None:
        present = [record is not None for record in self.table]
        assert self.manager.data.present.tolist() == present
        for row in [row for row, used in enumerate(present) if not used][:2]:
            refuses(StaleInstanceError, self.manager.row, row)
            refuses(StaleInstanceError, self.manager.destroy, row)


class DirectCases(IndexedCases, OneCases):
    """Rows stay where they are."""

    def test_a_hole_stays_a_hole(self) -> None:
        _, m, es = self.filled(5)
        m.destroy(2)
        assert (len(m), m.data.n) == (4, 5)
        assert m.data.present.tolist() == [True, True, False, True, True]
        assert m.data.entity.tolist() == [*es[:2], 0, *es[3:]]
        assert list(m) == [*es[:2], *es[3:]]
        self.check_unused(m, 2)
        self.check_values(m, [0, 1, 3, 4], [0, 1, 3, 4])

    @pytest.mark.parametrize("holes", [1, 15, 16, 17, 4_110, 4_111, 4_112, 8_200])
    def test_the_end_is_found_over_any_number_of_holes(self, holes: int) -> None:
        entities, m = self.new(holes + 2)
        es = born(entities, holes + 2)
        chosen = es[[0, -1]]
        m.create_many(chosen)
        m.destroy(holes + 1)
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])
        m.create_many(chosen[1:])
        m.destroy_many([holes + 1])
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])

    @pytest.mark.parametrize("count", [2, 15, 16, 17, 40, 5_000])
    def test_the_end_is_found_when_many_go(self, count: int) -> None:
        entities, m = self.new(count + 1)
        es = born(entities, count + 1)
        m.create_many(es)
        m.destroy_many(np.arange(1, count + 1))
        assert (len(m), m.data.n, list(m)) == (1, 1, [es[0]])
        m.create_many(es[1:])
        m.destroy_many(np.delete(np.arange(count + 1), 1))
        assert (len(m), m.data.n, list(m)) == (1, 2, [es[1]])

    def test_a_mask_with_holes(self) -> None:
        _, m, es = self.filled(4)
        m.destroy(1)
        with self.unchanged(m):
            refuses(StaleInstanceError, m.destroy_many, np.ones(4, np.bool_))
        m.destroy_many(m.data.present & (m.data.entity != es[0]))
        assert list(m) == [es[0]]

    def test_a_hole_is_nobodys(self) -> None:
        _, m, es = self.filled(2)
        m.destroy(0)
        assert m.lookup(NULL_ENTITY) == NIL
        assert m.remove(NULL_ENTITY) == 0
        assert list(m) == [es[1]]

    def test_columns_of_used_rows_alone(self) -> None:
        _, m, _ = self.filled(4)
        m.destroy_many([0, 2])
        for field in self.subject.whole:
            setattr(m.data, field.name, field.sample(6))
            assert [field.read(field.sample(6))] * 2 == [
                getattr(m, field.name)(row) for row in (1, 3)
            ]


# --- Any number of instances per entity, in order of creation -------------------------


class ManyRules(OwnedRules):
    """Lists hold all rows of an entity."""

    @precondition(lambda self: self.alive and len(self.table) < MANY_ROWS)
    @rule(data=st.data(), count=st.integers(60, 70))
    def one_entity_gets_many(self, data: st.DataObject, count: int) -> None:
        entity = data.draw(st.sampled_from(self.alive))
        rows = [self.subject.sample(k) for k in range(count)]
        chosen, columns = [entity] * count, self.subject.samples(count)
        create = self.manager.create_many
        self.arrive(chosen, rows, lambda: create(chosen, **columns).tolist())

    @invariant()
    def lists_agree(self) -> None:
        where = {id(record): row for row, record in enumerate(self.table)}
        known = [*self.alive, *self.lists, 0]
        lists = [[where[id(record)] for record in self.lists.get(e, [])] for e in known]
        for entity, rows in zip(known, lists, strict=True):
            check_list(self.manager, entity, rows)
        assert self.manager.count_many(known).tolist() == list(map(len, lists))


def check_list(m: Any, entity: int, rows: list[int]) -> None:
    """Check an entity's rows, forwards and backwards."""
    assert list(m.instances(entity)) == rows
    assert m.count(entity) == len(rows)
    assert m.count_many([entity, entity]).tolist() == [len(rows)] * 2
    assert m.first(entity) == m.lookup(entity) == (*rows, NIL)[0]
    for before, after in pairwise([NIL, *rows, NIL]):
        assert before == NIL or m.next(before) == after
        assert after == NIL or m.previous(after) == before


class ManyCases(OwnedCases):
    """Order, both ways, through every change."""

    def several(self, owners: str) -> tuple[Any, dict[str, int]]:
        """Return a manager with a row for each letter, owned by the entity of that letter."""
        entities, m = self.new(len(owners))
        letters = sorted(set(owners))
        es = born(entities, len(letters)).tolist()
        names = dict(zip(letters, es, strict=True))
        samples = self.subject.samples(len(owners))
        m.create_many([names[letter] for letter in owners], **samples)
        return m, names

    def test_order_of_creation(self) -> None:
        m, names = self.several("abaab")
        check_list(m, names["a"], [0, 2, 3])
        check_list(m, names["b"], [1, 4])
        assert m.create(names["a"]) == 5
        check_list(m, names["a"], [0, 2, 3, 5])
        assert m.ensure(names["b"]) == 1
        assert len(m) == 6

    def test_repeated_entities_make_several_instances(self) -> None:
        m, names = self.several("a")
        rows = m.create_many([names["a"]] * 3, **self.subject.samples(3))
        assert rows.tolist() == [1, 2, 3]
        check_list(m, names["a"], [0, 1, 2, 3])
        self.check_values(m, range(4), [0, 0, 1, 2])

    def test_new_rows_join_lists_that_make_way(self) -> None:
        m, names = self.several("abab")
        if hasattr(m, "deactivate_many"):
            m.deactivate_many(range(4))
        owners = [names["b"], names["a"], names["a"]]
        m.create_many(owners, **self.subject.samples(3))
        for name, samples in (("a", [0, 2, 1, 2]), ("b", [1, 3, 0])):
            rows = list(m.instances(names[name]))
            check_list(m, names[name], rows)
            self.check_values(m, rows, samples)

    @pytest.mark.parametrize(
        ("gone", "left"),
        [(0, [1, 2, 0]), (1, [0, 2, 1]), (2, [0, 1, 2]), (3, [0, 1, 2])],
    )
    def test_one_of_several_goes(self, gone: int, left: list[int]) -> None:
        m, names = self.several("aaaa")
        m.destroy(gone)
        check_list(m, names["a"], left)

    def test_runs_of_neighbours_go(self) -> None:
        m, names = self.several("abababab")
        m.destroy_many([2, 3, 4, 5])
        check_list(m, names["a"], [0, 2])
        check_list(m, names["b"], [1, 3])
        m.destroy_many([0, 1])
        check_list(m, names["a"], [0])
        check_list(m, names["b"], [1])

    def test_all_of_an_entity_go(self) -> None:
        m, names = self.several("abcabcab")
        assert m.remove(names["a"]) == 3
        check_list(m, names["a"], [])
        assert names["a"] not in m
        assert m.remove_many([names["b"], names["a"], names["b"]]) == 3
        check_list(m, names["c"], [1, 0])
        assert len(m) == 2

    def test_lists_survive_moves(self) -> None:
        m, names = self.several("abcabc")
        m.reorder([5, 4, 3, 2, 1, 0])
        check_list(m, names["a"], [5, 2])
        check_list(m, names["c"], [3, 0])
        m.sort([3, 1, 2, 6, 5, 4])
        check_list(m, names["b"], [4, 0])

    def test_lists_that_are_not_in_row_order(self) -> None:
        m, names = self.several("baab")
        m.reorder([0, 3, 2, 1])
        check_list(m, names["a"], [3, 2])
        m.destroy(0)
        check_list(m, names["a"], [0, 2])
        check_list(m, names["b"], [1])
        m.reorder([2, 1, 0])
        check_list(m, names["a"], [2, 0])
        assert m.remove(names["a"]) == 2
        check_list(m, names["b"], [0])

    def test_long_lists(self) -> None:
        m, names = self.several("ab" + "a" * 200)
        check_list(m, names["a"], [0, *range(2, 202)])
        m.destroy_many(range(0, 202, 2))
        assert m.count(names["a"]) == 100
        assert m.count_many([names["b"], names["a"]]).tolist() == [1, 100]
        assert m.remove_many([names["a"]]) == 100
        check_list(m, names["b"], [0])

    def test_only_rows_in_use_have_neighbours(self) -> None:
        m, _ = self.several("ab")
        for row in (-1, 2, NIL):
            for call in (m.next, m.previous):
                refuses(StaleInstanceError, call, row)

    def test_instances_are_those_of_now(self) -> None:
        m, names = self.several("aab")
        found = m.instances(names["a"])
        m.create(names["a"])
        assert list(found) == [0, 1]
