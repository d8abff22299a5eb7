"""Ways to break what `many` does."""

from tests.mutants._base import Mutant, managers, module

LISTS = ("test_sound_source.py", "test_status_effect.py")

GROUPS = (
    managers(
        "many",
        Mutant("the list is not told of moves", r"^( +)self\._relink_rows?\(.*\)", r"\1pass"),
        Mutant("the list is not told who goes", r"^( +)self\._unlink_rows?\(.*\)", r"\1pass"),
        Mutant("the list is not told who comes", r"^( +)self\._link_rows?\(.*\)", r"\1pass"),
    ),
    module(
        "_runtime/instances/many.py",
        LISTS,
        Mutant("a link is not set", r"^( +)(?:nexts|previous)\[.+\] = .+", r"\1pass"),
        Mutant("every row counts as the first", r"if nexts\[before\] == NIL:", "if True:"),
        Mutant("no row counts as the first", r"if nexts\[before\] == NIL:", "if False:"),
        Mutant(
            "the last row counts as before the first",
            r"NIL if data\._next_cells\[before\] == NIL else ",
            "",
        ),
        Mutant(
            "rows leave in the order of the list",
            r"np\.sort\(self\._rows_from\(row\)\)",
            "self._rows_from(row)",
        ),
        Mutant("the only row is not recognised", r"if before == row:", "if False:"),
        Mutant("the map is not told of first rows", r"^( +)self\._enter(_many)?\(.*\)", r"\1pass"),
        Mutant("the map keeps empty lists", r"^( +)self\._forget(_many)?\(.*\)", r"\1pass"),
    ),
    module(
        "_runtime/instances/chains.py",
        LISTS,
        Mutant("runs of neighbours are bridged by one", r"while len\(active\):", "if len(active):"),
        Mutant("lists end after some rounds", r"found\.append\(np\.flatnonzero\(.*\)\)", "pass"),
        Mutant(
            "equal owners come in any order",
            r"np\.argsort\(owners, kind=\"stable\"\)",
            "np.argsort(owners)[::-1]",
        ),
        Mutant(
            "long lists are counted to the limit",
            r"^    counts\[active\] = ordered\b",
            "    ordered",
        ),
    ),
)
