"""create(…, parent=…) where rows belong to nobody."""

from ecsgen.policies.owned_children import MANY_BELOW, ONE_BELOW
from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="unowned_children",
    applies=lambda c: bool(c.hierarchy) and c.owner == "none",
    order=25,
    base="UnownedChildren",
    state=("_followed",),
    keyword="parent: Instance = NIL",
    keyword_many="parents: Instance | ArrayLike = NIL",
    raises=("StaleInstanceError: the parent is not in use.",),
    calls={
        "asked_one": ONE_BELOW,
        "asked_many": MANY_BELOW,
    },
)
