"""Ways to break who is near whom as rows take turns."""

from tests.mutants._base import Mutant, module

TESTS = ("test_mooring.py", "test_world.py")

GROUPS = (
    module(
        "_runtime/spaces/turns.py",
        TESTS,
        Mutant("places stay where they were", r"self\.places\[:, member\] = .*", "pass"),
        Mutant("cells stay the same", r"if cell != before:", "if False:"),
        Mutant("whoever moves goes to the end", r"if cell != before:", "if True:"),
        Mutant("who left is still there", r"del self\._cells\[before\]\[member\]", "pass"),
        Mutant(
            "who comes is the first of the cell",
            r"self\._cells\.setdefault\(cell, \{\}\)\[member\] = None",
            "self._cells[cell] = {member: None, **self._cells.get(cell, {})}",
        ),
        Mutant("all around are in reach", r"square <= self\._reach", "square <= np.inf"),
        Mutant("the rim is out of reach", r"square <= self\._reach", "square < self._reach"),
        Mutant("rows ask themselves", r" & is_other\]", "]"),
        Mutant("no way is around", r"take_around\(.*\)", "pass"),
        Mutant("cells do not go around", r"\(c \+ s\) % count if count else c \+ s", "c + s"),
        Mutant("places outside stay there", r"cell %= count", "pass"),
        Mutant("few cells are around twice", r"CELL_STEPS\[min\(count, 3\)\]", "CELL_STEPS[0]"),
        Mutant(
            "all of none is somebody",
            r"if not around:\n            return 0",
            "if not around:\n            around = [0]",
        ),
    ),
    module(
        "_runtime/spaces/spaced.py",
        TESTS,
        Mutant("any radius will do", r"checked_radius\(kernel, radius\)", "float(radius)"),
        Mutant("all are seen", r"if seen is None else", "if True else"),
        Mutant("the unseen come when they move", r"np\.where\(seen, (.*), -1\)", r"\1"),
        Mutant("the unseen are there at first", r"np\.where\(is_seen, places, np\.nan\)", "places"),
        Mutant("members are known by their rows", r"= np\.arange\(len\(members\)\)$", "= members"),
        Mutant("whoever moves is a member", r", -1, np\.int64\)", ", 0)"),
        Mutant(
            "who asks is asked", r"met = asking if members is None else members", "met = asking"
        ),
        Mutant(
            "entities ask their own rows",
            r"= owners\[asking\], owners\[members\]",
            "= np.arange(len(asking), dtype=np.uint64), owners[members]",
        ),
        Mutant("the first rows ask", r"places\.take\(asking, axis=1\)", "places[:, : len(asking)]"),
        Mutant("the dead are asked", r"others = own if .*", "others = own"),
        Mutant("the dead are asked by others", r"seen\.take\(members", "places.take(members"),
        Mutant(
            "the first rows are asked",
            r"seen\.take\(members, axis=1\)",
            "seen[:, : len(members)]",
        ),
        Mutant("entities ask their own rows", r"False, names$", "False, None"),
        Mutant("rows ask themselves", r"manager\.wrap, True, None", "manager.wrap, False, None"),
    ),
    module(
        "_runtime/queries/query_rows.py",
        ("test_world.py",),
        Mutant(
            "rows that follow each other are the first",
            r"np\.arange\(rows\.start, rows\.stop\)",
            "np.arange(rows.stop - rows.start)",
        ),
    ),
)
