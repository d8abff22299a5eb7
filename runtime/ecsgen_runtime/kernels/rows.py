"""What kernels keep beside the columns: views of them, until they move."""

from __future__ import annotations

from typing import Any

from ..columns.rows import Rows
from ..state import NO_SLOTS


class KernelRows(Rows):
    """Rows with the blocks that kernels and reductions work on."""

    __slots__ = NO_SLOTS
    _kernels: dict[str, Any]
    """The blocks of each."""

    def _forget_views(self) -> None:
        super()._forget_views()
        self._kernels = {}

    def _nbytes(self) -> int:
        held: int = sum(blocks.nbytes for blocks in self._kernels.values())
        return super()._nbytes() + held


class JoinedRows(Rows):
    """Rows with the blocks of the world's kernels that look at them."""

    __slots__ = NO_SLOTS
    _joined: dict[str, Any]
    """Of each, known to all whose columns it has."""

    def _start(self) -> None:
        super()._start()
        self._joined = {}

    def _forget_views(self) -> None:
        super()._forget_views()
        for blocks in self._joined.values():
            blocks.drop()
        self._joined = {}

    def _nbytes(self) -> int:
        held: int = sum(blocks.nbytes for blocks in self._joined.values())
        return super()._nbytes() + held
