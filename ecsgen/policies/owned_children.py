"""create(…, parent=…) where rows belong to entities."""

from collections.abc import Callable

from ecsgen.model import Component
from ecsgen.policies.policy import Policy, runs_callbacks

_ONE_BELOW = """
if parent is not NIL:
    _below = self._below({whom})
    try:
        <made>
        return self._attached(_made)
    finally:
        _below.rows = None
"""
_ONE_BELOW_BEFORE_CALLBACKS = """
if parent is not NIL:
    _below = self._below({whom})
    try:
        with self._dispatch:  # who dies of it waits until the row is attached
            <made>
            return self._attached(_made)
    finally:
        _below.rows = None
"""
MANY_BELOW = """
    if parents is not NIL:
        <created_below>
"""


def creation_below(whom: str) -> Callable[[Component], str]:
    """Return statements that create an instance without a parent, and attach it."""

    def text(component: Component) -> str:
        waits = runs_callbacks(component)
        statements = _ONE_BELOW_BEFORE_CALLBACKS if waits else _ONE_BELOW
        return statements.replace("{whom}", whom)

    return text


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
        "asked_one": creation_below("parent, entity"),
        "asked_many": MANY_BELOW,
    },
)
