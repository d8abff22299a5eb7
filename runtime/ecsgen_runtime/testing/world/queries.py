"""Queries: equal to the definition by sets, whatever happens to the managers."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from copy import deepcopy
from itertools import islice, permutations, product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ...errors import CapacityError
from ...handles import NIL
from ..reflection import check_shown
from ..runtime import methods_of
from ..searching import SEARCH
from .query_base import as_if_large
from .query_columns import ColumnCases


class Cases(ColumnCases):
    """The queries of a world."""

    def change(self, w: Any, random: Random) -> None:
        """Change something in some way."""
        entities = list(w.entities)
        manager = getattr(w, random.choice(self.concerned()))
        kind = random.randrange(8) if entities else 0
        if kind == 0:
            wanted = self.concerned(random.choice(list(self.queries)))
            names = random.sample(wanted, random.randrange(len(wanted) + 1))
            w.spawn(random.choice([1, 2, 9]), **{name: {} for name in names})
        elif kind == 1:
            w.destroy(random.choice(entities))
        elif kind == 2:
            w.destroy_many(random.sample(entities, len(entities) // 2))
        elif kind == 3:
            w.collect()
        elif kind == 4:
            manager.remove(random.choice(entities))
        elif kind == 5 and hasattr(manager, "first"):
            manager.create_many(random.choices(entities, k=3))
        else:
            manager.ensure(random.choice(entities))

    @SEARCH
    @given(st.integers(0, 1 << 32), st.integers(1, 20), st.booleans())
    def test_equal_to_the_definition(
        self, seed: int, changes: int, is_large: bool
    ) -> None:
        w, random = self.world(), Random(seed)
        with as_if_large() if is_large else nullcontext():
            for _ in range(changes):
                try:
                    self.change(w, random)
                except CapacityError:  # the handles of this project are small
                    break
                self.check(w)

    def test_each_component_matters(self) -> None:
        for query, _, w in self.populated():
            self.check(w)
            for module in self.concerned(query):
                entities = list(w.entities)
                getattr(w, module).remove(entities[0])
                self.check(w)
                getattr(w, module).ensure(entities[1])
                getattr(w, module).ensure(entities[0])
                self.check(w)

    def test_several_instances_count_once(self) -> None:
        for query, clauses, w in self.populated():
            modules = [*clauses["all"], *clauses["any"], *clauses["optional"]]
            for module in modules:
                manager = getattr(w, module)
                if not hasattr(manager, "first"):
                    continue
                first, second = getattr(w, query).rows().entity[:2]
                w.spawn(9, **{name: {} for name in modules if name != module})
                manager.create_many([first, first, second, first])
                self.check(w)
                manager.reorder(np.arange(len(manager))[::-1])
                self.check(w)

    def test_first_instances_in_any_order(self) -> None:
        """From the smallest manager as from others, rows of the dead among the rest."""
        for query, clauses in self.queries.items():
            modules = [*clauses["all"], *clauses["any"], *clauses["optional"]]
            lists = [m for m in modules if hasattr(self.subjects[m].manager, "first")]
            for module, others in product(lists, (0, 4)):
                w = self.world()
                manager = getattr(w, module)
                try:
                    _, twice, dead = w.spawn(3, **{name: {} for name in modules})
                    w.spawn(others, **{m: {} for m in modules if m != module})
                except CapacityError:
                    pytest.skip("the handles of this project are too small")
                manager.create(twice)
                w.destroy(dead)
                for order in permutations(range(len(manager))):
                    manager.reorder(order)
                    self.check(w)
                    if module not in clauses["any"]:
                        rows = getattr(getattr(w, query).rows(), module)
                        assert all(
                            manager.previous(r) == NIL for r in rows[rows != NIL]
                        )

    def test_dead_entities_are_missed_at_once(self) -> None:
        for query, _, w in self.populated():
            assert len(getattr(w, query)) > 0
            for e in list(w.entities):
                w.destroy(e)
                self.check(w)
            assert len(getattr(w, query)) == 0

    def test_kept_while_nothing_changes(self) -> None:
        for name, _, w in self.populated():
            query = getattr(w, name)
            rows = query.rows()
            w.entities.create()
            again = query.rows()
            assert all(old is new for old, new in zip(rows, again, strict=True))
            assert not any(array.flags.writeable for array in rows)

    def test_reprs_say_what_is_known(self) -> None:
        """They do not look for entities; how many there are is known from the last time."""
        for name, _, w in self.populated():
            query = getattr(w, name)
            kind = type(query).__name__
            with methods_of(query._join, _join=None):
                assert repr(query).startswith(f"<{kind}: up to ")
            n = len(query)
            found = f"<{kind}: {n} {'entity' if n == 1 else 'entities'}; "
            assert repr(query).startswith(found)
            check_shown(query, n)
            w.destroy(query.rows().entity[0])
            assert repr(query).startswith(f"<{kind}: up to ")

    def test_copies_have_queries_of_their_own(self) -> None:
        for query, _, w in self.populated():
            self.check(w)
            for other in (deepcopy(w), pickle.loads(pickle.dumps(w))):
                self.check(other)
                other.destroy_many(getattr(other, query).rows().entity[:2])
                self.check(other)
                self.check(w)

    def test_loops_notice_changes(self) -> None:
        """Before the first step, at the next one, and at the end if there is none."""
        for (query, change), taken in product(
            product(self.queries, (self.kill, self.strip)),
            (0, 1, None),
        ):
            w = next(w for name, _, w in self.populated() if name == query)
            rows = list(getattr(w, query))
            loop = iter(getattr(w, query))
            steps = list(islice(loop, len(rows) if taken is None else taken))
            assert steps == rows[:taken]
            change(w, query, (steps or rows)[-1].entity)
            with pytest.raises(RuntimeError, match="while a query was iterated"):
                next(loop)

    def kill(self, w: Any, query: str, entity: int) -> None:
        """Destroy an entity."""
        w.destroy(entity)

    def strip(self, w: Any, query: str, entity: int) -> None:
        """Remove a component that the query asks for."""
        clauses = self.queries[query]
        for module in (*clauses["all"], *clauses["any"]):
            if getattr(w, module).remove(entity):
                return

    def test_loops_notice_a_change_of_each_component(self) -> None:
        """Whoever gets one: rows of all its managers may have moved then."""
        for query, _, w in self.populated():
            for module in self.concerned(query):
                loop = iter(getattr(w, query))
                next(loop)
                stranger = w.entities.create()
                getattr(w, module).ensure(stranger)
                with pytest.raises(RuntimeError, match="while a query was iterated"):
                    next(loop)
                getattr(w, module).remove(stranger)
                w.destroy(stranger)

    def test_loops_may_go_on(self) -> None:
        """Over the very rows, whatever is written and whoever is born meanwhile."""
        for query, clauses, w in self.populated():
            for _ in range(2):
                for row in getattr(w, query):
                    rows = getattr(w, query).rows()
                    assert row in zip(*(a.tolist() for a in rows), strict=True)
                    for module in clauses["all"]:
                        for field in self.subjects[module].whole:
                            columns = getattr(getattr(w, query), module)
                            setattr(columns, field.name, getattr(columns, field.name))
