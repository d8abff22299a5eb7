"""Callbacks of rows that belong to entities: how they leave, and what may happen meanwhile."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from ...errors import StructureLockedError
from ..subject import born, reborn, same
from . import owned, release
from .release import fail


class Rules(owned.Rules, release.Rules):
    """Nothing more than both."""


class Cases(owned.Cases, release.Cases):
    """Removal by entity, and entities that come and go inside of callbacks."""

    def test_removal_is_announced(self) -> None:
        entities, m, es, seen = self.watched(6)
        owners = es.tolist()
        m.remove(owners[0])
        m.remove_many(owners[1:3])
        m.remove_many([])
        m.remove(entities.create())
        m.destroy_many(np.sort(m.lookup_many(owners[3:5])))
        assert [sorted(gone) for gone in seen] == [
            owners[:1],
            owners[1:3],
            owners[3:5],
        ]

    def test_nobody_is_removed_meanwhile(self) -> None:
        _, m, es = self.filled(3)
        refused: list[int] = []

        def meddle(rows: Any) -> None:
            with pytest.raises(StructureLockedError):
                m.remove(es[2])
            refused.extend(rows.tolist())

        m.on_release(meddle)
        m.destroy(0)
        assert (refused, len(m)) == ([0], 2)

    def test_entities_destroyed_inside_wait_for_their_turn(self) -> None:
        entities, m, es = self.filled(2)
        extra = born(entities, 2)
        alive: list[bool] = []

        def destroy_more(rows: Any) -> None:
            for entity in extra.tolist():
                if entities.alive(entity):
                    entities.destroy(entity)
                    entities.destroy(entity)
                    alive.append(entities.alive(entity))

        subscription = m.on_release(destroy_more)
        m.destroy(m.lookup(es[0]))
        assert alive == [True, True]
        assert not entities.alive_many(extra).any()
        assert entities.alive_many(es).all()
        subscription.cancel()
        m.clear()

    def test_other_managers_may_change(self) -> None:
        entities, m, es = self.filled(2)
        other = self.subject.manager(entities)
        m.on_release(lambda rows: other.create_many(m.data.entity[rows]))
        m.destroy(m.lookup(es[1]))
        assert list(other) == [es[1]]

    def test_failures_stop_no_creation(self) -> None:
        entities, m, es = self.filled(6)
        one, *more = reborn(entities, es[:4]).tolist()
        m.on_release(fail)
        with suppress(ExceptionGroup):  # where the dead must go first
            m.create(one, **self.subject.sample(8))
        with suppress(ExceptionGroup):
            m.create_many(more, **self.subject.samples(3))
        rows = m.lookup_many([one, *more])
        self.check_values(m, rows, [8, 0, 1, 2])

    def test_callbacks_do_not_change_what_is_created(self) -> None:
        for field in self.subject.whole:
            entities, m, es = self.filled(4)
            successors = reborn(entities, es[:2])
            given = field.array([field.sample(k) for k in range(3)])

            def overwrite(_: object, given: Any = given) -> None:
                given[:2] = given[2]

            m.on_release(overwrite)
            rows = m.create_many(successors, **{field.name: given[:2]})
            expected = [field.read(field.sample(k)) for k in range(2)]
            assert same([getattr(m, field.name)(row) for row in rows], expected)

    @pytest.mark.parametrize("count", [2, 20])
    def test_callbacks_do_not_change_who_gets_it(self, count: int) -> None:
        entities, m, es = self.filled(count)
        successors = reborn(entities, es)
        given = successors.copy()
        m.on_release(lambda rows: given.fill(0))
        rows = m.create_many(given)
        assert m.data.entity[rows].tolist() == successors.tolist()

    @pytest.mark.parametrize("name", ["clear", "gc", "collect"])
    def test_failures_stop_no_sweep(self, name: str) -> None:
        entities, m, es = self.filled(100)
        sweep = getattr(m, name, m.clear)
        entities.destroy_many(es)
        m.on_release(fail)
        with suppress(ExceptionGroup):  # unless the rows went with their entities
            sweep()
        assert len(m) < 90
