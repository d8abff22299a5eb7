"""Lookup by a map over whole handles: the dead are in nobody's way."""

from __future__ import annotations

from ...handles import NIL
from ..subject import reborn
from . import owned


class Rules(owned.Rules):
    """No rows go because an index is used again."""


class Cases(owned.Cases):
    """An index is used again before its former owner's rows were collected."""

    def test_successors_and_the_dead_have_rows_of_their_own(self) -> None:
        entities, m, es = self.filled(4)
        successors = reborn(entities, es)
        left = m.lookup_many(es)
        assert m.lookup_many(successors).tolist() == [NIL] * 4
        m.create(successors[0], **self.subject.sample(7))
        m.create_many(successors[1:], **self.subject.samples(3))
        assert m.lookup_many(es).tolist() == left.tolist()
        assert sorted(m) == sorted([*es[left != NIL], *successors])
        self.check_values(m, m.lookup_many(successors), [7, 0, 1, 2])

    def test_the_map_counts_as_memory(self) -> None:
        _, more, _ = self.filled(1000)
        more.reserve(1000)
        _, m, _ = self.filled(1)
        m.reserve(1000)
        assert more.nbytes >= m.nbytes + 1000
