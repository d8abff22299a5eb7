"""Children whose parents are removed: destroyed, destroyed with their entities, or roots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .hierarchy import HierarchyRules
from .owned import OwnedRules


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
