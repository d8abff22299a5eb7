"""The state machine of one manager, which compares it with a naive model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from copy import deepcopy
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from ecsgen_runtime.base.errors import CapacityError
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from .row_proxies import Followed
from .subject import Field, Subject, check_objects, refuses, same, through_pickle, through_snapshot

EXAMPLES: Final = max(3, settings().max_examples // 10)
SEARCH: Final = settings(
    max_examples=EXAMPLES,
    deadline=None,
    # Each package that is tested has a class with the same method.
    suppress_health_check=[HealthCheck.differing_executors],
)


# The model is a list of rows. What depends on a policy (owners of rows, where
# they go, what leaves with them) is in that policy's `Rules`.


SETTINGS = settings(
    max_examples=EXAMPLES,
    stateful_step_count=min(50, 10 * EXAMPLES),
    deadline=None,
    phases=tuple(phase for phase in settings().phases if phase is not Phase.explain),
)
MANY_ROWS = 150
"""No rule adds rows beyond these."""

RING_SIZE = 64
"""Rings are that large in machines: full after a few rows, and no larger than any reserve."""

FORMS: Final = ("one for all", "list", "array", "table")
"""How columns are given to `create_many`."""


class Record:
    """An instance as the model has it."""

    def __init__(self, owner: int, values: dict[str, Any]) -> None:
        self.owner = owner  # an entity, or else the id
        self.values = values
        self._stored: dict[str, tuple[Any, Any]] = {}

    def stored(self, field: Field) -> Any:
        """Return a value as it lies in its column; found once for each value."""
        value = self.values[field.name]
        known = self._stored.get(field.name)
        if known is None or known[0] is not value:
            known = self._stored[field.name] = (value, field.stored(value))
        return known[1]


class ManagerStateMachine(RuleBasedStateMachine):
    """Rules that every manager follows."""

    subject: ClassVar[Subject]

    def __init__(self) -> None:
        super().__init__()
        self.patches = ExitStack()
        self.patches.enter_context(self.subject.room_for(RING_SIZE))
        self.patches.enter_context(self.subject.filled())
        self.manager: Any = self.made()
        self.table: list[Record | None] = []  # by row; None is a hole
        self.version = 0
        self.proxies = Followed()
        self.watch()

    def teardown(self) -> None:
        self.patches.close()

    def made(self) -> Any:
        """Return a new manager."""
        return self.subject.made()

    def copied(self, copied: Callable[[Any], Any]) -> Any:
        """Return a copy of the manager, and use the copy's entities from now on."""
        return copied(self.manager)

    def creatable(self) -> list[int]:
        """Return the entities that may get an instance; 0 where instances have no owners."""
        return [0]

    def choose_new(self, data: st.DataObject) -> list[int]:
        """Draw owners for new instances."""
        return data.draw(self.some(self.creatable(), unique=False))

    def new_owners(self, count: int) -> list[int]:
        """Return new owners, as many, or none where the handles are too small for them."""
        return [0] * count

    def watch(self) -> None:
        """Look at a new manager, made or loaded."""

    def append(self, records: list[Record]) -> list[int]:
        """Put new rows where they belong, and return where that is."""
        raise NotImplementedError

    def close(self, rows: list[int]) -> None:
        """Take ascending rows out of the table."""
        raise NotImplementedError

    def smallest(self) -> int:
        """Return for how many rows the buffer must have room."""
        return len(self.table)

    def expanded(self, rows: Sequence[int]) -> Sequence[int]:
        """Return rows that are to go, and those that go with them."""
        return rows

    def displaced(self, records: Sequence[Record]) -> Sequence[int]:
        """Return the rows that go, at once, before these are there."""
        return []

    def leaving(self, rows: list[int]) -> None:
        """Look at ascending rows that are about to go."""

    def leave(self, rows: Sequence[int]) -> int:
        """Remove rows from the model and return how many went."""
        if not rows:
            return 0
        removed = sorted(self.expanded(rows))
        self.leaving(removed)
        self.close(removed)
        self.version += 1
        return len(removed)

    def held(self) -> AbstractContextManager[None]:
        """Return what lets deaths wait that follow from a change, until the change is done."""
        return nullcontext()

    def join(self, records: list[Record]) -> list[int]:
        """Add rows to the model and return where they are."""
        if not records:
            return []
        self.leave(self.displaced(records))
        self.version += 1
        return self.append(records)

    def rows_needed(self, owners: Sequence[int]) -> int:
        """Return for how many rows there must be room to create some."""
        return len(self.table) + len(owners)

    def has_room(self, owners: Sequence[int]) -> bool:
        """Return whether there is room for new rows of these owners."""
        return True

    def at(self, row: int) -> Record:
        """Return the record of a row in use."""
        record = self.table[row]
        assert record is not None
        return record

    def used(self) -> list[int]:
        """Return the rows in use."""
        return [row for row, record in enumerate(self.table) if record is not None]

    def some(self, items: Sequence[int], unique: bool = True) -> st.SearchStrategy[list[int]]:
        """A few of several entities or rows, in any order."""
        if not items:
            return st.just([])
        return st.lists(st.sampled_from(items), max_size=8, unique=unique)

    def chosen(self, data: st.DataObject, as_mask: bool) -> tuple[list[int], Any]:
        """Draw rows, and how they are given: themselves, or a mask."""
        rows = data.draw(self.some(self.used()))
        if not as_mask:
            return rows, rows
        return sorted(rows), np.isin(np.arange(len(self.table)), rows)

    def shifted(self, values: dict[str, Any], k: int) -> dict[str, Any]:
        """Return the values of row k: those given, then samples, so that rows differ."""
        if k == 0:
            return values
        return {f.name: f.sample(k) for f in self.subject.fields if f.name in values}

    def columns(self, rows: list[dict[str, Any]], rows_to_array: bool) -> dict[str, Any]:
        """Return rows of the same fields as columns: lists or arrays."""
        columns: dict[str, Any] = {}
        for field in self.subject.fields:
            if rows and field.name in rows[0]:
                values = [row[field.name] for row in rows]
                columns[field.name] = field.array(values) if rows_to_array else values
        return columns

    def given(
        self, values: dict[str, Any], count: int, form: str
    ) -> tuple[list[dict[str, Any]], dict[str, Any] | None, dict[str, Any]]:
        """Return rows of some values, and how a creation takes them: a table, or by name."""
        if form == "one for all":
            return [values] * count, None, values
        rows = [self.shifted(values, k) for k in range(count)]
        columns = self.columns(rows, form == "array")
        return (rows, columns, {}) if form == "table" else (rows, None, columns)

    def arrive(
        self, owners: Sequence[int], rows: Sequence[dict[str, Any]], create: Callable[[], list[int]]
    ) -> None:
        """Add rows to the model and create them, or see that there is no room."""
        if not self.has_room(owners):
            refuses(CapacityError, create)
            return
        read = [self.subject.read(values)._asdict() for values in rows]
        records = [Record(*pair) for pair in zip(owners, read, strict=True)]
        expected = self.join(records)
        assert create() == expected

    def create_rows(self, rows: list[dict[str, Any]]) -> None:
        """Create many instances of some values, of new owners."""
        self.all_arrive(self.new_owners(len(rows)), rows)

    def all_arrive(self, owners: list[int], rows: list[dict[str, Any]]) -> None:
        """Create instances of the first values together, as many as there are owners."""
        columns = self.columns(rows[: len(owners)], rows_to_array=False)
        create = partial(self.subject.create_many, self.manager, owners, **columns)
        self.arrive(owners, rows[: len(owners)], create)

    def one_arrives(self, owner: int, values: dict[str, Any]) -> None:
        """Create one instance."""
        create = partial(self.subject.create, self.manager, owner, **values)
        self.arrive([owner], [values], lambda: [create()])

    @precondition(lambda self: self.creatable())
    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        owner = data.draw(st.sampled_from(self.creatable()))
        self.one_arrives(owner, data.draw(self.subject.some_values))

    @rule(data=st.data(), form=st.sampled_from(FORMS))
    def create_many(self, data: st.DataObject, form: str) -> None:
        owners = self.choose_new(data)
        values = data.draw(self.subject.some_values)
        rows, table, named = self.given(values, len(owners), form)
        create = partial(self.subject.create_many, self.manager, owners, table, **named)
        self.arrive(owners, rows, create)

    @initialize(count=st.integers(0, 8))
    def first_rows_arrive(self, count: int) -> None:
        self.create_rows([self.subject.sample(k) for k in range(count)])

    @precondition(lambda self: len(self.table) < MANY_ROWS)
    @rule(count=st.integers(40, 80))
    def create_many_rows(self, count: int) -> None:
        self.create_rows([self.subject.sample(k) for k in range(count)])

    @precondition(lambda self: self.used())
    @rule(data=st.data())
    def destroy(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        self.leave([row])
        self.manager.destroy(row)

    @rule(data=st.data(), as_mask=st.booleans())
    def destroy_many(self, data: st.DataObject, as_mask: bool) -> None:
        rows, argument = self.chosen(data, as_mask)
        self.leave(rows)
        self.manager.destroy_many(argument)

    @precondition(lambda self: len(self.used()) > 10)
    @rule(data=st.data())
    def most_go(self, data: st.DataObject) -> None:
        remaining = data.draw(self.some(self.used()))
        rows = [row for row in self.used() if row not in remaining]
        self.leave(rows)
        self.manager.destroy_many(rows[::-1])

    @precondition(lambda self: self.used())
    @rule()
    def clear(self) -> None:
        capacity = self.manager.capacity
        self.leave(self.used())
        self.manager.clear()
        assert self.manager.capacity == capacity

    @precondition(lambda self: self.used() and self.subject.fields)
    @rule(data=st.data())
    def set_value(self, data: st.DataObject) -> None:
        row = data.draw(st.sampled_from(self.used()))
        field = data.draw(st.sampled_from(self.subject.fields))
        value = data.draw(field.values)
        getattr(self.manager, f"set_{field.name}")(row, value)
        self.at(row).values[field.name] = field.read(value)

    @precondition(lambda self: self.used() and self.subject.whole)
    @rule(data=st.data(), for_all=st.booleans())
    def assign_column(self, data: st.DataObject, for_all: bool) -> None:
        self.assign(self.manager.data, len(self.table), data, for_all)

    def assign(self, holder: Any, count: int, data: st.DataObject, for_all: bool) -> Field:
        """Write a column that holds the first rows; return which."""
        field = data.draw(st.sampled_from(self.subject.whole))
        value = data.draw(field.values)
        others = [field.sample(k) for k in range(1, count)]
        values = [value] * count if for_all else [value, *others]
        setattr(holder, field.name, value if for_all else values)
        for row in (row for row in self.used() if row < count):
            self.at(row).values[field.name] = field.read(values[row])
        return field

    @rule(make_copy=st.sampled_from([through_pickle, deepcopy, through_snapshot]))
    def copy(self, make_copy: Any) -> None:
        if make_copy is through_snapshot:
            make_copy = partial(make_copy, self.subject.world)
        self.manager = self.copied(make_copy)
        self.watch()

    @invariant()
    def proxies_follow_their_rows(self) -> None:
        rows = self.used()
        self.proxies.check(self.manager, [self.at(row).owner for row in rows[-2:]])
        assert [proxy.row for proxy in self.manager.rows()] == rows

    @invariant()
    def rows_agree(self) -> None:
        m, used = self.manager, self.used()
        assert len(m) == len(used)
        assert m.data.n == len(self.table)
        assert m.version == self.version
        assert m.capacity == m.data.allocated
        assert m.capacity >= len(self.table)
        assert m.capacity % 64 == 0
        assert list(m) == [record.owner for record in self.table if record]

    @invariant()
    def objects_go_with_their_rows(self) -> None:
        check_objects(self.manager.data)

    @invariant()
    def columns_agree(self) -> None:
        used = self.used()
        for field in self.subject.fields:
            column = self.subject.column(self.manager, field)
            assert len(column) == len(self.table)
            expected = [self.at(row).stored(field) for row in used]
            assert same([column[row] for row in used], expected), field.name

    @invariant()
    def cells_agree(self) -> None:
        m, used = self.manager, self.used()
        for row in {*used[:1], *used[-1:], *used[len(used) // 2 :][:1]}:
            record = self.at(row)
            assert self.subject.key(m, row) == record.owner
            assert same(m.row(row), self.subject.row(**record.values))
            assert same(self.subject.one_row(m, row), m.row(row))
