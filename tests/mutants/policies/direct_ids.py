"""Ways to break what `direct_ids` does."""

from tests.mutants._base import Mutant, managers, module

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
        Mutant("a worn out row is used again", r"raise worn_out\(data\.MANAGER, row\)", "pass"),
        Mutant("the highest row ever used is forgotten", r"data\._peak = .*", "pass"),
    ),
    module(
        "_runtime/policies/direct.py",
        ("test_tile.py", "test_mooring.py"),
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
        Mutant(
            "other generations are found", r" and data\._id_generation_cells\[row\] == id.*:", ":"
        ),
        Mutant(
            "worn out rows are used again", r"first_worn_out\([\s\S]*?\)\n(?= +super)", "pass\n"
        ),
        Mutant("saving loses the highest row", r'= \("_peak",\)', "= ()"),
        Mutant("generations of holes are lost", r"return self\._peak", "return self._n"),
    ),
)
