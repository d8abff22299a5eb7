"""Lookup by an array over entity indices."""

from __future__ import annotations

from ...handles import NIL
from ..fields import Handle
from ..subject import born, reborn, same
from . import indexed


class Rules(indexed.Rules):
    """Nothing more than rows found by index."""


class Cases(indexed.Cases):
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

    def test_the_map_grows_with_each_index(self) -> None:
        entities, m = self.new(200)
        for k, entity in enumerate(born(entities, 200).tolist()):
            assert m.create(entity) == k
            assert m.lookup(entity) == k
