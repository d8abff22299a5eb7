"""space: places of rows, around which others are found."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="spaced",
    applies=lambda c: c.space is not None,
    order=82,
    base="Spaced",
    state=("_wrap",),
    template=True,
)
