"""Fields of type object: what leaves is let go of."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from .. import base, machine
from ..fields import Object


class Rules(machine.Machine):
    """Nothing more than values."""


class Thing:
    """Something that can be watched."""


class Cases(base.Cases):
    """Objects are kept as they are, and no longer than their row."""

    @property
    def names(self) -> list[str]:
        """The fields that hold objects."""
        return [
            field.name for field in self.subject.fields if isinstance(field, Object)
        ]

    def held(self, count: int) -> tuple[Any, list[int], list[list[weakref.ref[Thing]]]]:
        """Return a manager whose rows alone hold objects, and references by field and row."""
        source, m = self.new()
        things = {name: [Thing() for _ in range(count)] for name in self.names}
        rows = self.add(source, m, count, **things)
        return (
            m,
            rows,
            [[weakref.ref(thing) for thing in row] for row in things.values()],
        )

    @pytest.mark.parametrize(
        ("leave", "gone"),
        [
            (lambda m: m.destroy(0), [0]),
            (lambda m: m.destroy(3), [3]),
            (lambda m: m.destroy_many([0, 3]), [0, 3]),
            (lambda m: m.destroy_many([1, 0]), [0, 1]),
            (lambda m: m.destroy_many([3, 1, 2]), [1, 2, 3]),
            (lambda m: m.clear(), [0, 1, 2, 3]),
        ],
    )
    def test_objects_go_with_their_row(
        self, leave: Callable[[Any], object], gone: list[int]
    ) -> None:
        m, _, references = self.held(4)
        leave(m)
        gc.collect(1)  # what is new: all of it would take a second where much is loaded
        for column in references:
            assert [
                k for k, reference in enumerate(column) if reference() is None
            ] == gone

    def test_growing_and_shrinking_keep_objects(self) -> None:
        m, _, references = self.held(3)
        m.reserve(self.subject.reserve or 1000)
        m.shrink_to_fit()
        gc.collect(1)  # what is new: all of it would take a second where much is loaded
        assert all(
            reference() is not None for column in references for reference in column
        )
        for name, column in zip(self.names, references, strict=True):
            assert [getattr(m, name)(row) for row in range(3)] == [
                thing() for thing in column
            ]

    def test_objects_are_themselves(self) -> None:
        source, m = self.new()
        one, two = [1, 2, 3], {"key": np.zeros(2)}
        for name in self.names:
            row = self.add_one(source, m, **{name: one})
            assert getattr(m, name)(row) is one
            getattr(m, f"set_{name}")(row, two)
            assert getattr(m, name)(row) is two
            rows = self.add(source, m, 2, **{name: [one, two]})
            assert [getattr(m, name)(row) for row in rows] == [one, two]

    def test_a_list_of_another_length_is_refused(self) -> None:
        source, m = self.new()
        whole = ["a", "list"]
        for name in self.names:
            for wrong in (whole, np.array(whole, object), []):
                with pytest.raises(ValueError, match=r"write \[x\] \* 3"):
                    self.add(source, m, 3, **{name: wrong})
            assert m.data.n == 0
            rows = self.add(source, m, 3, **{name: [whole] * 3})
            assert all(getattr(m, name)(row) is whole for row in rows)
            m.destroy_many(rows)

    def test_anything_else_is_one_object_for_all(self) -> None:
        source, m = self.new()
        for name in self.names:
            for one in (("a", "b", "c"), {"a": 1}, "abc", Thing()):
                rows = self.add(source, m, 3, **{name: one})
                assert all(getattr(m, name)(row) is one for row in rows)
                m.destroy_many(rows)

    def test_objects_count_as_memory(self) -> None:
        source, m = self.new(10_000)
        objects = {name: list(range(10_000)) for name in self.names}
        self.add(source, m, 10_000, **objects)
        assert m.nbytes >= 10_000 * (
            sum(c.nbytes for c in self.subject.columns) + 8 * len(self.names)
        )
