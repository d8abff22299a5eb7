"""Fields of entities that are cleared, or whose rows go, when these entities die."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from .destroy import CallbackRules, GcRules
from .owned import OwnedRules


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


class CollectedReferencesRules(GcRules, ReferencesRules):
    """The dead to whom rows refer are found by a collection."""

    def stale(self) -> list[int]:
        return self.settled(super().stale(), lambda e: e != 0 and e not in self.alive)


class FollowedReferencesRules(CallbackRules, ReferencesRules):
    """Rows change as soon as the entities die to whom they refer."""

    def falling(self, chosen: Sequence[int]) -> list[int]:
        return self.settled(super().falling(chosen), lambda e: e in chosen)
