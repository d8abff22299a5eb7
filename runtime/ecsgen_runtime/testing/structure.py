"""Direct cases of what every manager does with rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from copy import copy, deepcopy
from typing import Any

import numpy as np
import pytest

from ..errors import BrokenManagerError, StaleInstanceError, StructureLockedError
from ..handles import NIL
from . import base
from .base import INTERRUPTED, State
from .subject import same


class Cases(base.Cases):
    """Creation, removal, locks and copies."""

    def test_nothing_yet(self) -> None:
        source, m = self.new()
        assert (len(m), m.data.n, m.version, list(m)) == (0, 0, 0, [])
        m.clear()
        m.destroy_many([])
        m.destroy_many(np.zeros(0, np.bool_))
        assert len(self.add(source, m, 0)) == 0
        assert m.version == 0
        assert "text" not in m
        self.check_unused(m, 0)

    def test_whatever_has_an_index_is_a_number(self) -> None:
        _, m, es = self.filled(3)
        assert same(m.row(np.int8(1)), m.row(1))
        assert m.row(np.uint64(1)) is not None
        for wrong in (1.0, "1", None):
            with pytest.raises(TypeError):
                m.row(wrong)
            with pytest.raises(TypeError):
                m.destroy_many([wrong])
        m.destroy(np.uint16(1))
        assert self.found(m, es[1]) == NIL

    def test_rows_not_in_use(self) -> None:
        _, m, es = self.filled(3)
        for row in (3, 63, 64, -1, -3, NIL, 2**31, 2**63, 2**64, -(2**70)):
            self.check_unused(m, row)
        self.check_rows(m, es, [0, 1, 2])

    def test_rows_given_twice(self) -> None:
        _, m, _ = self.filled(40)
        before = State(self.subject, m)
        for rows in (
            [1, 1],
            [5, 1, 2, 5],
            [*range(40), 39],
            np.array([7, 7], np.uint8),
        ):
            with pytest.raises(StaleInstanceError, match="twice"):
                m.destroy_many(rows)
        assert State(self.subject, m) == before

    def test_masks_have_one_value_per_row(self) -> None:
        _, m, _ = self.filled(3)
        before = State(self.subject, m)
        for length in (0, 2, 4, 64):
            with pytest.raises(ValueError, match="mask"):
                m.destroy_many(np.ones(length, np.bool_))
        assert State(self.subject, m) == before
        m.destroy_many([False, True, False])
        assert len(m) == 2

    def test_rows_are_whole_numbers(self) -> None:
        _, m, _ = self.filled(3)
        for rows in ([1.0], np.array([0.5, 1.5]), ["1"]):
            with pytest.raises(TypeError):
                m.destroy_many(rows)
        with pytest.raises(ValueError, match="dimension"):
            m.destroy_many([[0, 1]])
        assert len(m) == 3

    def test_nothing_reserves_less_than_nothing(self) -> None:
        _, m, _ = self.filled(3)
        with pytest.raises(ValueError, match="reserve"):
            m.reserve(-1)
        with pytest.raises(TypeError):
            m.reserve(1.0)

    def test_clear_keeps_the_memory(self) -> None:
        _, m, es = self.filled(70)
        buffer = m.data.buffer
        m.clear()
        assert len(m) == m.data.n == 0
        assert m.data.buffer is buffer
        assert [self.found(m, owner) for owner in es] == [NIL] * 70
        assert m.version == 2

    def test_version_counts_each_change_once(self) -> None:
        source, m = self.new()
        changes = [
            lambda: self.add_one(source, m),
            lambda: self.add(source, m, 5),
            lambda: m.destroy(next(self.rows(m))),
            lambda: m.destroy_many(list(self.rows(m))[1:3]),
            m.clear,
        ]
        for count, change in enumerate(changes, 1):
            change()
            assert m.version == count

    def rows(self, m: Any) -> Iterator[int]:
        """Return the rows in use."""
        return (self.found(m, owner) for owner in m)

    def test_one_row_methods_have_code_of_their_own(self) -> None:
        kinds = list(self.subject.manager.__mro__)
        while "LAYOUT" not in vars(kinds[0]):
            del kinds[0]
        own, *bases = map(vars, kinds)
        names = [name for name in own if hasattr(own[name], "_is_per_class")]
        assert "destroy" in names
        for name in names:
            inherited = next(base[name] for base in bases if name in base)
            assert own[name].__code__ is not inherited.__code__
            for detail in ("__doc__", "__annotations__", "__module__", "__qualname__"):
                assert getattr(own[name], detail) == getattr(inherited, detail)

    def test_locked(self) -> None:
        source, m, _ = self.filled(3)
        before = State(self.subject, m)
        with m.locked():
            for call in (
                lambda: self.add_one(source, m),
                lambda: self.add(source, m, 2),
                lambda: m.destroy(0),
                lambda: m.destroy_many([0, 1]),
                m.clear,
                lambda: m.reserve(1000),
                m.shrink_to_fit,
            ):
                with pytest.raises(
                    StructureLockedError, match=f"{self.subject.label}Manager"
                ):
                    call()
        assert State(self.subject, m) == before
        m.destroy(0)

    def test_locks_nest_and_end(self) -> None:
        source, m = self.new()
        with m.locked():
            with m.locked():
                pass
            with pytest.raises(StructureLockedError):
                self.add_one(source, m)
        with pytest.raises(ZeroDivisionError), m.locked():
            raise ZeroDivisionError
        self.add_one(source, m)

    def test_values_can_change_while_locked(self) -> None:
        _, m, _ = self.filled(2)
        with m.locked():
            for field in self.subject.fields:
                getattr(m, f"set_{field.name}")(0, field.sample(1))
        self.check_values(m, range(2), [1, 1])

    def test_what_fails_halfway_breaks_the_manager(self) -> None:
        for change in self.changes():
            source, m, es = self.filled(3)
            data = m.data
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(type(m.data), "_version", INTERRUPTED, raising=False)
                with pytest.raises(ZeroDivisionError):
                    change(source, m)
            self.check_broken(m, es[0])
            with pytest.raises(BrokenManagerError):
                _ = data.n
            with pytest.raises(BrokenManagerError):
                data.n = 0

    def check_broken(self, m: Any, owner: int) -> None:
        """Check that each call says that the manager is broken."""
        assert repr(m) == f"<broken {self.subject.label}Manager>"
        assert isinstance(m, self.subject.manager)
        for call in (
            lambda: len(m),
            lambda: owner in m,
            lambda: iter(m),
            lambda: m.data,
            lambda: m.row(1),
            lambda: setattr(m, "data", None),
            lambda: m.clear(),
        ):
            with pytest.raises(BrokenManagerError, match=self.subject.label):
                call()

    @pytest.mark.parametrize(
        "copied",
        [
            deepcopy,
            lambda value: pickle.loads(pickle.dumps(value)),
            lambda value: (value[0], copy(value[1])),
        ],
    )
    def test_copies_go_their_own_way(self, copied: Any) -> None:
        source, m, es = self.filled(5)
        m.destroy(1)
        before = State(self.subject, m)
        other_source, other = copied((source, m))
        assert State(self.subject, other) == before
        self.add_one(other_source, other, **self.subject.sample(9))
        other.destroy(self.found(other, es[0]))
        assert State(self.subject, m) == before
        m.clear()
        assert len(other) == 4
