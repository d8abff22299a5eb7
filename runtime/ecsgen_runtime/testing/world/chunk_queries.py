"""Queries of chunks: equal to the definition by each entity's components."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import islice
from random import Random
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ...errors import CapacityError, StructureLockedError
from ..chunks.base import Members
from ..reflection import check_shown
from ..searching import SEARCH

Clauses = Mapping[str, tuple[str, ...]]
"""The components of `all`, `any` and `none`, by their attributes of chunks."""


class Cases(Members):
    """The queries of chunks of a world."""

    queries: ClassVar[Mapping[str, Clauses]]

    def concerned(self, clauses: Clauses) -> list[str]:
        """Return the components that matter to a query."""
        return [module for modules in clauses.values() for module in modules]

    def fulfils(self, found: set[Any], clauses: Clauses) -> bool:
        """Return whether a query finds an entity with these components, by the definition."""
        every, some, none = (
            [row in found for row in self.rows(clauses[key])]
            for key in ("all", "any", "none")
        )
        return all(every) and (any(some) or not some) and not any(none)

    def check(self, w: Any) -> None:
        """Compare the queries in all their forms with the definition."""
        for name, clauses in self.queries.items():
            query = getattr(w, name)
            expected = {
                e
                for e in w.entities
                if self.fulfils(set(w.archetypes.components(e)), clauses)
            }
            rows = query.rows()
            found = rows.entity.tolist()
            assert rows._fields == ("entity",)
            assert rows.entity.dtype == np.uint64
            assert len(query) == len(found) == len(expected)
            assert set(found) == expected
            assert [tuple(row) for row in query] == [(e,) for e in found]
            chunks = list(query.chunks())
            assert [e for chunk in chunks for e in chunk.entity.tolist()] == found
            assert all(self.fulfils(set(c.components), clauses) for c in chunks)

    def change(self, w: Any, random: Random) -> None:
        """Change something in some way."""
        store, entities = w.archetypes, list(w.entities)
        row = self.row_class(random.choice(sorted(self.members)))
        kind = random.randrange(7) if entities else 0
        having = store.has_many(entities, row)
        if kind == 0:
            wanted = self.concerned(random.choice(list(self.queries.values())))
            names = random.sample(wanted, random.randrange(len(wanted) + 1))
            store.create(self.rows(names), random.choice([1, 2, 9]))
        elif kind == 1:
            w.destroy(random.choice(entities))
        elif kind == 2:
            w.destroy_many(random.sample(entities, len(entities) // 2))
        elif kind == 3:
            store.remove_many(np.array(entities, np.uint64)[having], row)
        elif kind == 4:
            store.add_many(np.array(entities, np.uint64)[~having], row)
        elif kind == 5 and not random.randrange(9):
            store.clear()
        else:
            e = random.choice(entities)
            (store.remove if store.has(e, row) else store.add)(e, row)

    @SEARCH
    @given(st.integers(0, 1 << 32), st.integers(1, 20))
    def test_equal_to_the_definition(self, seed: int, changes: int) -> None:
        with self.small_chunks():
            w, random = self.world(), Random(seed)
        for _ in range(changes):
            try:
                self.change(w, random)
            except CapacityError:  # the handles of this project are small
                break
            self.check(w)

    def populated(self) -> Iterator[tuple[str, Clauses, Any]]:
        """For each query: a world of entities that fulfil it, and of some that do not."""
        for query, clauses in self.queries.items():
            with self.small_chunks():
                w = self.world()
            wanted = [*clauses["all"], *clauses["any"]]
            for left_out in ("", *wanted):
                self.created(w, [name for name in wanted if name != left_out], 5)
            for added in clauses["none"]:
                self.created(w, [*wanted, added], 2)
            yield query, clauses, w

    def test_reprs_say_how_many(self) -> None:
        for name, _, w in self.populated():
            query = getattr(w, name)
            kind, n = type(query).__name__, len(query)
            assert repr(query).startswith(f"<{kind}: {n} entit")
            check_shown(query, n)

    def test_loops_notice_changes(self) -> None:
        for query, _, w in self.populated():
            for steps in (1, len(getattr(w, query)) - 1):
                loop = iter(getattr(w, query))
                w.destroy(list(islice(loop, steps))[-1].entity)
                with pytest.raises(RuntimeError, match="while a query was iterated"):
                    next(loop)

    def test_each_component_matters(self) -> None:
        for query, clauses, w in self.populated():
            self.check(w)
            assert len(getattr(w, query)) >= 5
            for module in self.concerned(clauses):
                row = self.row_class(module)
                entities = list(w.entities)
                for e in (entities[0], entities[-1]):
                    for _ in range(2):
                        change = "remove" if w.archetypes.has(e, row) else "add"
                        getattr(w.archetypes, change)(e, row)
                        self.check(w)

    def test_new_archetypes_are_found(self) -> None:
        for query, clauses, w in self.populated():
            for module in sorted(set(self.members) - set(self.concerned(clauses))):
                before = len(getattr(w, query))
                rows = self.rows([*clauses["all"], *clauses["any"], module])
                w.archetypes.create(rows, 3)
                self.check(w)
                assert len(getattr(w, query)) == before + 3

    def test_the_dead_are_missed_at_once(self) -> None:
        for query, _, w in self.populated():
            for e in list(w.entities):
                w.destroy(e)
                self.check(w)
            assert len(getattr(w, query)) == 0

    def test_kept_while_nothing_changes(self) -> None:
        for name, _, w in self.populated():
            before = getattr(w, name).rows().entity
            w.entities.create()
            assert getattr(w, name).rows().entity is before
            assert not before.flags.writeable

    def thin_out(self, w: Any, name: str) -> None:
        """Destroy an entity of each chunk, in the loop over them."""
        for chunk in getattr(w, name).chunks():
            w.destroy(chunk.entity[0])

    def test_changes_end_a_loop(self) -> None:
        for name, _, w in self.populated():
            before = len(getattr(w, name))
            with w.archetypes.locked(), pytest.raises(StructureLockedError):
                self.thin_out(w, name)
            with pytest.raises(RuntimeError, match="changed while"):
                self.thin_out(w, name)
            self.check(w)
            assert len(getattr(w, name)) == before - 1

    def test_copies_have_queries_of_their_own(self) -> None:
        for name, _, w in self.populated():
            self.check(w)
            for other in (deepcopy(w), pickle.loads(pickle.dumps(w))):
                self.check(other)
                other.destroy_many(getattr(other, name).rows().entity[:2])
                self.check(other)
                self.check(w)
