"""From how many rows on something is done in another way, and how many are done at once.

Processors decide what is best. Results are the same whatever the sizes are, and tests have small
ones for a while: so a few rows go all ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class Sizes:
    """What is read each time that something is done for many rows."""

    block_rows: ClassVar[tuple[int, int]] = (1024, 65536)
    """The least and the most rows of a block that kernels go over; powers of two."""
    joined: ClassVar[int] = 65_536
    """Candidates per step of a join: numpy's calls take no time, and the step fits a cache."""
    scattered: ClassVar[int] = 16_384
    """Rows in any order that a cache holds."""
    near: ClassVar[int] = 1 << 20
    """Bytes that a processor reads in any order without waiting long."""
    plain: ClassVar[tuple[int, ...]] = (1, 2, 4, 8, 16, 32)
    """Sizes of cells that numpy copies without a call: many of them are on their way at once."""
    ordered: ClassVar[int] = 16_384
    """Cells that are on their way from order to order: a core's own cache holds them."""
    samples: ClassVar[int] = 16
    sample: ClassVar[int] = 256
    """Rows that follow each other in each sample of many."""
    kept: ClassVar[int] = 16_384
    """So many entities' rows are kept as tuples: making one takes longer than a loop's step."""
    tuples: ClassVar[int] = 1024
    """Rows that a loop over a query makes ahead."""

    @classmethod
    @contextmanager
    def of(cls, **others: Any) -> Iterator[None]:
        """Let others be in force inside of the `with` block: `Sizes.of(kept=2)`; for tests.

        AttributeError for what is none.
        """
        before = {name: getattr(cls, name) for name in others}
        try:
            for name, size in others.items():
                setattr(cls, name, size)
            yield
        finally:
            for name, size in before.items():
                setattr(cls, name, size)
