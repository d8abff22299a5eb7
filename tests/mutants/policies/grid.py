"""Ways to break cells, and rows that stand on them."""

from tests.mutants._base import Mutant, module

CELLS = ("test_patch.py", "test_line.py", "test_room.py")
STANDING = ("test_sheep.py", "test_tree.py", "test_pig.py", "test_imp.py", "test_hob.py")

GROUPS = (
    module(
        "_runtime/kernels/grids/occupants.py",
        STANDING,
        Mutant("who goes stays counted", r"occupants\.counts\[cell\] -= 1"),
        Mutant("who comes is not counted", r"occupants\.counts\[cell\] \+= 1"),
        Mutant(
            "one more may stand there", r"not self\.cell_has_capacity\(cell_number\)", "not True"
        ),
        Mutant("any number goes there at once", r"counts\[cells\] > most", "counts[cells] < 0"),
        Mutant(
            "moves of all are not noticed",
            r"(?<= = ids\n)( +)self\._cell_occupants\.forget\(\)",
            r"\1pass",
        ),
        Mutant("a move is not noticed", r"data\._cell_occupants\.moves \+= 1"),
        Mutant("anything is a cell", r"if not 0 <= cell < len\(self\._grid\):", "if False:"),
        Mutant("any of many is a cell", r"if strange\.any\(\):(?=\n +first)", "if False:"),
        Mutant("the dead stand there", r"cells\[dead\] = NO_CELL"),
        Mutant(
            "the dead count for those who come",
            r"self\.cells_now\(ids\)",
            "cells_of_ids(ids, len(self._grid))",
        ),
        Mutant(
            "the dead keep their cell full", r"occupants\.despawns != self\._despawn_count", "False"
        ),
    ),
    module(
        "_runtime/kernels/grids/grid_layout.py",
        CELLS,
        Mutant("cells begin with 0", r"^(FIRST_CELL: Final = )1 << 32", r"\g<1>1 << 31"),
    ),
    *(
        module(
            f"{name}.py",
            (f"test_{name}.py",),
            Mutant(
                f"{name}: new rows are not counted",
                r"^( +)self\._count_entr(?:y|ies)\(.*\)",
                r"\1pass",
            ),
            Mutant(f"{name}: who goes is counted", r"^( +)self\._count_exit\(.*\)", r"\1pass"),
        )
        for name in ("sheep", "tree", "hob")
    ),
)
