"""kernels with `backend: numpy`: a method each, ufuncs over blocks of rows."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="kernels_numpy",
    applies=lambda c: bool(c.kernels) and c.backend == "numpy",
    order=80,
    mutants=(
        Mutant("a sum is a difference", r"(_tmp\d*|\w+) \+= (_tmp\d*)$", r"\1 -= \2"),
        Mutant("a product is a sum", r"np\.multiply\(", "np.add("),
        Mutant("all rows match", r"put_where\((\w+), _where, ", r"put_where(\1, True, "),
        Mutant("what is computed stays in working memory", r"scatter\(.*\)$", "pass"),
        Mutant("roots have no parent", r"if _parents is None:", "if False:"),
    ),
)
