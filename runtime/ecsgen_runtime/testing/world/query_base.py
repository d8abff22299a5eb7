"""What the tests of queries share: the definition, and worlds to compare it with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
import pytest

from ...errors import CapacityError, StructureLockedError
from ...handles import NIL
from ...sizes import Sizes
from ..roomy import Roomy

Clauses = Mapping[str, tuple[str, ...]]
"""The components of `all`, `any`, `none` and `optional`, as attributes of the world."""

FEW: dict[str, Any] = {
    "tuples": 2,
    "joined": 3,
    "kept": 2,
    "scattered": 0,
    "ordered": 2,
    "samples": 2,
    "sample": 2,
    "near": 0,
    "plain": (),
}
"""Instead of the sizes from which on it is worth while to go about it in another way."""


def as_if_large() -> Any:
    """Let a few rows be joined and gathered as very many are."""
    return Sizes.of(**FEW)


class Queried(Roomy):
    """The queries of a world."""

    world: ClassVar[Any]
    queries: ClassVar[Mapping[str, Clauses]]

    def concerned(self, *queries: str) -> list[str]:
        """Return the components that matter to queries, without names: to all of them."""
        clauses = [self.queries[query] for query in queries or self.queries]
        return sorted({name for c in clauses for names in c.values() for name in names})

    def expected(self, w: Any, clauses: Clauses) -> dict[int, list[int]]:
        """Return the entities, and their rows in `all` and `optional`, by the definition."""
        found = {}
        for e in w.entities:
            row = {
                name: int(getattr(w, name).lookup(e))
                for names in clauses.values()
                for name in names
            }
            some = [row[name] != NIL for name in clauses["any"]]
            if (
                all(row[name] != NIL for name in clauses["all"])
                and all(row[name] == NIL for name in clauses["none"])
                and (any(some) or not some)
            ):
                found[e] = [row[n] for n in (*clauses["all"], *clauses["optional"])]
        return found

    def check(self, w: Any) -> None:
        """Compare the queries in all their forms with the definition."""
        for name, clauses in self.queries.items():
            query = getattr(w, name)
            arrays = query.rows()
            lists = [array.tolist() for array in arrays]
            found = {e: rows for e, *rows in zip(*lists, strict=True)}
            assert found == self.expected(w, clauses)
            assert len(found) == len(lists[0]) == len(query)
            assert [tuple(row) for row in query] == list(zip(*lists, strict=True))
            assert arrays._fields[0] == "entity"
            assert arrays._fields[1:] == (*clauses["all"], *clauses["optional"])
            assert arrays.entity.dtype == np.uint64
            assert all(array.dtype == np.intp for array in arrays[1:])

    def populated(self) -> Iterator[tuple[str, Clauses, Any]]:
        """For each query: a world of entities that fulfil it, and of some that lack something."""
        for query, clauses in self.queries.items():
            w = self.world()
            modules = [*clauses["all"], *clauses["any"], *clauses["optional"]]
            for left_out in ("", "", *modules):
                kept = [name for name in modules if name != left_out]
                columns = {name: self.subjects[name].samples(2) for name in kept}
                try:
                    w.spawn(2, **columns)
                except CapacityError:
                    pytest.skip("the handles of this project are too small")
            yield query, clauses, w

    def with_all(self, clauses: Clauses) -> Any:
        """Return a world of six entities with all that a query asks for."""
        w = self.world()
        self.spawn_six(w, [*clauses["all"], *clauses["any"]])
        return w

    def spawn_six(self, w: Any, modules: list[str]) -> None:
        """Spawn entities with samples of some components."""
        try:
            w.spawn(6, **{m: self.subjects[m].samples(6) for m in modules})
        except CapacityError:
            pytest.skip("the handles of this project are too small")

    def keep(self, w: Any) -> None:
        """Leave the managers' orders as they are."""

    def shuffle(self, w: Any) -> None:
        """Let the managers' orders differ, where they have one."""
        for seed, module in enumerate(self.concerned()):
            manager = getattr(w, module)
            order = np.random.default_rng(seed).permutation(manager.data.n)
            self.reorder(manager, order)

    def reorder(self, manager: Any, order: Any) -> None:
        """Change the order of a manager's rows, if it has one of its own."""
        if hasattr(manager, "reorder") and not hasattr(manager, "is_active"):
            with suppress(StructureLockedError):  # a member of a group
                manager.reorder(order)
