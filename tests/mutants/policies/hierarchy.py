"""Ways to break what `hierarchy` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "hierarchy",
        Mutant(
            "children are not told that their parent moved",
            r"( +)self\._tell_children\(src, dst\)",
            r"\1pass",
        ),
        Mutant(
            "a bulk move leaves the hierarchy as it was",
            r"( +)writes = moved_family\(.*\)",
            r"\1writes = []",
        ),
        Mutant(
            "a row that goes stays among its siblings",
            r"(if data\._parent_cells\[row\] != NIL:\n +)self\._leave_parent\(row\)",
            r"\1pass",
        ),
        Mutant(
            "rows that go in bulk stay among their siblings",
            r"( +)\*_left_parents\(links, chains, left\),\n",
            "",
        ),
        Mutant(
            "a child is not attached behind the last",
            r"nexts\[last\] = row\n( +)previous\[row\] = last\n( +)previous\[first\] = row",
            r"nexts[first] = row\n\1previous[row] = first\n\2previous[first] = row",
        ),
        Mutant(
            "cycles through descendants are not seen",
            r"parent == row or \(not is_leaf and is_below\(parents, parent, row\)\)",
            "parent == row",
        ),
        Mutant("bulk cycles are not seen", r"if culprit != NIL:", "if culprit == -1:"),
        Mutant(
            "the first row's previous sibling is the last",
            r"return NIL if data\._next_sibling_cells\[before\] == NIL else before",
            "return before",
        ),
        Mutant(
            "levels are kept for ever",
            r"levels\(self\.data\.parent, self\._version\)",
            "levels(self.data.parent, 0)",
        ),
    ),
)
