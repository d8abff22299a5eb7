"""Growth of buffers."""

from collections.abc import Iterable
from typing import Any

from ecsgen.model.columns import round_to_cache_lines
from ecsgen.policies.policy import Policy


def _conflicts(spec: Any) -> Iterable[tuple[str, str]]:
    if spec.reserve and spec.capacity > round_to_cache_lines(spec.reserve):
        yield "capacity", "growth"


DOUBLING = Policy(name="doubling", applies=lambda c: not c.reserve)
"""growth: double: a full buffer is replaced by one of at least twice the size."""


RESERVED = Policy(
    name="reserved",
    find_conflicts=_conflicts,
    applies=lambda c: bool(c.reserve),
    order=60,
    rows_base="ReservedRows",
    raises=("CapacityError: all rows that are reserved are in use.",),
)
"""growth: {reserve: N}: address space for N rows is taken once; the system commits it page by page.

Growing never moves a row, so views stay good; more than N rows are a CapacityError.
"""

POLICIES = (DOUBLING, RESERVED)
