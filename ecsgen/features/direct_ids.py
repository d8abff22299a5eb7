"""ids with lookup: direct: rows never move, so an id is the row and its generation."""

from ecsgen.columns import Column
from ecsgen.features._base import Feature
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("id_generation", "u32", doc="The generation of each row.", by_row=False),)


FEATURE = Feature(
    name="direct_ids",
    applies=lambda c: c.ids and c.lookup == "direct",
    order=30,
    roles=("ids",),
    columns=_columns,
)
