"""Ways to break what compiled kernels call."""

from tests.mutants._base import Mutant, module

KERNELS = ("test_bead.py", "test_cell.py", "test_world.py")

GROUPS = (
    module(
        "_runtime/kernels/arithmetic.py",
        KERNELS,
        Mutant("NaN is no minimum", r"a < b or a != a", "a < b"),
        Mutant("NaN is no maximum", r"a > b or a != a", "a > b"),
    ),
    module(
        "_runtime/kernels/compiled_arithmetic.py",
        KERNELS,
        Mutant("a remainder has the dividend's sign", r"rest \+ b if .*", "rest"),
        Mutant(
            "the sign of NaN is 0", r"(?<=type\(a\)\(-1\) if a < 0 )else a - a", "else type(a)(0)"
        ),
        Mutant("what is negative has no sign", r"type\(a\)\(-1\)", "a - a"),
        Mutant(
            "a remainder of nothing is positive",
            r"if b == 0:\n        return rest",
            "if b == 0:\n        return b",
        ),
        Mutant("sums have one pair less", r"range\(n // 2\):(?=\n.*\+=)", "range(n // 2 - 1):"),
        Mutant("a sum of none is anything", r"values\[0\] = 0", "values[0] = 1"),
        Mutant("sums lose the odd one", r"half = \(n \+ 1\) // 2", "half = n // 2"),
        Mutant("blocks are counted down", r"\(n \+ BLOCK - 1\) // BLOCK", "n // BLOCK"),
    ),
    module(
        "_runtime/tables/compiled_bulk.py",
        ("test_bead.py", "test_cell.py"),
        Mutant("other owners are found", r" and owners\[row\] == entity else", " else"),
        Mutant("rows given twice are accepted", r"if len\(distinct\) < len\(rows\):", "if False:"),
        Mutant("a row too many", r"distinct\[:count\]", "distinct[:count + 1]"),
    ),
    module(
        "_runtime/kernels/compiled_random_streams.py",
        ("test_bead.py", "test_world.py"),
        Mutant("words are mixed with a round less", r"    x = \(x \^ .*27\).*\n", ""),
        Mutant("the first number is the second", r"number \+ 1\)", "number + 2)"),
        Mutant(
            "who a row is does not matter", r"_mix\(np\.uint64\(row_key\) \^ key\)", "_mix(key)"
        ),
        Mutant("numbers reach 2", r"2\.0\*\*-53", "2.0**-52"),
        Mutant("tails are as the middle", r"is_middle = .*", "is_middle = square < 1.0"),
        Mutant("tails have no sign", r"distance > 0\.0, 1\.0, -1\.0", "distance > 0.0, 1.0, 1.0"),
        Mutant("a range is too wide", r"number\) >> np\.uint64\(32\)", "number)"),
    ),
    module(
        "_runtime/kernels/compiled_chunk_blocks.py",
        ("test_world.py",),
        Mutant("all chunks are the first", r"starts\[:, None\]", "starts[0] + 0 * starts[:, None]"),
    ),
    module(
        "_runtime/kernels/arithmetic.py",
        ("test_world.py",),
        Mutant(
            "rows that do not follow each other do",
            r"if len\(rows\) > 1 else",
            "if len(rows) < 1 else",
        ),
    ),
)
