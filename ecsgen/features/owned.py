"""owner: entity: every row belongs to an entity, which is alive or dead."""

from ecsgen.columns import Column
from ecsgen.features._base import Feature, Mutant
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("entity", "u64", doc="The owner of each row."),)


FEATURE = Feature(
    name="owned",
    applies=lambda c: c.owner == "entity",
    order=5,
    roles=("owner",),
    columns=_columns,
    mutants=(
        Mutant("the dead get an instance", r"if not _is_alive:", "if False:"),
        Mutant(
            "bad values count for more than death",
            r"self\._entities\.require(_many)?\(\w+\)  # death.*",
            "pass",
        ),
    ),
)
