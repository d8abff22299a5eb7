"""What `sparse` and `direct` share: rows are found by an entity's index."""

from __future__ import annotations

from collections.abc import Sequence

from ...handles import NIL
from ..subject import born, reborn
from . import owned


class Rules(owned.Rules):
    """Rows of a dead entity go before another entity of its index gets new ones."""

    def evicted(self, chosen: Sequence[int]) -> list[int]:
        index = self.entities.index
        successors = {index(entity): entity for entity in chosen}
        former = [e for e in self.lists if successors.get(index(e), e) != e]
        return sorted(row for entity in former for row in self.rows_of(entity))


class Cases(owned.Cases):
    """An index is used again, perhaps before its former owner's rows were collected."""

    def test_successors_find_nothing_of_the_dead(self) -> None:
        entities, m, es = self.filled(4)
        successors = reborn(entities, es)
        assert [m.lookup(entity) for entity in successors] == [NIL] * 4
        assert m.lookup_many(successors).tolist() == [NIL] * 4
        assert not m.has_many(successors).any()
        assert not any(entity in m for entity in successors.tolist())
        assert m.remove(successors[0]) == m.remove_many(successors) == 0

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

    def test_ensure_drives_the_dead_out(self) -> None:
        entities, m, es = self.filled(1)
        (successor,) = reborn(entities, es).tolist()
        row = m.ensure(successor, **self.subject.sample(3))
        self.check_values(m, [row], [3])
        assert list(m) == [successor]

    def test_indices_far_beyond_the_rows(self) -> None:
        entities, m = self.new(2000)
        es = born(entities, 2000)
        assert m.remove(es[-1]) == 0
        m.create(es[-1])
        assert m.lookup_many(es).tolist().count(NIL) == 1999
        assert m.entity(m.lookup(es[-1])) == es[-1]
        m.create_many(es[500:510])
        assert m.has_many(es).nonzero()[0].tolist() == [*range(500, 510), 1999]
