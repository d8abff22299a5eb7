"""Any number of instances per entity, in order of creation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from ...errors import StaleInstanceError
from ...handles import NIL
from .. import machine
from ..subject import born
from . import owned


class Rules(owned.Rules):
    """Lists hold all rows of an entity."""

    @precondition(lambda self: self.alive and len(self.table) < machine.MANY_ROWS)
    @rule(data=st.data(), count=st.integers(60, 70))
    def one_entity_gets_many(self, data: st.DataObject, count: int) -> None:
        entity = data.draw(st.sampled_from(self.alive))
        rows = [self.subject.sample(k) for k in range(count)]
        chosen, columns = [entity] * count, self.subject.samples(count)
        create = self.manager.create_many
        self.arrive(chosen, rows, lambda: create(chosen, **columns).tolist())

    @invariant()
    def lists_agree(self) -> None:
        m = self.manager
        where = {id(record): row for row, record in enumerate(self.table)}
        known = [*self.alive, *self.lists, 0]
        lists = [[where[id(record)] for record in self.lists.get(e, [])] for e in known]
        assert [list(m.instances(entity)) for entity in known] == lists
        assert [m.count(entity) for entity in known] == [len(rows) for rows in lists]
        assert m.count_many(known).tolist() == [len(rows) for rows in lists]
        assert [m.first(entity) for entity in known] == [
            (*rows, NIL)[0] for rows in lists
        ]
        for rows in lists:
            assert [m.next(row) for row in rows] == [*rows[1:], NIL][: len(rows)]
            assert [m.previous(row) for row in rows] == [NIL, *rows[:-1]][: len(rows)]


class Cases(owned.Cases):
    """Order, both ways, through every change."""

    def several(self, owners: str) -> tuple[Any, dict[str, int]]:
        """Return a manager with a row for each letter, owned by the entity of that letter."""
        entities, m = self.new(len(owners))
        names = dict(
            zip(
                sorted(set(owners)),
                born(entities, len(set(owners))).tolist(),
                strict=True,
            )
        )
        m.create_many(
            [names[letter] for letter in owners], **self.subject.samples(len(owners))
        )
        return m, names

    def check_list(self, m: Any, entity: int, rows: list[int]) -> None:
        """Check an entity's rows, forwards and backwards."""
        assert list(m.instances(entity)) == rows
        assert m.count(entity) == len(rows)
        assert m.count_many([entity, entity]).tolist() == [len(rows)] * 2
        assert m.first(entity) == m.lookup(entity) == (*rows, NIL)[0]
        for before, after in zip([NIL, *rows], [*rows, NIL], strict=True):
            if before != NIL:
                assert m.next(before) == after
            if after != NIL:
                assert m.previous(after) == before

    def test_order_of_creation(self) -> None:
        m, names = self.several("abaab")
        self.check_list(m, names["a"], [0, 2, 3])
        self.check_list(m, names["b"], [1, 4])
        assert m.create(names["a"]) == 5
        self.check_list(m, names["a"], [0, 2, 3, 5])
        assert m.ensure(names["b"]) == 1
        assert len(m) == 6

    def test_repeated_entities_make_several_instances(self) -> None:
        m, names = self.several("a")
        rows = m.create_many([names["a"]] * 3, **self.subject.samples(3))
        assert rows.tolist() == [1, 2, 3]
        self.check_list(m, names["a"], [0, 1, 2, 3])
        self.check_values(m, range(4), [0, 0, 1, 2])

    def test_new_rows_join_lists_that_make_way(self) -> None:
        m, names = self.several("abab")
        if hasattr(m, "deactivate_many"):
            m.deactivate_many(range(4))
        owners = [names["b"], names["a"], names["a"]]
        m.create_many(owners, **self.subject.samples(3))
        for name, samples in (("a", [0, 2, 1, 2]), ("b", [1, 3, 0])):
            rows = list(m.instances(names[name]))
            self.check_list(m, names[name], rows)
            self.check_values(m, rows, samples)

    @pytest.mark.parametrize(
        ("gone", "left"),
        [(0, [1, 2, 0]), (1, [0, 2, 1]), (2, [0, 1, 2]), (3, [0, 1, 2])],
    )
    def test_one_of_several_goes(self, gone: int, left: list[int]) -> None:
        m, names = self.several("aaaa")
        m.destroy(gone)
        self.check_list(m, names["a"], left)

    def test_runs_of_neighbours_go(self) -> None:
        m, names = self.several("abababab")
        m.destroy_many([2, 3, 4, 5])
        self.check_list(m, names["a"], [0, 2])
        self.check_list(m, names["b"], [1, 3])
        m.destroy_many([0, 1])
        self.check_list(m, names["a"], [0])
        self.check_list(m, names["b"], [1])

    def test_first_and_last_go_at_once(self) -> None:
        m, names = self.several("aaaaa")
        m.destroy_many([0, 4])
        self.check_list(m, names["a"], [1, 2, 0])
        m.create(names["a"])
        self.check_list(m, names["a"], [1, 2, 0, 3])

    def test_all_of_an_entity_go(self) -> None:
        m, names = self.several("abcabcab")
        assert m.remove(names["a"]) == 3
        self.check_list(m, names["a"], [])
        assert names["a"] not in m
        assert m.remove_many([names["b"], names["a"], names["b"]]) == 3
        self.check_list(m, names["c"], [1, 0])
        assert len(m) == 2

    def test_lists_survive_moves(self) -> None:
        m, names = self.several("abcabc")
        m.reorder([5, 4, 3, 2, 1, 0])
        self.check_list(m, names["a"], [5, 2])
        self.check_list(m, names["c"], [3, 0])
        m.sort([3, 1, 2, 6, 5, 4])
        self.check_list(m, names["b"], [4, 0])

    def test_lists_that_are_not_in_row_order(self) -> None:
        m, names = self.several("baab")
        m.reorder([0, 3, 2, 1])
        self.check_list(m, names["a"], [3, 2])
        m.destroy(0)
        self.check_list(m, names["a"], [0, 2])
        self.check_list(m, names["b"], [1])
        m.reorder([2, 1, 0])
        self.check_list(m, names["a"], [2, 0])
        assert m.remove(names["a"]) == 2
        self.check_list(m, names["b"], [0])

    def test_long_lists(self) -> None:
        m, names = self.several("ab" + "a" * 200)
        self.check_list(m, names["a"], [0, *range(2, 202)])
        m.destroy_many(range(0, 202, 2))
        assert m.count(names["a"]) == 100
        assert m.count_many([names["b"], names["a"]]).tolist() == [1, 100]
        assert m.remove_many([names["a"]]) == 100
        self.check_list(m, names["b"], [0])

    def test_only_rows_in_use_have_neighbours(self) -> None:
        m, _ = self.several("ab")
        for row in (-1, 2, NIL):
            for call in (m.next, m.previous):
                with pytest.raises(StaleInstanceError):
                    call(row)

    def test_instances_are_those_of_now(self) -> None:
        m, names = self.several("aab")
        found = m.instances(names["a"])
        m.create(names["a"])
        assert list(found) == [0, 1]
