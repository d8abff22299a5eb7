"""Ways to break what `packed` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "packed",
        Mutant(
            "the wrong row fills the hole",
            r"src, dst = data\._n - 1, row",
            "src, dst = data._n - 2, row",
        ),
        Mutant("the last row but one does not move", r"if src != dst:", "if src > dst + 1:"),
        Mutant("the last row stays in use", r"data\._n = src$", "data._n = src + 1"),
        Mutant(
            "holes take survivors in another order",
            r"(src, dst = fill\(gone, n\))",
            r"\1; dst = dst[::-1]",
        ),
        Mutant(
            "one row too many is kept", r"data\._n = n - len\(gone\)", "data._n = n - len(gone) + 1"
        ),
        Mutant(
            "a column does not move",
            r"^( +)((self|data)\._\w+\[dst\] = (self|data)\._\w+\[src\])",
            r"\1pass",
        ),
        Mutant(
            "clearing spares the last row",
            r"np\.arange\(self\.data\._n\)",
            "np.arange(self.data._n)[:-1]",
        ),
        Mutant(
            "rows are permuted the wrong way",
            r"data\._move_rows\(src, dst\)$",
            "data._move_rows(dst, src)",
        ),
        Mutant("one new row is not in use", r"data\._n = end$", "data._n = end - 1"),
        Mutant("a new row is not in use", r"data\._n = row \+ 1$", "data._n = row"),
    ),
)
