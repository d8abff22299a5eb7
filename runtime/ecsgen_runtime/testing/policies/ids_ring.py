"""Rings whose instances have ids: slots that are worn out make no room."""

from __future__ import annotations

import pytest

from . import ids, ring


class Rules(ids.Rules, ring.Rules):
    """Nothing more than both."""


class Cases(ids.Cases, ring.Cases):
    """The ids of the oldest ones."""

    @pytest.mark.parametrize("count", [1, 3])
    def test_ids_of_the_oldest_wear_out(self, count: int) -> None:
        if self.subject.reserve == ring.SIZE:
            pytest.skip("there is no room for other slots")
        source, m, owners = self.full()
        m.shrink_to_fit()
        self.wear_out(m, m.by_age()[:count].tolist())
        worn = m.id_of_many(m.by_age()[:count]).tolist()
        if count == 1:
            owners.append(self.push_one(source, m))
        else:
            owners += self.push(source, m, count)
        self.check_ages(m, owners[count:])
        assert not {id & 0xFFFF_FFFF for id in worn} & set(self.slots(m))
