"""What the world's kernels run on whose rows take turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from numpy.typing import NDArray

from ..kernels.blocks import Cells, working_memory
from .joined import JoinedBlocks, JoinedColumn


class JoinedTurns(JoinedBlocks):
    """Views of one entity's cells in several managers' columns, entity after entity; kept."""

    __slots__ = ("_columns", "_count", "_memory")

    def __init__(
        self,
        stamp: object,
        n: int,
        columns: Sequence[JoinedColumn],
        working: Sequence[Cells],
    ) -> None:
        super().__init__(stamp, 0, (), ())
        self._count = n
        self._columns = list(columns)
        self._memory = [working_memory(cells, 1) for cells in working]
        self.nbytes = sum(array.nbytes for array in self._memory)

    def drop(self) -> None:
        """Let go of all views: a buffer is about to go."""
        super().drop()
        self._columns = []

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """Iterate over the entities in their order."""
        return self.in_order(range(self._count))

    def in_order(self, entities: Iterable[int]) -> Iterator[tuple[NDArray[Any], ...]]:
        """Iterate over the entities, of which these are the numbers, in another order."""
        cells = [column.cells for column in self._columns]
        rows = [column.numbers for column in self._columns]
        memory = self._memory
        for entity in entities:
            places = [
                each.start + entity if isinstance(each, slice) else int(each[entity])
                for each in rows
            ]
            views = [
                one[..., row : row + 1] for one, row in zip(cells, places, strict=True)
            ]
            yield (*views, *memory)
