"""Ways to break what `indirect` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "indirect",
        Mutant(
            "a moved row's cold row belongs to the old one",
            r"follow\(data\._cold_row_column\[dst\], (.*), dst\)",
            r"follow(data._cold_row_column[dst], \1, src)",
        ),
        Mutant(
            "a row moved alone is not known to its cold row",
            r"(_row_cells\[data\._cold_row_cells\[dst\]\] = )dst",
            r"\1src",
        ),
        Mutant(
            "the owner of a moved cold row looks at its old place",
            r"(_cold_row_cells\[cold\._row_cells\[place\]\] = )place",
            r"\1last",
        ),
        Mutant(
            "the owners of moved cold rows look at their old places",
            r"(_cold_row_column\[removal\.owners\] = )removal\.dst",
            r"\1src",
        ),
        Mutant("cold rows never come back", r"cold\._n = last", "cold._n = last + 1"),
        Mutant("a new row has its predecessor's cold row", r"\[row\] = NIL", "[row] &= NIL"),
        Mutant(
            "new rows have their predecessors' cold rows",
            r"_cold_row_column\[rows\] = NIL",
            "_cold_row_column[rows] &= NIL",
        ),
    ),
)
