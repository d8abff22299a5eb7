"""owner: none: a packed array on its own; its rows are reached by id (Molecule's packed array)."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="unowned",
    role="owner",
    applies=lambda c: c.owner == "none",
    order=5,
    base="Unowned",
    state=("_failures",),
)
