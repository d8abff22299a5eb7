"""Children whose parent goes become roots."""

from __future__ import annotations

from ...handles import NIL
from . import hierarchy


class Rules(hierarchy.Rules):
    """Nobody goes with a parent."""


class Cases(hierarchy.Cases):
    """Parents go, one and many."""

    def test_children_become_roots(self) -> None:
        _, m, owners = self.family([NIL, 0, 0, 1])
        m.destroy(0)
        assert len(m) == 3
        rows = [self.found(m, owner) for owner in owners[1:]]
        assert [m.parent(row) for row in rows] == [NIL, NIL, rows[0]]
        assert m.roots().tolist() == sorted(rows[:2])
        for row in rows[:2]:
            assert m.next_sibling(row) == m.previous_sibling(row) == NIL
        m.set_parent(rows[1], rows[0])
        self.check_children(m, rows[0], [rows[2], rows[1]])

    def test_children_of_many_become_roots(self) -> None:
        _, m, owners = self.family([NIL, 0, 1, 2, 3, 0])
        m.destroy_many([0, 2])
        rows = [self.found(m, owners[k]) for k in (1, 3, 4, 5)]
        assert [m.parent(row) for row in rows] == [NIL, NIL, rows[1], NIL]
        m.destroy_many([rows[1], rows[2]])
        assert len(m) == 2
        assert m.data.parent.tolist() == [NIL, NIL]

    def test_children_take_the_places_of_their_parents(self) -> None:
        for parents in ([NIL, NIL, 0], [NIL, NIL, 0, 0]):
            _, m, _ = self.family(parents)
            m.destroy_many([0])
            self.check_family(m, [NIL] * (len(parents) - 1))
        _, m, _ = self.family([NIL, 0])
        m.destroy_many([0])
        self.check_family(m, [NIL])
        _, m, _ = self.filled(2)
        m.set_parent(0, 1)
        m.destroy_many([1])
        self.check_family(m, [NIL])

    def test_others_take_the_places_of_orphans(self) -> None:
        _, m, _ = self.family([NIL, 0, NIL, 2, 2])
        m.destroy_many([0, 1])
        assert m.data.parent.tolist() == [2, 2, NIL]
        self.check_children(m, 2, [0, 1])
        _, m, owners = self.filled(6)
        if hasattr(
            m, "activate_many"
        ):  # so that rows move into places of those that move
            m.activate_many([0, 1, 2])
            m.deactivate_many([3, 4, 5])
        m.set_parent_many([2, 5], [0, 3])
        m.destroy_many([0])
        rows = [self.found(m, owners[k]) for k in (2, 3, 5)]
        assert [m.parent(row) for row in rows] == [NIL, NIL, rows[1]]
        self.check_children(m, rows[1], rows[2:])

    def test_a_large_family_is_left(self) -> None:
        _, m, owners = self.family([NIL] + [0] * 200)
        m.destroy_many([0, 5])
        assert m.data.parent.tolist() == [NIL] * 199
        assert self.found(m, owners[5]) == NIL

    def test_roots_know_nothing_of_former_siblings(self) -> None:
        _, m, _ = self.filled(6)
        m.set_parent_many([1, 2], 0)
        m.destroy(0)
        m.set_parent_many([1, 3], 4)
        assert [m.previous_sibling(row) for row in (1, 2)] == [NIL, NIL]
        m.set_parent_many([1, 3], NIL)
        m.set_parent_many([2, 3], 4)
        assert [m.previous_sibling(row) for row in (1, 2)] == [NIL, NIL]

    def test_children_of_many_that_go_are_roots(self) -> None:
        """Where those that take their places have no relatives."""
        _, m, _ = self.family([*[NIL] * 8, *range(8), *[NIL] * 8])
        m.destroy_many(range(8))
        assert m.data.parent.tolist() == [NIL] * 16
        assert m.roots().tolist() == list(range(16))

    def test_many_go_with_their_parent(self) -> None:
        """And those that take their places keep their own."""
        _, m, _ = self.family([NIL, NIL, *[1] * 7, *[NIL] * 3, *[0] * 8])
        m.destroy_many(range(1, 9))
        assert m.data.parent.tolist() == [NIL, *[0] * 8, *[NIL] * 3]
        self.check_children(m, 0, list(range(1, 9)))
