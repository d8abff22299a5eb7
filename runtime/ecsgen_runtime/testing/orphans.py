"""What becomes of children whose parents go: destroyed, with their entities, or roots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import StructureLockedError
from ..handles import NIL
from .hierarchy import HierarchyCases, HierarchyRules
from .owned import OwnedCases, OwnedRules
from .subject import Guard, refuses

# --- Descendants of what goes, go too -------------------------------------------------


class OrphansDestroyRules(HierarchyRules):
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


class OrphansDestroyCases(HierarchyCases):
    """Ancestors go."""

    def test_many_descendants_go(self) -> None:
        """More than are taken one by one, and so few that links are followed."""
        chains = [p for k in range(0, 72, 8) for p in (NIL, *range(k, k + 7))]
        _, m, owners = self.family(chains + [NIL] * 230)
        m.destroy_many([row for row in range(72) if row % 8 < 2])
        assert sorted(m) == owners[72:].tolist()


# --- Descendants of what goes, go too, and their entities die -------------------------


class OrphansDieRules(OrphansDestroyRules, OwnedRules):
    """Whoever is below a row that goes dies, unless one of its own is the topmost."""

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
                self.bury([entity for entity in batch if entity in self.alive])
        finally:
            self.holds -= 1

    def leave(self, rows: Sequence[int]) -> int:
        gone = [self.at(row) for row in self.expanded(rows)]
        with self.held():
            below = {r.owner for r in gone if self.parents.get(r) in gone}
            topmost = {r.owner for r in gone if self.parents.get(r) not in gone}
            went = super().leave(rows)
            if below - topmost:
                self.doomed.append(sorted(below - topmost))
        return went


class OrphansDieCases(OrphansDestroyCases, OwnedCases):
    """Who dies and who lives."""

    def check_alive(self, entities: Any, owners: Any, expected: list[int]) -> None:
        """Check which of several entities are alive."""
        assert np.flatnonzero(entities.alive_many(owners)).tolist() == expected

    def test_who_may_not_die_keeps_all(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        guard = Guard()
        with self.unchanged(m):
            entities._attach(guard, Guard.remove)
            for call in (
                lambda: m.destroy(0),
                lambda: m.destroy_many([0, 3]),
                lambda: m.remove(owners[0]),
                m.clear,
            ):
                refuses(StructureLockedError, "not now", call)
        self.check_alive(entities, owners, [0, 1, 2, 3])
        m.destroy(2)  # nobody dies of this
        guard._locks = 0
        m.destroy(0)
        self.check_alive(entities, owners, [0, 2, 3])

    def test_in_callbacks_nobody_is_asked_yet(self) -> None:
        entities, m, owners = self.family([NIL, 0, NIL])
        (other,) = entities.create_many(1)
        guard = Guard()
        guard._locks = 0
        entities._attach(guard, Guard.remove)

        def remove(es: Any) -> None:
            if other in es:
                guard._locks = 1  # as while a manager tells its own callbacks
                m.remove(owners[0])
                guard._locks = 0

        entities.on_destroy(remove)
        entities.destroy(other)
        self.check_alive(entities, owners, [0, 2])


# --- Where the dead are found lazily, so are those who die of it ----------------------


class GcOrphansDieCases(OrphansDieCases):
    """A collection makes orphans."""

    def pick(self, m: Any) -> None:
        """Pick rows until one of somebody dead was among them."""
        while not m.gc():
            pass

    def test_the_dead_die_of_nothing(self) -> None:
        entities, m, owners = self.family([NIL, 0])
        entities.destroy(owners[1])
        guard = Guard()
        entities._attach(guard, Guard.remove)
        m.destroy(0)
        assert len(m) == 0
        self.check_alive(entities, owners, [0])

    def test_nothing_is_collected_of_which_nobody_may_die(self) -> None:
        entities, m, owners = self.family([NIL, 0, NIL])
        entities.destroy(owners[0])
        guard = Guard()
        entities._attach(guard, Guard.remove)
        refuses(StructureLockedError, "not now", m.collect)
        refuses(StructureLockedError, "not now", self.pick, m)
        assert len(m) == 3
        guard._locks = 0
        assert m.collect() == 2


# --- Children whose parent goes become roots ------------------------------------------


class OrphansRootCases(HierarchyCases):
    """Parents go."""

    def test_roots_know_nothing_of_former_siblings(self) -> None:
        _, m, _ = self.filled(6)
        m.set_parent_many([1, 2], 0)
        m.destroy(0)
        m.set_parent_many([1, 3], 4)
        assert [m.previous_sibling(row) for row in (1, 2)] == [NIL, NIL]
        m.set_parent_many([1, 3], NIL)
        m.set_parent_many([2, 3], 4)
        assert [m.previous_sibling(row) for row in (1, 2)] == [NIL, NIL]
