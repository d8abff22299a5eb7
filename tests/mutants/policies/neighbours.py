"""Ways to break who is near whom, and kernels that ask neighbours and take turns."""

from tests.mutants._base import Mutant, module

SPACED = ("test_boid.py", "test_mote.py")
ASKING = ("test_bubble.py", "test_boid.py", "test_mote.py", "test_mooring.py")
TURNS = ("test_mooring.py", "test_world.py")

GROUPS = (
    module(
        "_runtime/kernels/spaces/spatial.py",
        SPACED,
        Mutant("any sizes are a wrap", r"checked_wrap\(self, wrap\)", "wrap"),
        Mutant("negative sizes are", r"and size >= 0 for", "for"),
        Mutant(
            "any radius will do",
            r'checked_radius\(f"\{type\(self\)\.__name__\}\.near: radius", radius\)',
            "radius",
        ),
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
        "_runtime/kernels/spaces/cell_lists.py",
        SPACED,
        Mutant("no way is around", r"np\.rint\(offsets / size\)", "0"),
        Mutant("nothing is around from above", r"np\.abs\(apart\) > half", "apart > half"),
        Mutant("edges are short", r"edge = WIDER \* radius", "edge = 0.5 * radius"),
        Mutant("a border is one row of cells wide", r"min\(count - 1, 2\)", "1"),
        Mutant("nothing is behind the border", r"np\.ones\(len\(border\)", "np.zeros(len(border)"),
        Mutant("nothing is before the border", r"count - 1, count, count", "0, 2, count"),
        Mutant("places outside stay there", r"np\.remainder\(cells, count, out=cells\)"),
        Mutant("strips do not go around", r"cells\[cells == count\] = 0"),
        Mutant("two cells are three", r"\(-1, 0\), \(-1, 0, 1\)\)$", "(-1, 0, 1), (-1, 0, 1))"),
    ),
    module(
        "_runtime/kernels/spaces/neighbour_search.py",
        SPACED,
        Mutant("all cells are in reach", r"= square <= self\._reach", "= square <= np.inf"),
        Mutant("the rim is out of reach", r"square <= self\._reach", "square < self._reach"),
        Mutant("nobody is lost", r"positions, otherwise\)\.astype", "positions, 0).astype"),
        Mutant("points come as cells do", r"starts\[self\.asking\] ", "counts.cumsum() - counts "),
    ),
    module(
        "_runtime/kernels/spaces/neighbour_search.py",
        ASKING,
        Mutant("all are counted", r"self\.who\[self\._pair_values\(values\)\]", "self.who"),
        Mutant("integers are added before", r"total\[1:\]\)", "total[:-1])"),
        Mutant("a mean is a sum", r"\(pair_values\) / self\.counts", "(pair_values)"),
        Mutant("of none it is 0", r'np\.nan if out\.dtype\.kind == "f" else 0', "0"),
        Mutant("the farthest is the nearest", r"np\.minimum\.reduceat", "np.maximum.reduceat"),
        Mutant("the square is the distance", r"np\.sqrt\(self\.square\)", "self.square"),
        Mutant("values of the first are spread", r"take\(self\.who, ", "take(0 * self.who, "),
        Mutant(
            "rows are in the order of cells",
            r"rows = self\._search\.asking\[pairs\.asking\]",
            "rows = np.arange(len(self._search.asking))[pairs.asking]",
        ),
        Mutant("others are as they are", r"members = pairs\.found$", "members = pairs.who"),
        Mutant("nothing is put back", r"\*working\), asking_rows\.put\)", "*working), [])"),
        Mutant(
            "members are in their own order",
            r"rows = self\._search\.members\n",
            "rows = np.sort(self._search.members)\n",
        ),
    ),
    module(
        "_runtime/kernels/spaces/spatial.py",
        ("test_mote.py",),
        Mutant("inactive rows are seen", r"None if active >= n else", "None if True else"),
    ),
    module(
        "_runtime/kernels/spaces/cell_lists.py",
        TURNS,
        Mutant("places stay where they were", r"self\.positions\[:, member\] = .*"),
        Mutant("cells stay the same", r"if cell != before:", "if False:"),
        Mutant("whoever moves goes to the end", r"if cell != before:", "if True:"),
        Mutant("who left is still there", r"del self\._cells\[before\]\[member\]"),
        Mutant(
            "who comes is the first of the cell",
            r"self\._cells\.setdefault\(cell, \{\}\)\[member\] = None",
            "self._cells[cell] = {member: None, **self._cells.get(cell, {})}",
        ),
        Mutant("all around are in reach", r"square <= self\._reach", "square <= np.inf"),
        Mutant("the rim is out of reach", r"square <= self\._reach", "square < self._reach"),
        Mutant("rows ask themselves", r" & is_other\]", "]"),
        Mutant("no way is around", r"(?<!def )take_around\(.*\)"),
        Mutant("cells do not go around", r"\(c \+ s\) % count if count else c \+ s", "c + s"),
        Mutant("places outside stay there", r"cell %= count"),
        Mutant("few cells are around twice", r"CELL_STEPS\[min\(count, 3\)\]", "CELL_STEPS[0]"),
        Mutant(
            "all of none is somebody",
            r"if not around:\n            return 0",
            "if not around:\n            around = [0]",
        ),
    ),
    module(
        "_runtime/kernels/spaces/spatial.py",
        TURNS,
        Mutant("any radius will do", r"checked_radius\(kernel, radius\)", "float(radius)"),
        Mutant("all are seen", r"if seen is None else", "if True else"),
        Mutant("the unseen come when they move", r"np\.where\(seen, (.*), -1\)", r"\1"),
        Mutant(
            "the unseen are there at first",
            r"np\.where\(is_visible, positions, np\.nan\)",
            "positions",
        ),
        Mutant("members are known by their rows", r"= np\.arange\(len\(members\)\)$", "= members"),
        Mutant("whoever moves is a member", r", -1, np\.int64\)", ", 0)"),
        Mutant("who asks is asked", "met = asking if members is None else members", "met = asking"),
        Mutant(
            "entities ask their own rows",
            r"= owners\[asking if named is None else named\], owners\[members\]",
            "= np.arange(len(asking), dtype=np.uint64), owners[members]",
        ),
        Mutant(
            "the first rows ask",
            r"positions\.take\(asking if named is None else named, axis=1\)",
            "positions[:, : len(asking)]",
        ),
        Mutant(
            "the dead are asked", r"others = asking_positions if .*", "others = asking_positions"
        ),
        Mutant("the dead are asked by others", r"visible\.take\(members", "positions.take(members"),
        Mutant(
            "the first rows are asked",
            r"visible\.take\(members, axis=1\)",
            "visible[:, : len(members)]",
        ),
        Mutant("entities ask their own rows", r"False, names$", "False, None"),
        Mutant("rows ask themselves", r"manager\.wrap, True, None", "manager.wrap, False, None"),
    ),
    module(
        "_runtime/tables/placement.py",
        ("test_world.py",),
        Mutant(
            "rows that follow each other are the first",
            r"np\.arange\(rows\.start, rows\.stop\)",
            "np.arange(rows.stop - rows.start)",
        ),
    ),
)
