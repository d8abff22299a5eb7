"""Ways to break what `many` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "many",
        Mutant("a link is not set", r"^( +)(?:nexts|previous)\[.+\] = .+", r"\1pass"),
        Mutant("every row counts as the first", r"if nexts\[before\] == NIL:", "if True:"),
        Mutant("no row counts as the first", r"if nexts\[before\] == NIL:", "if False:"),
        Mutant(
            "the last row counts as before the first",
            r"NIL if data\._next_cells\[before\] == NIL else ",
            "",
        ),
        Mutant("new rows do not join the old", r"^( +)writes \+= joined\(.*\)", r"\1pass"),
        Mutant(
            "rows leave in the order of the list",
            r"np\.sort\(self\._rows_from\(first\)\)",
            "self._rows_from(first)",
        ),
        Mutant("the list is not told of a move", r"^( +)self\._relink_row\(.*\)", r"\1pass"),
        Mutant("the list is not told who goes", r"^( +)self\._unlink_row\(.*\)", r"\1pass"),
        Mutant("the lists are not told of moves", r"^( +)put\(plan\.writes\)", r"\1pass"),
        Mutant("owners do not know their new first rows", r"self\._enter_many\(plan.*", "pass"),
        Mutant("the last row that moved is not told", r"^( +)chains\.writes\.append.*", r"\1pass"),
        Mutant("the only row is not recognised", r"if before == row:", "if False:"),
    ),
)
