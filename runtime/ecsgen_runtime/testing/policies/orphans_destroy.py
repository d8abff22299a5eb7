"""Descendants of what goes, go too."""

from __future__ import annotations

from collections.abc import Sequence

from ...handles import NIL
from . import hierarchy


class Rules(hierarchy.Rules):
    """Whole subtrees leave at once."""

    def expanded(self, rows: Sequence[int]) -> Sequence[int]:
        where = self.where()
        found = dict.fromkeys(super().expanded(rows))
        waiting = list(found)
        while waiting:
            children = self.children.get(self.at(waiting.pop()), [])
            fresh = [where[child] for child in children if where[child] not in found]
            found |= dict.fromkeys(fresh)
            waiting += fresh
        return list(found)


class Cases(hierarchy.Cases):
    """Ancestors go, one and many."""

    def test_descendants_go_with_their_ancestor(self) -> None:
        _, m, owners = self.family([NIL, 0, 1, 0, NIL, 4])
        version = m.version
        m.destroy(0)
        assert (len(m), m.version) == (2, version + 1)
        root, child = (self.found(m, owner) for owner in owners[4:])
        assert m.parent(child) == root
        self.check_children(m, root, [child])

    def test_descendants_of_many_go(self) -> None:
        _, m, owners = self.family([NIL, 0, 1, 2, 0, 4, NIL])
        m.destroy_many([1, 4])
        assert len(m) == 2
        assert m.data.parent.tolist() == [NIL, NIL]
        self.check_children(m, self.found(m, owners[0]), [])

    def test_ancestors_and_descendants_given_together(self) -> None:
        _, m, _ = self.family([NIL, 0, 1, 2, NIL])
        m.destroy_many([3, 1, 0])
        assert len(m) == 1

    def test_ancestors_and_descendants_of_a_few_among_many(self) -> None:
        _, m, owners = self.family([NIL, 0, 1, 2, *[NIL] * 60])
        m.destroy_many([0, 1])
        assert len(m) == 60
        assert self.found(m, owners[4]) != NIL

    def test_ancestors_and_descendants_among_very_many(self) -> None:
        """More than are taken one by one, and so few that links are followed."""
        parents = [p for k in range(0, 27, 3) for p in (NIL, k, k + 1)]
        _, m, owners = self.family(parents + [NIL] * 290)
        m.destroy_many([row for row in range(27) if row % 3 < 2])
        assert len(m) == 290
        assert all(self.found(m, owner) != NIL for owner in owners[27:])

    def test_descendants_of_several_among_very_many(self) -> None:
        parents = [p for k in range(0, 72, 4) for p in (NIL, k, k + 1, k + 2)]
        _, m, owners = self.family(parents + [NIL] * 230)
        m.destroy_many(range(0, 72, 4))
        assert len(m) == 230
        assert all(self.found(m, owner) != NIL for owner in owners[72:])

    def test_a_deep_chain_goes(self) -> None:
        _, m, owners = self.family([NIL, *range(199)])
        m.destroy(100)
        assert len(m) == 100
        assert self.found(m, owners[99]) != NIL
        assert self.found(m, owners[100]) == NIL
        m.destroy(self.found(m, owners[0]))
        assert len(m) == 0
