"""Ways to break what the world records."""

from tests.mutants._base import Mutant, module, world

WORLD = ("test_world.py",)

GROUPS = (
    world(
        "records_numpy",
        Mutant("all rows match", r"(_fold\.add\(_n, \w+), \w+\)$", r"\1)"),
        Mutant("a column beside", r"^( +)\(self\.person\.data\._exposed_column, 0\),$", ""),
        Mutant("lines of all rows", r"(_rows,\s+)_where,$", r"\1None,"),
        Mutant("rows of another component", r"_rows(\d?)\.members\[2\]", r"_rows\1.members[0]"),
        Mutant("the mean is the sum", r"mean_of\((_value6), [\w.]+\)", r"\1"),
        Mutant("the largest is the smallest", r"np\.maximum, np\.uint16\(0\)", "np.minimum, 65535"),
    ),
    world(
        "records_numba",
        Mutant(  # of which rows are kept, new memory often has what the call before found
            "the first row is left out", r"in range\(size\):(?!\n +kept)", "in range(1, size):"
        ),
        Mutant("all rows are added", r"(\+= .*) if .* else (0\.0|np\.uint64\(0\))$", r"\1"),
        Mutant("rows do not count", r"found\d? \+= 1$"),
        Mutant("the largest is the smallest", r"= maximum\(best", "= minimum(best"),
    ),
    module(
        "_runtime/records/records.py",
        WORLD,
        Mutant("the dead count", r"if not alive\.all\(\):", "if False:"),
        Mutant("new lines do not count", r"used \+ k, count \+ k", "used + k, count"),
        Mutant("rows that match are the first", r"np\.flatnonzero\(where\)", "np.arange(k)"),
        Mutant("lines have no time", r"columns\[0\]\[start : start \+ k\] = tick"),
        Mutant("a line has no time", r"\(self\.tick, \*values\)", "(0, *values)"),
    ),
    module(
        "_runtime/kernels/reductions.py",
        WORLD,
        Mutant("floats that do not match", r"if where is not None:  # all bits", "if False:  #"),
        Mutant(
            "integers that do not match", r"cells if where is None else cells \* where", "cells"
        ),
        Mutant("the mean is of one row more", r"total / n if n", "total / (n + 1) if n"),
        Mutant("the variance", r"return sqrt\((in_order\(apart \* apart\) / n)\)", r"return \1"),
        Mutant("places begin with 0", r"1\.0, len\(ranked\) \+ 1", "len(ranked)"),
        Mutant("values are not in order", r"sums\(np\.sort\(values\)\)", "sums(values)"),
        Mutant("as of a sample", r"apart \* apart\) / n\)", "apart * apart) / (n - 1))"),
    ),
    module(
        "_runtime/kernels/compiled_reductions.py",
        WORLD,
        Mutant("lanes are left out", r"total \+= sums\[lane\] \+ lanes\[lane\]"),
        Mutant("places begin with 0", r"\(index \+ 1\) \* ", "index * "),
        Mutant("squares of values", r"apart = value - mean", "apart = value"),
    ),
)
