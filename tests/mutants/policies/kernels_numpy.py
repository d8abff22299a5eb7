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
        "_runtime/kernels/blocks.py",
        ("test_contact.py",),
        Mutant("rows that rest take part", r"given\[running\]", "given"),
        Mutant(
            "values of rows that rest are others'",
            r"values\[self\._running\]",
            "values[: self._running.sum()]",
        ),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_point_mass.py", "test_contact.py", "test_world.py"),
        Mutant("all blocks are the first", r"slice\(start, end\)", "slice(0, end - start)"),
        Mutant("chosen rows are not put back", r"put \+= moves", "pass"),
        Mutant("chosen rows are not gathered", r"gathered \+= moves", "pass"),
        Mutant("values of all blocks are those of the first", r"start = end", "pass"),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_scene_node.py",),
        Mutant("what is computed stays in working memory", r"cells\.put\(.*\)", "pass"),
    ),
    module(
        "_runtime/kernels/levels.py",
        ("test_scene_node.py",),
        Mutant("roots have no parent", r"(views\[place\]|memory\[number\]\[.*\]) = .*", "pass"),
        Mutant(
            "parents are not gathered", r"(made \+= |batch\.gathered\.extend\()row_copies.*", "pass"
        ),
        Mutant(
            "rows always follow each other",
            r"if len\(rows\) > 0 and .*",
            "if len(rows) > 0:",
        ),
    ),
)
