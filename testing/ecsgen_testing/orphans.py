"""Children whose parents are removed: destroyed, destroyed with their entities, or roots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from ecsgen_runtime.base.handles import NIL

from .hierarchy import HierarchyCases, HierarchyRules, check_children
from .owned import OwnedCases, OwnedRules
from .subject import deaths


class OrphansCases(HierarchyCases):
    """Families of which some go."""

    def left_by(self, parents: list[int], removed: Sequence[int]) -> Iterator[tuple[Any, Any]]:
        """Yield a family of which some went at once, and one of which just one went."""
        for at_once in (True, False):
            if at_once or len(removed) == 1:
                _, m, owners = self.family(parents)
                version = m.version
                if at_once:
                    m.destroy_many(removed)
                else:
                    m.destroy(removed[0])
                assert m.version == version + 1
                yield m, owners

    def check_left(self, m: Any, owners: Any, parents: list[int], left: Any) -> None:
        """Check that these rows are left, with those of their relatives that are."""
        now = {row: self.found(m, owners[row]) for row in left}
        assert sorted(m) == sorted(owners[left].tolist())
        above = [now.get(parents[row], NIL) for row in left]
        assert [m.parent(now[row]) for row in left] == above
        for row in left:
            children = [now[child] for child in left if parents[child] == row]
            check_children(m, now[row], children)
        roots = [now[row] for row in left if parents[row] not in now]
        assert m.roots().tolist() == sorted(roots)

    def test_one_leaves_its_siblings(self) -> None:
        parents = [NIL, 0, 0, 0]
        for removed in (1, 2, 3):
            for m, owners in self.left_by(parents, [removed]):
                self.check_left(m, owners, parents, sorted({0, 1, 2, 3} - {removed}))


class OrphansDestroyRules(HierarchyRules):
    """Whole subtrees leave at once."""

    def expanded(self, rows: Sequence[int]) -> Sequence[int]:
        where = self.where()
        expanded = dict.fromkeys(super().expanded(rows))
        waiting = list(expanded)
        while waiting:
            children = self.children.get(self.at(waiting.pop()), [])
            fresh = [where[child] for child in children if where[child] not in expanded]
            expanded |= dict.fromkeys(fresh)
            waiting += fresh
        return list(expanded)


class OrphansDestroyCases(OrphansCases):
    """Ancestors go, one and many."""

    @pytest.mark.parametrize(
        ("parents", "removed"),
        [
            ([NIL, *range(199)], [100]),
            ([NIL, 0, 1, 2, 0, 4, NIL], [1, 4]),
            ([NIL, 0, 1, 2, NIL], [3, 1, 0]),
            ([NIL, 0, 1, 2, *[NIL] * 60], [0, 1]),
            # More than are taken one by one, and so few that links are followed.
            (
                [p for k in range(0, 27, 3) for p in (NIL, k, k + 1)] + [NIL] * 290,
                [row for row in range(27) if row % 3 < 2],
            ),
            (
                [p for k in range(0, 72, 4) for p in (NIL, k, k + 1, k + 2)] + [NIL] * 230,
                range(0, 72, 4),
            ),
        ],
    )
    def test_descendants_go(self, parents: list[int], removed: Sequence[int]) -> None:
        left: list[int] = []
        for row, parent in enumerate(parents):
            if row not in removed and (parent == NIL or parent in left):
                left.append(row)
        for m, owners in self.left_by(parents, removed):
            self.check_left(m, owners, parents, left)


class OrphansDieRules(OrphansDestroyRules, OwnedRules):
    """Entities below a removed row die, except owners of the topmost rows."""

    def __init__(self) -> None:
        self.holds = 0
        self.doomed: list[list[int]] = []  # batches, in the order of their turns
        super().__init__()

    @contextmanager
    def held(self) -> Iterator[None]:
        self.holds += 1
        try:
            yield
            while self.doomed and self.holds == 1:
                batch = self.doomed.pop(0)
                self.move_to_dead([entity for entity in batch if entity in self.alive])
        finally:
            self.holds -= 1

    def leave(self, rows: Sequence[int]) -> int:
        removed = [self.at(row) for row in self.expanded(rows)]
        with self.held():
            below = {r.owner for r in removed if self.parents.get(r) in removed}
            topmost = {r.owner for r in removed if self.parents.get(r) not in removed}
            went = super().leave(rows)
            if below - topmost:
                self.doomed.append(sorted(below - topmost))
        return went


class OrphansDieCases(OrphansDestroyCases, OwnedCases):
    """Entities of children die with their parents."""

    def check_alive(self, entities: Any, owners: Any, expected: list[int]) -> None:
        assert np.flatnonzero(entities.alive_many(owners)).tolist() == expected

    def test_descendants_die(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, 0, NIL, 4])
        died = deaths(entities)
        m.destroy(0)
        assert [sorted(es) for es in died] == [sorted(owners[[1, 2, 3]].tolist())]
        self.check_alive(entities, owners, [0, 4, 5])
        assert sorted(m) == sorted(owners[4:].tolist())


class OrphansRootCases(OrphansCases):
    """Parents go, one and many."""

    @pytest.mark.parametrize(
        ("parents", "removed"),
        [
            ([NIL, 0, 0, 1], [0]),
            ([NIL, 0], [0]),
            ([1, NIL], [1]),
            ([NIL, NIL, 0], [0]),
            ([NIL, NIL, 0, 0], [0]),
            ([NIL, 0, NIL, 2, 2], [0, 1]),
            ([NIL] + [0] * 200, [0, 5]),
            # Where those that take their places have no relatives.
            ([*[NIL] * 8, *range(8), *[NIL] * 8], range(8)),
            # Where those that take their places keep their own.
            ([NIL, NIL, *[1] * 7, *[NIL] * 3, *[0] * 8], range(1, 9)),
        ],
    )
    def test_children_become_roots(self, parents: list[int], removed: Sequence[int]) -> None:
        left = [row for row in range(len(parents)) if row not in removed]
        for m, owners in self.left_by(parents, removed):
            self.check_left(m, owners, parents, left)
            for row in map(int, m.roots()):
                assert m.next_sibling(row) == m.previous_sibling(row) == NIL
