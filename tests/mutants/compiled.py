"""Ways to break what compiled kernels call."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_compiled.py",
        ("test_bead.py", "test_bone.py", "test_cell.py", "test_world.py"),
        Mutant("NaN is no minimum", r"a < b or a != a", "a < b"),
        Mutant("NaN is no maximum", r"a > b or a != a", "a > b"),
        Mutant("a remainder has the dividend's sign", r"rest \+ b if .*", "rest"),
        Mutant(
            "a remainder of nothing is positive",
            r"if b == 0:\n        return rest",
            "if b == 0:\n        return b",
        ),
        Mutant("sums have one pair less", r"range\(n // 2\):(?=\n.*\+=)", "range(n // 2 - 1):"),
        Mutant("a sum of none is anything", r"values\[0\] = 0", "values[0] = 1"),
        Mutant("sums lose the odd one", r"half = \(n \+ 1\) // 2", "half = n // 2"),
        Mutant("blocks are counted down", r"\(n \+ BLOCK - 1\) // BLOCK", "n // BLOCK"),
        Mutant("all chunks are the first", r"starts\[:, None\]", "starts[0] + 0 * starts[:, None]"),
        Mutant("sparse: other owners are found", r"row < n and owners\[row\] == entity", "row < n"),
        Mutant(
            "direct: other owners are found",
            r"index < n and owners\[index\] == entity",
            "index < n",
        ),
        Mutant("direct: null is found", r"entity != 0 and ", ""),
        Mutant("rows given twice are accepted", r"if len\(ascending\) < len\(rows\):", "if False:"),
        Mutant("the last row is not found", r"for row in range\(n\):", "for row in range(n - 1):"),
    ),
)
