"""kernels with `backend: numba`: a method each, and the compiled loop that it runs."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="kernels_numba",
    applies=lambda c: bool(c.kernels) and c.backend == "numba",
    order=80,
    mutants=(
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
        Mutant("old levels are good enough", r"^        self\.levels\(\)$", "        pass"),
    ),
)
