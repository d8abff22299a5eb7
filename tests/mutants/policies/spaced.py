"""Ways to break who is near whom."""

from tests.mutants._base import Mutant, module

TESTS = ("test_boid.py", "test_mote.py")

GROUPS = (
    module(
        "_runtime/spaces/spaced.py",
        TESTS,
        Mutant("any sizes are a wrap", r"checked_wrap\(self, wrap\)", "wrap"),
        Mutant("negative sizes are", r"and size >= 0 for", "for"),
        Mutant("any radius will do", r"checked_radius\(type\(self\)\.__name__, radius\)", "radius"),
        Mutant("a radius may be 0", r"number > 0\)", "number >= 0)"),
        Mutant("wraps are not saved", r'"wrap": list\(self\._wrap\)', '"wrap": []'),
        Mutant("the dead are seen", r"None if alive\.all\(\) else alive", "None"),
        Mutant(
            "all axes are the first",
            r"np\.stack\(columns\)",
            "np.stack(columns[:1] * len(columns))",
        ),
    ),
    module(
        "_runtime/spaces/cell_order.py",
        TESTS,
        Mutant("no way is around", r"np\.rint\(some / size\)", "0"),
        Mutant("nothing is around from above", r"np\.abs\(apart\) > half", "apart > half"),
        Mutant("edges are short", r"edge = WIDER \* radius", "edge = 0.5 * radius"),
        Mutant("a border is one row of cells wide", r"min\(count - 1, 2\)", "1"),
        Mutant("nothing is behind the border", r"np\.ones\(len\(border\)", "np.zeros(len(border)"),
        Mutant("nothing is before the border", r"count - 1, count, count", "0, 2, count"),
        Mutant("places outside stay there", r"np\.remainder\(cells, count, out=cells\)", "pass"),
        Mutant("strips do not go around", r"cells\[cells == count\] = 0", "pass"),
        Mutant("two cells are three", r"\(-1, 0\), \(-1, 0, 1\)\)$", "(-1, 0, 1), (-1, 0, 1))"),
    ),
    module(
        "_runtime/spaces/search.py",
        TESTS,
        Mutant(
            "all cells are in reach", r"near = square <= self\._reach", "near = square <= np.inf"
        ),
        Mutant("the rim is out of reach", r"square <= self\._reach", "square < self._reach"),
        Mutant("nobody is lost", r"places, otherwise\)\.astype", "places, 0).astype"),
        Mutant(
            "points come as cells do", r"starts\[self\.asking\] - ", "counts.cumsum() - counts - "
        ),
    ),
)
