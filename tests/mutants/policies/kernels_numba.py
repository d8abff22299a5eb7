"""Ways to break what `kernels_numba` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "kernels_numba",
        Mutant("a sum is a difference", r"^( +\w+\[[^\]]+\]) \+= ", r"\1 -= "),
        Mutant("a product is a sum", r"^( +\w+_0 = .*) \* ", r"\1 + "),
        Mutant("the first row is left out", r"for i in range\(n\):", "for i in range(1, n):"),
        Mutant("the first row of levels is left out", r"for i in order:", "for i in order[1:]:"),
        Mutant("all rows match", r"^        if \w+\[i\] .*:$", "        if True:"),
        Mutant(
            "inactive rows take part", r"data\._n_active, self\._levels", "data._n, self._levels"
        ),
        Mutant("elements overlap", r"j = \d+ \* i$", "j = i"),
        Mutant(
            "the last element is left out", r"for e in range\((\d+)\):", r"for e in range(\1 - 1):"
        ),
        Mutant(
            "two elements of an argument are one", r"^    (\w+)_1 = \1\[1\]", r"    \1_1 = \1[0]"
        ),
        Mutant("the own row is the parent", r"p = np\.intp\(parent\[i\]\)", "p = i"),
        Mutant("above the roots is something else", r"(parent_\w+) = 1\.0$", r"\1 = 2.0"),
        Mutant("all rows have the same value", r"by\[i\]", "by[0]"),
        Mutant("chosen rows are not put back", r"_cells\.put\(\)", "pass"),
        Mutant("what is written is not put back", r"_cells\.written\(", "_cells.read("),
        Mutant("old levels are good enough", r"^        self\.levels\(\)$", "        pass"),
    ),
)
