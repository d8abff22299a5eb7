"""Ways to break what `direct_ids` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "direct_ids",
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
