"""Ways to break what `kernels_numpy` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "kernels_numpy",
        Mutant("a sum is a difference", r"(_tmp\d*|\w+) \+= (_tmp\d*)$", r"\1 -= \2"),
        Mutant("a product is a sum", r"np\.multiply\(", "np.add("),
        Mutant("all rows match", r"put_where\((\w+), _where, ", r"put_where(\1, True, "),
    ),
    module(
        "_runtime/kernels/levels.py",
        ("test_scene_node.py",),
        Mutant("what is computed stays in working memory", r"cells\.put\(.*\)", "pass"),
        Mutant("roots have no parent", r"self\._above_roots\(views\)", "pass"),
        Mutant("parents are not gathered", r"found \+= _copied\(row_cells\(.*", "pass"),
    ),
)
