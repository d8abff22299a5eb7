"""At most one instance per entity."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from ...errors import DuplicateInstanceError, StructureLockedError
from ..base import State
from ..subject import born
from . import owned


class Rules(owned.Rules):
    """A second instance is refused."""

    def creatable(self) -> list[int]:
        return [entity for entity in self.alive if entity not in self.lists]

    def choose_new(self, data: st.DataObject) -> list[int]:
        return data.draw(self.some(self.creatable()))

    @precondition(lambda self: any(entity in self.lists for entity in self.alive))
    @rule(data=st.data())
    def second_instances_are_refused(self, data: st.DataObject) -> None:
        m = self.manager
        owner = data.draw(st.sampled_from([e for e in self.alive if e in self.lists]))
        with pytest.raises(DuplicateInstanceError):
            m.create(owner)
        with pytest.raises(DuplicateInstanceError):
            m.create_many([*self.creatable()[:3], owner])


class Cases(owned.Cases):
    """Duplicates, one and many."""

    def test_a_second_instance_is_refused(self) -> None:
        entities, m, es = self.filled(3)
        new, other = born(entities, 2).tolist()
        before = State(self.subject, m)
        with pytest.raises(DuplicateInstanceError):
            m.create(es[1], **self.subject.sample(5))
        for chosen in (
            [new, new],
            [new, es[2]],
            [es[0]],
            [other, new, other],
            [new, other, new],
        ):
            with pytest.raises(DuplicateInstanceError):
                m.create_many(chosen)
        assert State(self.subject, m) == before

    def test_a_lock_is_an_earlier_error(self) -> None:
        _, m, es = self.filled(2)
        with m.locked():
            with pytest.raises(StructureLockedError):
                m.create(es[0])
            with pytest.raises(StructureLockedError):
                m.create_many(es)

    def test_ensure_keeps_what_there_is(self) -> None:
        entities, m, es = self.filled(2)
        version = m.version
        assert m.ensure(es[1], **self.subject.sample(7)) == 1
        assert m.version == version
        new = entities.create()
        assert m.ensure(new, **self.subject.sample(2)) == 2
        self.check_values(m, range(3), range(3))
