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
