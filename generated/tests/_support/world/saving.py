"""Worlds saved and loaded."""

from __future__ import annotations

from . import base


class Cases(base.Cases):
    """A world goes into bytes, and comes back as it was."""

    def test_an_empty_world(self) -> None:
        w = self.world()
        data = w.to_bytes(codecs={"*": None})
        again = type(w).load(data, codecs={"*": None})
        assert again.to_bytes(codecs={"*": None}) == data
