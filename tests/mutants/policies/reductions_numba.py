"""Ways to break what `reductions_numba` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "kernels_numba",
        Mutant("every block is the first", r"start = BLOCK \* block", "start = 0"),
        Mutant("blocks are not cut off", r"min\(BLOCK, n - start\)", "min(BLOCK, n)"),
        Mutant(
            "a last block is left out",
            r"(folded(?:\[line\])?), blocks_of\(n\)\)",
            r"\1, max(1, blocks_of(n) - 1))",
        ),
        Mutant("sums are in single precision", r"np\.float64\)$", "np.float32)"),
        Mutant("one element stands for all", r"sum_of\(values\[line\]", "sum_of(values[0]"),
        Mutant("holes are rows", r" if entity\[i\] != 0 else .*", ""),
        Mutant("without rows there is a value", r' if len\(self\) else float\("nan"\)', ""),
        Mutant("a mean is a sum", r"_found / len\(self\)", "_found"),
        Mutant("the largest is the smallest", r"greatest_of\(values", "-greatest_of(-values"),
        Mutant("parts lie on each other", r"^( +)parts \+= 1", r"\1parts = 1"),
        Mutant("what does not match counts", r"^( +)if (speed\[j|mass\[i)\].*:$", r"\1if True:"),
        Mutant("inactive rows count", r"(_load_of_fold\()data\._n_active", r"\1data._n"),
        Mutant("what counts is forgotten", r"(\w+\[i\]) > 3$", r"\1 > 4"),
    ),
)
