"""owner: entity: every row belongs to an entity, which is alive or dead."""

from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Policy


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("entity", "u64", doc="The owner of each row."),)


POLICY = Policy(
    name="owned",
    role="owner",
    is_default=True,
    applies=lambda c: True,
    order=5,
    base="Owned",
    rows="OwnedRows",
    state=("_entities",),
    columns=_columns,
    raises=("StaleEntityError: the entity is dead.",),
)
