"""Descendants of what goes, go too, and their entities die."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from ...errors import StructureLockedError
from ...handles import NIL
from ..base import State
from ..machine import through_pickle
from . import orphans_destroy, owned


class Rules(orphans_destroy.Rules, owned.Rules):
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


class Cases(orphans_destroy.Cases, owned.Cases):
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

    def test_a_leaf_takes_nobody_along(self) -> None:
        entities, m, owners = self.family([NIL, 0, 0])
        m.destroy(1)
        m.destroy_many([self.found(m, owners[2])])
        self.check_alive(entities, owners, [0, 1, 2])

    def test_who_loses_its_row_lives(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        assert m.remove(owners[0]) == 3
        self.check_alive(entities, owners, [0, 3])
        assert m.remove_many(owners[[0, 3]]) == 1
        self.check_alive(entities, owners, [0, 3])

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

        def fail(es: Any) -> None:
            raise ZeroDivisionError

        entities.on_destroy(fail)
        with pytest.raises(ExceptionGroup) as caught:
            m.destroy(0)
        assert list(map(type, caught.value.exceptions)) == [ZeroDivisionError]
        self.check_alive(entities, owners, [0, 3])
        assert list(m) == [owners[3]]

    def test_who_may_not_die_keeps_all(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        refuser = Refuser()
        before = State(self.subject, m)
        entities._attach(refuser, Refuser.remove)
        for call in (
            lambda: m.destroy(0),
            lambda: m.destroy_many([0, 3]),
            lambda: m.remove(owners[0]),
            m.clear,
        ):
            with pytest.raises(StructureLockedError, match="not now"):
                call()
        assert State(self.subject, m) == before
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
