"""What becomes of children whose parents go: destroyed, with their entities, or roots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import StructureLockedError
from ..handles import NIL
from .hierarchy import HierarchyCases, HierarchyRules, check_children
from .owned import OwnedCases, OwnedRules
from .subject import fail, fails, refuses, through_pickle

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
    """Ancestors go, one and many."""

    def test_descendants_go_with_their_ancestor(self) -> None:
        _, m, owners = self.family([NIL, 0, 1, 0, NIL, 4])
        version = m.version
        m.destroy(0)
        assert (len(m), m.version) == (2, version + 1)
        root, child = (self.found(m, owner) for owner in owners[4:])
        assert m.parent(child) == root
        check_children(m, root, [child])

    def test_descendants_of_many_go(self) -> None:
        _, m, owners = self.family([NIL, 0, 1, 2, 0, 4, NIL])
        m.destroy_many([1, 4])
        assert len(m) == 2
        assert m.data.parent.tolist() == [NIL, NIL]
        check_children(m, self.found(m, owners[0]), [])

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


class Refuser:
    """Refuses that entities die."""

    _locks = 1

    def _before_destroy(self) -> None:
        """Be asked before."""
        if self._locks:
            raise StructureLockedError("not now")

    def _entities_destroyed(self, entities: Any) -> None:
        """Hear of it."""

    def remove(self, entity: Any) -> None:
        """Hear of one death."""


class OrphansDieCases(OrphansDestroyCases, OwnedCases):
    """Who dies and who lives."""

    def check_alive(self, entities: Any, owners: Any, expected: list[int]) -> None:
        """Check which of several entities are alive."""
        assert np.flatnonzero(entities.alive_many(owners)).tolist() == expected

    def test_descendants_die(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, 0, NIL, 4])
        died: list[int] = []
        entities.on_destroy(lambda es: died.extend(es.tolist()))
        m.destroy(0)
        assert sorted(died) == sorted(owners[[1, 2, 3]].tolist())
        self.check_alive(entities, owners, [0, 4, 5])
        assert sorted(m) == sorted(owners[4:].tolist())

    def test_who_loses_its_row_lives(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        assert m.remove(owners[0]) == 3
        self.check_alive(entities, owners, [0, 3])
        assert m.remove_many(owners[[0, 3]]) == 1
        self.check_alive(entities, owners, [0, 3])

    def test_a_leaf_takes_nobody_along(self) -> None:
        entities, m, owners = self.family([NIL, 0, 0])
        m.destroy(1)
        m.destroy_many([self.found(m, owners[2])])
        self.check_alive(entities, owners, [0, 1, 2])

    def test_all_but_roots_die_of_clear(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        m.clear()
        assert len(m) == 0
        self.check_alive(entities, owners, [0, 3])

    def test_given_descendants_die_as_well(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        m.destroy_many([0, 1, 3])
        assert len(m) == 0
        self.check_alive(entities, owners, [0, 3])

    def test_they_die_with_the_entity_of_their_ancestor(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        entities.destroy(owners[0])
        m.remove(owners[0])  # if its row is still there
        self.check_alive(entities, owners, [3])
        assert list(m) == [owners[3]]

    def test_parents_and_children_die_together(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        entities.destroy_many(owners[:2])
        m.remove_many(owners[:2])
        self.check_alive(entities, owners, [3])
        assert list(m) == [owners[3]]

    def test_each_dies_once(self) -> None:
        entities, m, owners = self.family([NIL, 0, 0, 2])
        died: list[int] = []

        def hear(es: Any) -> None:
            died.extend(es.tolist())
            living = owners[entities.alive_many(owners)]
            entities.destroy_many(living[1:])  # these wait for their turn

        entities.on_destroy(hear)
        m.destroy(self.found(m, owners[2]))
        assert len(died) == len(set(died))
        self.check_alive(entities, owners, [0])

    def test_in_callbacks_they_wait_for_their_turn(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        other = entities.create()
        seen: list[list[bool]] = []

        def remove(es: Any) -> None:
            if other in es.tolist():
                m.remove(owners[0])
                seen.append(entities.alive_many(owners).tolist())

        entities.on_destroy(remove)
        entities.destroy(other)
        assert seen == [[True] * 4]
        self.check_alive(entities, owners, [0, 3])

    def test_what_callbacks_raise_stops_nothing(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])

        entities.on_destroy(fail)
        fails([ZeroDivisionError], m.destroy, 0)
        self.check_alive(entities, owners, [0, 3])
        assert list(m) == [owners[3]]

    def test_who_may_not_die_keeps_all(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        refuser = Refuser()
        with self.unchanged(m):
            entities._attach(refuser, Refuser.remove)
            for call in (
                lambda: m.destroy(0),
                lambda: m.destroy_many([0, 3]),
                lambda: m.remove(owners[0]),
                m.clear,
            ):
                refuses(StructureLockedError, "not now", call)
        self.check_alive(entities, owners, [0, 1, 2, 3])
        m.destroy(2)  # nobody dies of this
        refuser._locks = 0
        m.destroy(0)
        self.check_alive(entities, owners, [0, 2, 3])

    def test_in_callbacks_nobody_is_asked_yet(self) -> None:
        entities, m, owners = self.family([NIL, 0, NIL])
        (other,) = entities.create_many(1)
        refuser = Refuser()
        refuser._locks = 0
        entities._attach(refuser, Refuser.remove)

        def remove(es: Any) -> None:
            if other in es:
                refuser._locks = 1  # as while a manager tells its own callbacks
                m.remove(owners[0])
                refuser._locks = 0

        entities.on_destroy(remove)
        entities.destroy(other)
        self.check_alive(entities, owners, [0, 2])

    def test_copies_have_deaths_of_their_own(self) -> None:
        entities, m, owners = self.family([NIL, 0])
        others, other = through_pickle((entities, m))
        other.destroy(0)
        self.check_alive(entities, owners, [0, 1])
        self.check_alive(others, owners, [0])


# --- Where the dead are found lazily, so are those who die of it ----------------------


class GcOrphansDieCases(OrphansDieCases):
    """A collection makes orphans."""

    def pick(self, m: Any) -> None:
        """Pick rows until one of somebody dead was among them."""
        while not m.gc():
            pass

    def test_orphans_live_until_the_collection(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        entities.destroy(owners[0])
        self.check_alive(entities, owners, [1, 2, 3])
        assert len(m) == 4
        assert m.collect() == 3
        self.check_alive(entities, owners, [3])

    def test_random_picks_make_orphans(self) -> None:
        entities, m, owners = self.family([NIL, *[0] * 3])
        entities.destroy(owners[0])
        self.pick(m)
        assert len(m) == 0
        self.check_alive(entities, owners, [])

    def test_the_dead_die_of_nothing(self) -> None:
        entities, m, owners = self.family([NIL, 0])
        entities.destroy(owners[1])
        refuser = Refuser()
        entities._attach(refuser, Refuser.remove)
        m.destroy(0)
        assert len(m) == 0
        self.check_alive(entities, owners, [0])

    def test_nothing_is_collected_of_which_nobody_may_die(self) -> None:
        entities, m, owners = self.family([NIL, 0, NIL])
        entities.destroy(owners[0])
        refuser = Refuser()
        entities._attach(refuser, Refuser.remove)
        refuses(StructureLockedError, "not now", m.collect)
        refuses(StructureLockedError, "not now", self.pick, m)
        assert len(m) == 3
        refuser._locks = 0
        assert m.collect() == 2


# --- Children whose parent goes become roots ------------------------------------------


class OrphansRootCases(HierarchyCases):
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
        check_children(m, rows[0], [rows[2], rows[1]])

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
        check_children(m, 2, [0, 1])
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
        check_children(m, rows[1], rows[2:])

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
        check_children(m, 0, list(range(1, 9)))
