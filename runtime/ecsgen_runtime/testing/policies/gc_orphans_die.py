"""Where the dead are found lazily, so are those who die of it."""

from __future__ import annotations

from typing import Any

import pytest

from ...errors import StructureLockedError
from ...handles import NIL
from . import orphans_die


class Rules(orphans_die.Rules):
    """Nothing more than both."""


class Cases(orphans_die.Cases):
    """A collection makes orphans."""

    def pick(self, m: Any) -> None:
        """Pick rows until one of somebody dead was among them."""
        while not m.gc():
            pass

    def test_orphans_live_until_the_collection(self) -> None:
        entities, m, owners = self.family([NIL, 0, 1, NIL])
        entities.destroy(owners[0])
        self.check_alive(entities, owners, [1, 2, 3])
        assert len(m) == 4
        assert m.collect() == 3
        self.check_alive(entities, owners, [3])

    def test_random_picks_make_orphans(self) -> None:
        entities, m, owners = self.family([NIL, *[0] * 3])
        entities.destroy(owners[0])
        self.pick(m)
        assert len(m) == 0
        self.check_alive(entities, owners, [])

    def test_nothing_is_collected_of_which_nobody_may_die(self) -> None:
        entities, m, owners = self.family([NIL, 0, NIL])
        entities.destroy(owners[0])
        refuser = orphans_die.Refuser()
        entities._attach(refuser, orphans_die.Refuser.remove)
        with pytest.raises(StructureLockedError, match="not now"):
            m.collect()
        with pytest.raises(StructureLockedError, match="not now"):
            self.pick(m)
        assert len(m) == 3
        refuser._locks = 0
        assert m.collect() == 2
