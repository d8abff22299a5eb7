"""Rows go together with their entity."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ...errors import StructureLockedError
from ...handles import NIL
from ..base import State
from ..machine import through_pickle
from ..subject import born, handles_with
from . import owned, release


class Rules(owned.Rules):
    """The entity manager tells at once who died."""

    def died(self, chosen: Sequence[int]) -> None:
        self.leave([row for entity in chosen for row in self.rows_of(entity)])

    @precondition(lambda self: self.alive)
    @rule(data=st.data())
    def nobody_dies_while_locked(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from(self.alive))
        with self.manager.locked():
            with pytest.raises(StructureLockedError):
                self.entities.destroy(entity)
            with pytest.raises(StructureLockedError):
                self.entities.destroy_many(self.alive)
        assert self.entities.alive_many(self.alive).all()


class Cases(owned.Cases):
    """Destroying entities, one and many."""

    def test_rows_go_with_their_entity(self) -> None:
        entities, m, es = self.filled(6)
        entities.destroy(es[1])
        assert m.lookup(es[1]) == NIL
        assert (len(m), m.version) == (5, 2)
        entities.destroy_many(es[[0, 5, 3]])
        assert sorted(m) == sorted(es[[2, 4]].tolist())
        assert m.version == 3

    @pytest.mark.parametrize("form", ["create", "create_many"])
    def test_a_successor_may_come_before_the_row_went(self, form: str) -> None:
        entities = self.subject.entities()
        successors: list[int] = []

        def replace(gone: Any) -> None:
            successors.append(entities.create())
            if form == "create":
                m.create(successors[-1], **self.subject.sample(1))
            else:
                m.create_many(successors[-1:], **self.subject.samples(1))

        entities.on_destroy(replace)  # before the manager's own
        m = self.subject.manager(entities)
        es = born(entities, 3)
        m.create_many(es, **self.subject.samples(3))
        with handles_with(entities, MIN_FREE=0):
            entities.destroy(es[0])
        assert sorted(m) == sorted([*es[1:].tolist(), *successors])
        assert [m.entity(m.lookup(entity)) for entity in m] == list(m)

    def test_entities_without_rows_are_nobodys_business(self) -> None:
        entities, m, _ = self.filled(2)
        more = born(entities, 3)
        before = State(self.subject, m)
        entities.destroy(more[0])
        entities.destroy_many(more[1:])
        assert State(self.subject, m) == before

    def test_nobody_dies_while_locked(self) -> None:
        entities, m, es = self.filled(3)
        more = born(entities, 1)
        before = State(self.subject, m)
        with m.locked():
            for call, given in (
                (entities.destroy, es[0]),
                (entities.destroy, more[0]),
                (entities.destroy_many, es),
            ):
                with pytest.raises(
                    StructureLockedError, match=f"{self.subject.label}Manager"
                ):
                    call(given)
        assert entities.alive_many([*es, *more]).all()
        assert State(self.subject, m) == before
        entities.destroy(es[0])
        assert len(m) == 2

    def test_copies_hear_of_their_own_entities(self) -> None:
        entities, m, es = self.filled(3)
        other_entities, other = through_pickle((entities, m))
        other_entities.destroy(es[0])
        assert (len(m), len(other)) == (3, 2)
        entities.destroy_many(es)
        assert (len(m), len(other)) == (0, 2)

    def test_forgotten_managers_are_freed(self) -> None:
        entities, m, es = self.filled(1)
        forgotten = weakref.ref(m)
        del m
        gc.collect()
        assert forgotten() is None
        entities.destroy_many(es)

    def test_there_is_nothing_left_to_collect(self) -> None:
        _, m = self.new()
        assert not hasattr(m, "collect")

    def test_failing_callbacks_let_entities_and_rows_go(self) -> None:
        entities, m, es = self.filled(3)
        died: list[list[int]] = []
        m.on_release(release.fail)
        entities.on_destroy(release.fail)
        entities.on_destroy(lambda gone: died.append(gone.tolist()))
        with pytest.raises(ExceptionGroup) as caught:
            entities.destroy_many(es[:2])
        assert list(map(type, caught.value.exceptions)) == [ZeroDivisionError] * 2
        assert list(m) == [es[2]]
        assert died == [es[:2].tolist()]
        assert entities.alive_many(es).tolist() == [False, False, True]

    def test_a_chain_of_deaths(self) -> None:
        entities, m, es = self.filled(100)
        order: list[int] = []

        def next_one(rows: Any) -> None:
            (owner,) = m.data.entity[rows].tolist()
            order.append(owner)
            following = order.index(owner) + 1
            if following < len(es):
                entities.destroy(es[following])
                assert entities.alive(es[following])

        m.on_release(next_one)
        entities.destroy(es[0])
        assert order == es.tolist()
        assert (len(m), len(entities)) == (0, 0)
