"""create(…, parent=…) where rows belong to entities."""

from ecsgen.policies.policy import Policy

ONE_BELOW = """
if parent is not NIL:
    <below>
"""
MANY_BELOW = """
    if parents is not NIL:
        <created_below>
"""


POLICY = Policy(
    name="owned_children",
    applies=lambda c: bool(c.hierarchy) and c.owner == "entity",
    order=25,
    base="OwnedChildren",
    rows="OwnedFamilyRows",
    state=("_followed",),
    keyword="parent: Instance = NIL",
    keyword_many="parents: Instance | ArrayLike = NIL",
    raises=("StaleInstanceError: the parent is not in use.",),
    calls={
        "asked_one": ONE_BELOW,
        "asked_many": MANY_BELOW,
    },
)
