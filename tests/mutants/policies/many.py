"""Ways to break what `many` does."""

from tests.mutants._base import Mutant, managers, module

LISTS = ("test_sound_source.py", "test_status_effect.py")

GROUPS = (
    managers(
        "many",
        Mutant("the list is not told of moves", r"self\._relink_rows?\(.*\)"),
        Mutant("the list is not told who goes", r"self\._unlink_rows?\(.*\)"),
        Mutant("the list is not told who comes", r"self\._link_rows?\(.*\)"),
    ),
    module(
        "_runtime/managers/policies/instances.py",
        LISTS,
        Mutant("a link is not set", r"(?:nexts|previous)\[.+\] = .+"),
        Mutant("every row counts as the first", r"if nexts\[before\] == NIL:", "if True:"),
        Mutant("no row counts as the first", r"if nexts\[before\] == NIL:", "if False:"),
        Mutant(
            "the last row counts as before the first",
            r"NIL if data\._next_cells\[before\] == NIL else ",
            "",
        ),
        Mutant(
            "rows leave in the order of the list",
            r"np\.sort\(self\.rows_from\(row\)\)",
            "self.rows_from(row)",
        ),
        Mutant("the only row is not recognised", r"if before == row:", "if False:"),
        Mutant("the map is not told of first rows", r"self\._map_rows?\(.*\)"),
        Mutant("the map keeps empty lists", r"self\._unmap(_many)?\(.*\)"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant(
            "only the first goes with its entity",
            r"if .*:  # the only one\n +return self",
            r"if True:\n            return self",
        ),
        Mutant("new rows do not join the old", r"writes \+= joined\(.*\)"),
        Mutant("new rows come first", r"owners\[new\], first\[new\]", "owners, first"),
        Mutant(
            "all but one count as all",
            r"len\(removed\) == data\.n:",
            "len(removed) >= data._n - 1:",
        ),
        Mutant(
            "the map keeps the lists when all rows go",
            r"removed\[:0\], left$",
            "removed[:0], left[:0]",
        ),
        Mutant("who goes counts as alone", r" and \(previous\[removed\] == removed\)\.all\(\)", ""),
        Mutant("who moves counts as alone", r"\(previous\[src\] == src\)\.all\(\) and ", ""),
        Mutant(
            "who moves alone looks back at its old place", r"= \[\(previous, dst, dst\)\]", "= []"
        ),
        Mutant(
            "the map is not told of the only ones", r"owners\[src\], dst, ", "owners[:0], dst[:0], "
        ),
        Mutant("the map keeps the only ones", r"dst, owners\[removed\]$", "dst, owners[:0]"),
        Mutant("first rows are not told that the last moved", r"chains\.writes\.append\(.*\)"),
        Mutant(
            "the map is not told where first rows went",
            r"= owners\[src\[is_first\]\], dst\[is_first\]$",
            "= owners[:0], dst[:0]",
        ),
        Mutant("the map keeps lists that end", r"losing\[heads == NIL\]", "losing[:0]"),
        Mutant(
            "the map is not told of new first rows",
            r"losing\[is_left\]\)\)\n( +first = .*), heads\[is_left\]\)\)",
            r"losing[:0]))\n\1, heads[:0]))",
        ),
    ),
    module(
        "_runtime/managers/policies/instances.py",
        ("test_contact.py",),
        Mutant(
            "new rows join lists where they were",
            r"moved\(heads\), moved\((previous\[heads\])\)",
            r"heads, \1",
        ),
    ),
    module(
        "_runtime/managers/policies/packed.py",
        LISTS,
        Mutant(
            "lists are not told of a sort",
            r"_many, src, dst, self\._plan_moves\(src, dst\)",
            "_many, src, dst, ()",
        ),
    ),
    module(
        "_runtime/tables/placement.py",
        (*LISTS, "test_limb.py"),
        Mutant("nothing leads to somewhere", r"self\._table\[n\] = NIL.*"),
        Mutant(
            "rows that stay are redirected",
            r"np\.where\(self\._keys\[slots\] == rows, (.*), rows\)",
            r"\1",
        ),
        Mutant("few rows stay where they were", r"self\._keys\[slots\] == rows", "rows < 0"),
        Mutant("rows stay where they were", r"self\._table\[keys\] = values"),
        Mutant("redirections are in any order", r"keys\.argsort\(\)", "np.arange(len(keys))"),
    ),
    module(
        "_runtime/managers/policies/chains.py",
        LISTS,
        Mutant("runs of neighbours are bridged by one", r"while len\(active\):", "if len(active):"),
        Mutant("lists end after some rounds", r"parts\.append\(.*\.nonzero\(\)\[0\]\)"),
        Mutant(
            "equal owners come in any order",
            r"owners\.argsort\(kind=\"stable\"\)",
            "owners.argsort()[::-1]",
        ),
        Mutant(
            "long lists are counted to the limit",
            r"^    counts\[active\] = ordered\b",
            "    ordered",
        ),
        Mutant("new rows are not chained", r"^ +\(nexts, (?:ordered|last).*\),\n", ""),
        Mutant(
            "new rows are not chained backwards", r"^ +\(previous, (?:ordered|first).*\),\n", ""
        ),
        Mutant("the last row does not lead on", r"\[\(nexts, tails, first\), ", "["),
        Mutant("new rows do not lead back", r"\(previous, first, tails\), ", ""),
        Mutant("a list's last row is forgotten", r", \(previous, heads, last\)\]", "]"),
        Mutant("those before moved rows do not know", r"^ +\(self\._nexts, .*\),\n", ""),
        Mutant("those after moved rows do not know", r"^ +\(self\._previous, .*\),\n", ""),
        Mutant("lists become circles", r"inner = ~is_first & ", "inner = "),
        Mutant(
            "moved rows keep neighbours that go",
            r"= self\.after\(after\), self\.before\(before\)",
            "= self.moved(after), self.moved(before)",
        ),
        Mutant("a last row that goes is kept", r"last = self\.before\(", "last = self.moved("),
        Mutant("lists are not closed", r"self\.writes\.append\(\(self\._previous, first.*"),
        Mutant("gaps are not bridged", r"self\.writes\.append\(\((?:nexts|previous), .*"),
        Mutant("bridges lead to where rows were", r"after, before = self\.moved\(.*"),
    ),
)
