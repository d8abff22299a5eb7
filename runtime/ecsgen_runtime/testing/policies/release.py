"""Callbacks see the rows about to go, on every way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis.stateful import invariant, precondition, rule

from ...errors import StaleInstanceError, StructureLockedError
from ...handles import EntityArray
from .. import base, machine
from ..machine import through_pickle
from ..subject import same


class Rules(machine.Machine):
    """What goes is announced, with its values, before it goes."""

    def __init__(self) -> None:
        self.seen: list[list[tuple[int, int, str]]] = []
        self.expected: list[list[tuple[int, int, str]]] = []
        super().__init__()

    def watch(self) -> None:
        super().watch()
        self.manager.on_release(self.note)

    def note(self, rows: Any) -> None:
        """Note rows as they can be read when they are about to go."""
        m = self.manager
        self.seen.append(
            [(row, self.owner_of(row), repr(m.row(row))) for row in rows.tolist()]
        )

    def leaving(self, rows: list[int]) -> None:
        self.expected.append([self.announced(row) for row in rows])
        super().leaving(rows)

    def announced(self, row: int) -> tuple[int, int, str]:
        """Return a row of the model as it should be announced."""
        record = self.at(row)
        return row, record.owner, repr(self.subject.row(**record.values))

    @precondition(lambda self: self.used())
    @rule()
    def callbacks_fail(self) -> None:
        subscription = self.manager.on_release(fail)
        row = self.used()[0]
        with pytest.raises(ExceptionGroup) as caught:
            self.manager.destroy(row)
        assert {type(error) for error in caught.value.exceptions} == {ZeroDivisionError}
        del caught  # its traceback holds views of the buffer
        subscription.cancel()
        self.leave([row])

    @invariant()
    def announcements_agree(self) -> None:
        assert self.seen == self.expected
        self.seen.clear()
        self.expected.clear()


class Cases(base.Cases):
    """Every way out, failures, and what callbacks may do."""

    def watched(self, count: int) -> tuple[Any, Any, EntityArray, list[list[int]]]:
        """Return a manager with rows, and a list of what is released from now on."""
        source, m, owners = self.filled(count)
        seen: list[list[int]] = []
        m.on_release(
            lambda rows: seen.append([self.owner(m, row) for row in rows.tolist()])
        )
        return source, m, owners, seen

    def test_every_way_out(self) -> None:
        _, m, owners, seen = self.watched(6)
        every = owners.tolist()
        m.destroy(self.found(m, every[0]))
        m.destroy_many(sorted(self.found(m, owner) for owner in every[1:3]))
        m.clear()
        assert [sorted(gone) for gone in seen] == [every[:1], every[1:3], every[3:]]

    def test_nothing_goes_unannounced_or_twice(self) -> None:
        _, m, owners, seen = self.watched(4)
        m.reserve(64)
        m.shrink_to_fit()
        m.destroy_many([])
        assert seen == []
        m.clear()
        m.clear()
        assert [sorted(gone) for gone in seen] == [owners.tolist()]

    def test_rows_are_ascending_and_readable(self) -> None:
        _, m, _ = self.filled(5)
        seen = []
        m.on_release(
            lambda rows: seen.append((rows.tolist(), [m.row(row) for row in rows]))
        )
        m.destroy_many([3, 0, 4])
        values = [self.subject.read(self.subject.sample(k)) for k in (0, 3, 4)]
        assert same(seen, [([0, 3, 4], values)])

    def test_refused_calls_announce_nothing(self) -> None:
        _, m, _, seen = self.watched(3)
        for rows in ([0, 0], [0, 3]):
            with pytest.raises(StaleInstanceError):
                m.destroy_many(rows)
        with m.locked(), pytest.raises(StructureLockedError):
            m.clear()
        assert seen == []

    def test_the_manager_is_locked_meanwhile(self) -> None:
        source, m, _ = self.filled(3)
        refused: list[type[Exception]] = []

        def meddle(rows: Any) -> None:
            calls: tuple[Callable[[], object], ...] = (
                lambda: self.add_one(source, m),
                lambda: m.destroy(0),
                m.clear,
                lambda: m.reserve(1000),
            )
            for call in calls:
                with pytest.raises(StructureLockedError) as caught:
                    call()
                refused.append(caught.type)

        m.on_release(meddle)
        m.destroy(0)
        assert len(refused) == 4
        assert len(m) == 2
        m.clear()
        self.add_one(source, m)

    def test_failing_callbacks_lose_nothing(self) -> None:
        source, m, es = self.filled(3)
        seen: list[list[int]] = []
        m.on_release(fail)
        m.on_release(lambda rows: seen.append(rows.tolist()))
        m.on_release(fail)
        with pytest.raises(ExceptionGroup) as caught:
            m.destroy_many([0, 1])
        assert [type(error) for error in caught.value.exceptions] == [
            ZeroDivisionError
        ] * 2
        assert seen == [[0, 1]]
        assert list(m) == [es[2]]
        assert m.version == 2
        with pytest.raises(ExceptionGroup):
            m.clear()
        assert (len(m), m.version) == (0, 3)
        self.add_one(source, m)

    def test_callbacks_cancel_and_add_others(self) -> None:
        _, m = self.filled(3)[:2]
        order: list[str] = []

        def change(rows: Any) -> None:
            second.cancel()
            m.on_release(lambda rows: order.append("third"))

        first = m.on_release(change)
        second = m.on_release(lambda rows: order.append("second"))
        m.destroy(0)
        assert order == []
        first.cancel()
        m.clear()
        assert order == ["third"]

    def test_callbacks_run_in_order_until_cancelled(self) -> None:
        _, m, _ = self.filled(3)
        order: list[str] = []
        first = m.on_release(lambda rows: order.append("first"))
        m.on_release(lambda rows: order.append("second"))
        m.destroy(0)
        first.cancel()
        first.cancel()
        m.clear()
        assert order == ["first", "second", "second"]

    def test_callbacks_are_not_saved(self) -> None:
        source, m, _, seen = self.watched(2)
        _, other = through_pickle((source, m))
        other.clear()
        assert seen == []
        assert len(m) == 2

    def test_what_callbacks_are_shown_is_a_copy(self) -> None:
        _, m, es = self.filled(6)

        def meddle(rows: Any) -> None:
            with pytest.raises(ValueError, match="read-only"):
                rows[:] = 5
            rows.flags.writeable = True
            rows[:] = 5

        m.on_release(meddle)
        m.destroy_many([0, 2])
        assert sorted(m) == sorted(es[[1, 3, 4, 5]].tolist())


def fail(argument: object) -> None:
    """Fail as a callback."""
    raise ZeroDivisionError
