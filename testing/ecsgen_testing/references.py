"""Fields of entities that are cleared, or whose rows go, when these entities die."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from .destroy import CallbackCases, CallbackRules, GcCases, GcRules
from .owned import OwnedCases, OwnedRules
from .subject import create_or_skip


class ReferencesRules(OwnedRules):
    """Rows refer to entities, alive and dead ones."""

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def refer(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        entity = data.draw(st.sampled_from([*self.alive, *self.dead[-5:], 0]))
        for field in self.subject.apart:
            getattr(self.manager, f"set_{field.name}")(row, entity)
            self.at(row).values[field.name] = entity

    def settled(self, gone: list[int], is_dead: Callable[[int], bool]) -> list[int]:
        """Return rows that go, and those that go because they refer to the dead; clear others."""
        on_delete = self.subject.on_delete
        fallen = {
            name: {row for row in self.used() if is_dead(self.at(row).values[name])}
            for name in on_delete
        }
        going = {*gone}.union(
            *(rows for name, rows in fallen.items() if on_delete[name] == "cascade")
        )
        for name, rows in fallen.items():
            for row in rows - going:
                self.at(row).values[name] = 0
        return [*going]


class ReferencesCases(OwnedCases):
    """Entities die to which a row refers."""

    def check_references(self, name: str, collects: bool) -> None:
        """Check what becomes of the second of three rows when the entity dies it refers to."""
        entities, m, es = self.filled(3)
        (friend,) = create_or_skip(entities, 1)
        row = self.found(m, es[1])
        getattr(m, f"set_{name}")(row, friend)
        entities.destroy(friend)
        cascades = self.subject.on_delete[name] == "cascade"
        if collects:
            assert getattr(m, name)(row) == friend
            assert m.collect() == cascades
        assert sorted(m) == sorted(es[[0, 2]].tolist() if cascades else es.tolist())
        assert cascades or not getattr(m, name)(self.found(m, es[1]))


class CollectedReferencesRules(GcRules, ReferencesRules):
    """The dead to whom rows refer are found by a collection."""

    def stale(self) -> list[int]:
        return self.settled(super().stale(), lambda e: e != 0 and e not in self.alive)


class CollectedReferencesCases(GcCases, ReferencesCases):
    """Rows change when their manager collects."""

    def test_a_collection_settles_references(self) -> None:
        for name in self.subject.on_delete:
            self.check_references(name, collects=True)


class FollowedReferencesRules(CallbackRules, ReferencesRules):
    """Rows change as soon as the entities die to whom they refer."""

    def falling(self, chosen: Sequence[int]) -> list[int]:
        return self.settled(super().falling(chosen), lambda e: e in chosen)


class FollowedReferencesCases(CallbackCases, ReferencesCases):
    """Rows change before `destroy` returns."""

    def test_a_death_settles_references(self) -> None:
        for name in self.subject.on_delete:
            self.check_references(name, collects=False)
