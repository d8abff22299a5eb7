"""Ways to break what `kernels_numpy` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "kernels_numpy",
        Mutant("a sum is a difference", r"(_tmp\d*|\w+) \+= (_tmp\d*)$", r"\1 -= \2"),
        Mutant("a product is a sum", r"np\.multiply\(", "np.add("),
        Mutant("all rows match", r"put_where\((\w+), _where, ", r"put_where(\1, True, "),
        Mutant("what is computed stays in working memory", r"put_rows\(.*\)$", "pass"),
        Mutant("roots have no parent", r"if _parents is None:", "if False:"),
    ),
)
