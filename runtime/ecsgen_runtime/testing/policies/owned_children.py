"""Entities may be given instances below a parent."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ...errors import StaleEntityError, StaleInstanceError, StructureLockedError
from ...handles import NIL
from ..base import State
from ..subject import born, handles_with
from . import children, owned


class Rules(children.Rules, owned.Rules):
    """The parents of new rows are found wherever they went meanwhile."""

    @precondition(lambda self: self.creatable() and self.used())
    @rule(data=st.data())
    def create_below(self, data: st.DataObject) -> None:
        entity = data.draw(st.sampled_from(self.creatable()))
        values, parent = data.draw(self.subject.some_values), self.draw_parent(data)
        given, m = self.where()[parent], self.manager

        def create() -> list[int]:
            return [m.create(entity, parent=given, **values)]

        self.arrive_below(
            [parent], lambda: self.arrive([entity], [values], create), create
        )

    @precondition(lambda self: self.used())
    @rule(data=st.data(), for_all=st.booleans())
    def create_many_below(self, data: st.DataObject, for_all: bool) -> None:
        chosen, values = self.choose_new(data), data.draw(self.subject.some_values)
        parents = [self.draw_parent(data) for _ in chosen[: 1 if for_all else None]]
        if for_all:
            parents *= len(chosen)
        where, m = self.where(), self.manager
        numbers = [where[parent] for parent in parents]
        given = numbers[0] if for_all and numbers else numbers
        rows = [self.shifted(values, k) for k in range(len(chosen))]
        columns = self.columns(rows, as_array=False)

        def create() -> list[int]:
            rows: list[int] = m.create_many(chosen, parents=given, **columns).tolist()
            return rows

        self.arrive_below(parents, lambda: self.arrive(chosen, rows, create), create)


class Cases(children.Cases, owned.Cases):
    """The dead count for more, and are nobody's child."""

    def test_dead_entities_count_for_more_than_parents(self) -> None:
        entities, m, _ = self.family([NIL, 0])
        dead, living = born(entities, 2).tolist()
        entities.destroy(dead)
        before = State(self.subject, m)
        for parent in (0, 7, None):
            with pytest.raises(StaleEntityError):
                m.create(dead, parent=parent)
            with pytest.raises(StaleEntityError):
                m.create_many([living, dead], parents=parent)
        assert State(self.subject, m) == before

    def test_an_entity_is_no_parent(self) -> None:
        entities, m, owners = self.family([NIL, 0])
        entity, (new,) = owners[0], born(entities, 1).tolist()
        calls: tuple[Callable[[], object], ...] = (
            lambda: m.create(new, parent=entity),
            lambda: m.create_many([new], parents=entity),
            lambda: m.create_many([new], parents=[entity]),
            lambda: m.set_parent(1, entity),
            lambda: m.set_parent_many([1], entity),
            lambda: m.set_parent_many([1], [entity]),
        )
        for call in calls:
            with pytest.raises(StaleInstanceError, match=r"lookup\(entity\)"):
                call()
        with pytest.raises(StaleInstanceError):
            m.set_parent_many([1], -(2**70))

    def test_locked_managers_get_no_children(self) -> None:
        entities, m, _ = self.family([NIL])
        (entity,) = born(entities, 1).tolist()
        with m.locked():
            with pytest.raises(StructureLockedError):
                m.create(entity, parent=0)
            with pytest.raises(StructureLockedError):
                m.create_many([entity], parents=0)
        assert m.parent(m.create(entity, parent=0)) == m.lookup(next(iter(m)))

    def test_a_parent_is_found_that_moves_for_its_child(self) -> None:
        entities, m, es = self.filled(3)
        if not hasattr(m, "deactivate_many"):
            pytest.skip("new rows come behind all others")
        m.deactivate_many(range(3))
        for form in ("create", "create_many"):
            parent = m.entity(m.n_active)
            (entity,) = born(entities, 1).tolist()
            if form == "create":
                row = m.create(entity, parent=m.n_active)
            else:
                (row,) = m.create_many([entity], parents=[m.n_active]).tolist()
            assert m.parent(row) == self.found(m, parent)
            assert parent in es.tolist()

    def test_parents_are_found_when_the_dead_make_way(self) -> None:
        for form in ("create", "create_many"):
            with ExitStack() as reuse:
                entities, m, es = self.filled(5)
                reuse.enter_context(handles_with(entities, MIN_FREE=0))
                entities.destroy_many(es[:2])
                successors = entities.create_many(2)
                parent = self.found(m, es[4])
                if form == "create":
                    m.create(successors[0], parent=parent)
                else:
                    m.create_many(successors[:1], parents=[parent])
                row = self.found(m, successors[0])
                assert m.parent(row) == self.found(m, es[4])
                self.check_children(m, self.found(m, es[4]), [row])
