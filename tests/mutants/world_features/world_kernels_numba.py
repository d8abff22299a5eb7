"""Ways to break what `world_kernels_numba` does."""

from tests.mutants._base import Mutant, world

GROUPS = (
    world(
        "kernel_methods_numba",
        Mutant("all rows of a member", r"_n = self\.(\w+)\.n$", r"_n = self.\1._first.data.n"),
        Mutant("the first row is left out", r"for i in range\(n\):", "for i in range(1, n):"),
        Mutant("all rows match", r"^( +)if \w+\[\w+\] .*:$", r"\1if True:"),
        Mutant("rows of another component", r"_found\.numbers\(1\)", "_found.numbers(0)"),
        Mutant("scattered rows are the first", r"row_at\((\w+), i\)", r"row_at(\1, 0)"),
        Mutant("the first chunk is left out", r"range\(len\(rows\)\)", "range(1, len(rows))"),
        Mutant("columns of the first chunk", r"addresses\[k, (\d)\]", r"addresses[0, \1]"),
        Mutant("rows in step are the first", r"(\w+_rows)\[0\] :\]", r"0 * \1[0] :]"),
    ),
)
