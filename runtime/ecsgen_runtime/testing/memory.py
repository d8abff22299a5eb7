"""Direct cases of memory: one buffer and its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import base

PAGE = 4096
LINE = 64


class Cases(base.Cases):
    """The layout that the schema asks for."""

    def check_buffer(self, m: Any) -> None:
        """Check that every column lies where it should, one behind the other."""
        data, capacity = m.data, m.capacity
        start = data.buffer.__array_interface__["data"][0]
        end = 0
        for expected, column in zip(self.subject.columns, m.LAYOUT, strict=True):
            view = getattr(data, expected.name, None)
            if view is not None and len(view):  # links have no view
                assert view.__array_interface__["data"][0] == start + end, expected.name
                assert view.flags.c_contiguous
            assert column.offset(capacity) == end
            end += expected.nbytes * capacity
        assert capacity % LINE == 0
        assert capacity == 0 or start % LINE == 0
        assert data.buffer.dtype == np.uint8
        assert data.buffer.shape == (-(-end // PAGE) * PAGE,)

    def test_layout_is_what_the_schema_says(self) -> None:
        columns = [
            (c.name, c.dtype, c.shape, c.nbytes, c.tags)
            for c in self.subject.manager.LAYOUT
        ]
        assert columns == [
            (c.name, np.dtype(c.dtype), c.shape, c.nbytes, c.tags)
            for c in self.subject.columns
        ]

    def test_columns_follow_each_other(self) -> None:
        source, m = self.new()
        assert m.capacity == m.data.allocated == self.subject.capacity
        self.check_buffer(m)
        self.add(source, m, 3)
        self.check_buffer(m)

    def test_columns_do_not_overlap(self) -> None:
        source, m = self.new()
        self.add(source, m, LINE)
        columns = [
            getattr(m.data, column.name)
            for column in self.subject.columns
            if hasattr(m.data, column.name)
        ]
        for k, column in enumerate(columns):
            assert not any(np.may_share_memory(column, other) for other in columns[:k])
            assert np.may_share_memory(column, m.data.buffer)

    def test_every_row_is_kept(self) -> None:
        source, m = self.new(2 * LINE + 1)
        rows = []
        for k in range(2 * LINE + 1):
            rows.append(self.add_one(source, m, **self.subject.sample(k)))
        self.check_values(m, rows, range(2 * LINE + 1))
        owners = [self.owner(m, row) for row in rows]
        assert [self.found(m, owner) for owner in owners] == rows
