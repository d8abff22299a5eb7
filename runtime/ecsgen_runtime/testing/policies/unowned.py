"""Rows belong to nobody: they are made in return for an id, which is the way back to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from ...errors import CapacityError, StructureLockedError
from ...handles import NIL
from .. import base, machine
from ..machine import Record
from ..subject import need


class Rules(machine.Machine):
    """Instances come and are known by their id."""

    def made(self) -> Any:
        return self.subject.manager()

    def owner_of(self, row: int) -> int:
        id: int = self.manager.id_of(row)
        return id

    def structural_calls(self) -> list[Callable[[], object]]:
        m = self.manager
        return [*super().structural_calls(), m.create, lambda: m.create_many(2)]

    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        values = data.draw(self.subject.some_values)
        create = self.manager.create
        self.arrive([values], lambda: [create(**values)])

    @rule(
        data=st.data(),
        count=st.integers(0, 8),
        form=st.sampled_from(machine.FORMS),
    )
    def create_many(self, data: st.DataObject, count: int, form: str) -> None:
        values = data.draw(self.subject.some_values)
        if form == "one for all":
            rows, columns = [values] * count, values
        else:
            rows = [self.shifted(values, k) for k in range(count)]
            columns = self.columns(rows, form == "array")
        table = columns if form == "table" else None
        named = columns if table is None else {}
        create = self.manager.create_many
        self.arrive(rows, lambda: create(count, table, **named).tolist())

    def born(self, rows: list[dict[str, Any]]) -> None:
        columns = self.columns(rows, as_array=False)
        create = self.manager.create_many
        self.arrive(rows, lambda: create(len(rows), **columns).tolist())

    def arrive(
        self, rows: list[dict[str, Any]], create: Callable[[], list[int]]
    ) -> None:
        """Create rows and add them to the model, or see that there is no room."""
        if not self.has_room([0] * len(rows)):
            with pytest.raises(CapacityError):
                create()
            return
        ids = create()
        read = [self.subject.read(values)._asdict() for values in rows]
        records = [Record(*pair) for pair in zip(ids, read, strict=True)]
        assert self.manager.resolve_many(ids).tolist() == self.join(records)

    @rule()
    def bad_values_are_refused(self) -> None:
        m = self.manager
        for field in self.subject.fields:
            for value, error in field.wrong():
                with pytest.raises(error):
                    m.create(**{field.name: value})
                with pytest.raises(error):
                    m.create_many(2, **{field.name: [field.sample(0), value]})

    @rule(copied=st.sampled_from([-1, 2**63, 1.0, None]))
    def bad_counts_are_refused(self, copied: Any) -> None:
        with pytest.raises((ValueError, TypeError, OverflowError, MemoryError)):
            self.manager.create_many(copied)

    @invariant()
    def ids_are_the_way_back(self) -> None:
        ids = list(self.manager)
        assert self.manager.resolve_many(ids).tolist() == list(range(len(self.table)))
        assert all(id in self.manager for id in ids)


class Cases(base.Cases):
    """Creation in return for ids."""

    def new(self, room: int = 0) -> tuple[None, Any]:
        need(self.subject, room)
        return None, self.subject.manager()

    def add_one(self, source: None, m: Any, /, **values: Any) -> int:
        row: int = m.resolve(m.create(**values))
        return row

    def add(self, source: None, m: Any, count: int, /, **columns: Any) -> list[int]:
        rows: list[int] = m.resolve_many(m.create_many(count, **columns)).tolist()
        return rows

    def owner(self, m: Any, row: int) -> int:
        id: int = m.id_of(row)
        return id

    def found(self, m: Any, owner: int) -> int:
        row: int = m.resolve(owner)
        return row

    def test_creation_returns_ids(self) -> None:
        _, m = self.new()
        one = m.create()
        assert type(one) is int
        many = m.create_many(3, **self.subject.samples(3))
        assert (many.dtype, many.shape) == (np.uint64, (3,))
        assert len({one, *many.tolist()}) == 4
        assert list(m) == [one, *many.tolist()]
        self.check_values(m, [1, 2, 3], range(3))

    def test_none_of_many(self) -> None:
        _, m = self.new()
        nothing = m.create_many(0)
        assert (nothing.dtype, nothing.shape, m.version) == (np.uint64, (0,), 0)

    def test_counts_are_whole_numbers(self) -> None:
        _, m = self.new()
        with pytest.raises(ValueError, match="can't create -1 instances"):
            m.create_many(-1)
        for count in (1.0, "1"):
            with pytest.raises(TypeError):
                m.create_many(count)
        assert len(m.create_many(np.int8(2))) == 2

    def test_ids_are_contained(self) -> None:
        _, m, ids = self.filled(2)
        assert int(ids[0]) in m
        assert ids[1] in m
        m.destroy(0)
        for absent in (int(ids[0]), 0, NIL, -1, 2**70, "text", 1.5, None):
            assert absent not in m

    def test_there_are_no_owners(self) -> None:
        _, m, _ = self.filled(1)
        for name in ("entity", "lookup", "remove", "ensure", "collect"):
            assert not hasattr(m, name)
        assert not hasattr(m.data, "entity")

    def test_locked_managers_create_nothing(self) -> None:
        _, m, _ = self.filled(1)
        with m.locked():
            for call in (m.create, lambda: m.create_many(1), lambda: m.create_many(0)):
                with pytest.raises(StructureLockedError):
                    call()
        assert len(m) == 1
