"""ids with lookup: direct: rows never move, so an id is the row and its generation."""

from ecsgen.columns import Column
from ecsgen.features._base import Feature, Mutant
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("id_generation", "u32", doc="The generation of each row.", by_row=False),)


FEATURE = Feature(
    name="direct_ids",
    applies=lambda c: c.ids and c.lookup == "direct",
    order=30,
    roles=("ids",),
    columns=_columns,
    mutants=(
        Mutant(
            "a row's generation stays",
            r"data\._id_generation_cells\[row\] \+= 1",
            "data._id_generation_cells[row] = 1",
        ),
        Mutant(
            "generations of many stay",
            r"data\._id_generation_column\[rows\] \+= 1",
            "data._id_generation_column[rows] = 1",
        ),
        Mutant(
            "holes are found",
            r"return Instance\(row\) if data\._entity_cells\[row\] else NIL",
            "return Instance(row)",
        ),
        Mutant(
            "holes among many are found",
            r"np\.where\(data\.present, np\.arange\(n\), NIL\)",
            "np.arange(n)",
        ),
        Mutant("a worn out row is used again", r"raise worn_out\(MANAGER, row\)", "pass"),
        Mutant("worn out rows are used again", r"first_worn_out\(MANAGER, .*\)$", "pass"),
        Mutant("saving loses generations", r'data\._peak = state\["peak"\]', "data._peak = 0"),
    ),
)
