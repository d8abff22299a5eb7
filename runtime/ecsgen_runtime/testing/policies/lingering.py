"""Rows of dead entities stay until somebody destroys or collects them."""

from __future__ import annotations

from . import owned


class Rules(owned.Rules):
    """Nothing happens to rows when their entity dies."""


class Cases(owned.Cases):
    """The dead can still be seen."""

    def test_rows_of_the_dead_stay_visible(self) -> None:
        entities, m, es = self.filled(5)
        entities.destroy(es[1])
        entities.destroy_many(es[3:])
        assert (
            m.lookup_many(es).tolist() == [m.lookup(e) for e in es] == [0, 1, 2, 3, 4]
        )
        assert m.require(es[1]) == 1
        assert es[1] in m
        assert m.has(es[4])
        assert m.version == 1
        self.check_values(m, range(5), range(5))

    def test_rows_of_the_dead_can_be_removed(self) -> None:
        entities, m, es = self.filled(4)
        entities.destroy_many(es)
        assert m.remove(es[1]) == 1
        assert m.remove_many(es[2:]) == 2
        m.destroy(m.lookup(es[0]))
        assert len(m) == 0
