"""The number of rows that an entity can have."""

from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Loss, Methods, Policy

ONE = Policy(
    name="one",
    applies=lambda c: (c.owner, c.instances) == ("entity", "one") and c.lookup != "direct",
    order=20,
    manager_base="MappedOne",
    raises=("DuplicateInstanceError: the entity has an instance already.",),
    step_code={"admit_one": """
            if _found != NIL and data._entity_cells[_found] == entity:
                raise self._duplicate(entity)
        """},
)
"""instances: one: the map holds the entity's only row."""


_NEXT = "The entity's next row, or NIL."
_PREVIOUS = "The entity's previous row; the first row's is the last."


def _lists(component: Component) -> str:
    moves = ", src, dst" if component.partition == "active" else ""
    return f"lists = self._plan_chain_appends(entities, rows{moves})"


MANY = Policy(
    name="many",
    applies=lambda c: c.instances == "many",
    order=9,  # before the map, whose `remove` is for one instance
    manager_base="Many",
    rows_base="LinkedRows",
    columns=(
        Column("next", "u32", doc=_NEXT, holds_rows=True),
        Column("previous", "u32", doc=_PREVIOUS, holds_rows=True),
    ),
    note="the last of the entity's list",
    step_code={
        "append_one": "self._link_row(entity, row)",
        "plan_append": _lists,
        "append_many": "self._commit_chains(lists)",
        "unlink_one": "self._unlink_row(row)",
        "update_moved_one": "self._relink_row(src, dst)",
    },
    losses=(
        Loss(
            "instances",
            "E902",
            "entities may have several saved ones",
            lambda old, new: (old["instances"], new["instances"]) == ("many", "one"),
        ),
    ),
    methods=(
        Methods(
            "instances",
            lambda c: bool(c["instances"] == "many"),
            "first next previous instances count count_many",
        ),
    ),
)
"""instances: many: the rows of an entity form a list through next and previous columns."""

POLICIES = (ONE, MANY)
