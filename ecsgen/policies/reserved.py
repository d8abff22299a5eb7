"""growth: {reserve: N}: address space for N rows is taken once; the system commits it page by page.

Growing never moves a row, so views stay good; more than N rows are a CapacityError.
"""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="reserved",
    role="growth",
    applies=lambda c: bool(c.reserve),
    order=60,
    rows="ReservedRows",
    raises=("CapacityError: all rows that are reserved are in use.",),
)
