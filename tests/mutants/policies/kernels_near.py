"""Ways to break kernels that ask neighbours."""

from tests.mutants._base import Mutant, module

TESTS = ("test_bubble.py", "test_boid.py", "test_mote.py", "test_mooring.py")

GROUPS = (
    module(
        "_runtime/spaces/search.py",
        TESTS,
        Mutant("all are counted", r"self\.who\[true\]", "self.who"),
        Mutant("integers are added before", r"total\[1:\]\)", "total[:-1])"),
        Mutant("a mean is a sum", r"\(given\) / self\.counts", "(given)"),
        Mutant("of none it is 0", r'np\.nan if out\.dtype\.kind == "f" else 0', "0"),
        Mutant(
            "the farthest is the nearest",
            r"np\.minimum\.reduceat\(self\.square",
            "np.maximum.reduceat(self.square",
        ),
        Mutant("the square is the distance", r"np\.sqrt\(self\.square\)", "self.square"),
        Mutant("values of the first are spread", r"take\(self\.who, ", "take(0 * self.who, "),
    ),
    module(
        "_runtime/spaces/near_blocks.py",
        TESTS,
        Mutant(
            "rows are in the order of cells",
            r"rows = self\._search\.asking\[pairs\.asking\]",
            "rows = np.arange(len(self._search.asking))[pairs.asking]",
        ),
        Mutant("others are as they are", r"found = pairs\.found$", "found = pairs.who"),
        Mutant("nothing is put back", r"\*working\), own\.put\)", "*working), [])"),
        Mutant(
            "members are in their own order",
            r"rows = self\._search\.members\n",
            "rows = np.sort(self._search.members)\n",
        ),
    ),
    module(
        "_runtime/spaces/spaced.py",
        ("test_mote.py",),
        Mutant("inactive rows are seen", r"None if active >= n else", "None if True else"),
    ),
)
