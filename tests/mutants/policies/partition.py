"""Ways to break what `partition` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "partition",
        Mutant(
            "the bound stays when an active row goes",
            r"data\._n_active = row = last",
            "row = last",
        ),
        Mutant(
            "activation forgets the bound",
            r"data\._n_active = bound \+ 1",
            "data._n_active = bound",
        ),
        Mutant(
            "sorting crosses the bound",
            r"parts_sorted\(key, data\._n_active\)",
            'np.argsort(key, kind="stable")',
        ),
        Mutant(
            "deactivation forgets the bound",
            r"data\._n_active = bound$",
            "data._n_active = bound + 1",
        ),
        Mutant("rows stay on their side", r"self\._swap\(row, bound\)", "pass"),
        Mutant("a swap is half a swap", r"self\._move\(spare, other\)", "pass"),
        Mutant(
            "many stay on their side",
            r"chosen = chosen\[chosen (<|>=) data\._n_active\]",
            "chosen = chosen[:0]",
        ),
        Mutant("the bound of many stays", r"self\.data\._n_active = bound$", "pass"),
        Mutant("orders cross the bound", r"order = within_parts\(.*\)$", "pass"),
        Mutant("a new row does not make room", r"self\._move\(row, Instance\(data\._n\)\)", "pass"),
        Mutant("where rows went is not told", r"return Remap\(.*\)\(given\)", "return given"),
        Mutant("saving loses the bound", r'data\._n_active = state\["n_active"\]', "pass"),
        Mutant(
            "active columns are whole columns",
            r"(data\._\w+_column)\[: data\._n_active\]",
            r"\1[: data._n]",
        ),
        Mutant(
            "destroying forgets the bound",
            r"fill_parts\(gone, bound, n\)",
            "fill_parts(gone, n, n)",
        ),
    ),
)
