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
        Mutant("new rows do not join the old", r"^( +)writes \+= joined\(.*\)", r"\1pass"),
        Mutant(
            "rows leave in the order of the list",
            r"np\.sort\(self\._rows_from\(row\)\)",
            "self._rows_from(row)",
        ),
        Mutant("the list is not told of a move", r"^( +)self\._relink_row\(.*\)", r"\1pass"),
        Mutant("the list is not told who goes", r"^( +)self\._unlink_row\(.*\)", r"\1pass"),
        Mutant("the lists are not told of moves", r"^( +)put\(plan\.writes\)", r"\1pass"),
        Mutant("owners do not know their new first rows", r"self\._enter_many\(plan.*", "pass"),
        Mutant("the last row that moved is not told", r"^( +)chains\.writes\.append.*", r"\1pass"),
        Mutant("the only row is not recognised", r"if before == row:", "if False:"),
        Mutant("the map is not told of first rows", r"^( +)self\._enter(_many)?\(.*\)", r"\1pass"),
        Mutant("the map keeps empty lists", r"^( +)self\._forget(_many)?\(.*\)", r"\1pass"),
    ),
    module(
        "_runtime/instances/chains.py",
        LISTS,
        Mutant("a list's neighbour is not told", r"^    nexts\[before\[.*\]\] = .*", "    pass"),
        Mutant("a list's neighbour is not told", r"^    previous\[after\[.*\]\] = .*", "    pass"),
        Mutant("a list's last row is forgotten", r"^    previous\[heads.*\] = .*", "    pass"),
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
