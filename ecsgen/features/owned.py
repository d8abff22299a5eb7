"""owner: entity: every row belongs to an entity, which is alive or dead."""

from ecsgen.columns import Column
from ecsgen.features._base import Feature
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("entity", "u64", doc="The owner of each row."),)


FEATURE = Feature(
    name="owned",
    applies=lambda c: c.owner == "entity",
    order=5,
    roles=("owner",),
    columns=_columns,
)
