"""Ways to break what `hierarchy` does."""

from tests.mutants._base import Mutant, managers, module

KIN = ("test_kin.py", "test_scene_node.py")

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
        Mutant("the same parent is a change", r"if parents\[row\] == parent:", "if False:"),
        Mutant("parents can be overwritten", r"column\.flags\.writeable = False", "pass"),
    ),
    module(
        "_runtime/hierarchy/links.py",
        KIN,
        Mutant("parents that were tried stay", r"column\[rows\] = before", "pass"),
        Mutant(
            "moved first children are not known", r"^    links\.first\[owners.* = .*", "    pass"
        ),
        Mutant(
            "moved last children are not known", r"^    links\.previous\[links\.first.*", "    pass"
        ),
        Mutant("rows become no roots", r"^    links\.parents\[rows\] = NIL", "    pass"),
    ),
    module(
        "_runtime/hierarchy/trees.py",
        KIN,
        Mutant("depths are those of parents", r"depth \+= depth\.take\(up\)", "pass"),
        Mutant("grandchildren stay", r"marked \|= marked\.take\(up\)", "pass"),
        Mutant("rows are below none", r"return row == ancestor", "return False"),
    ),
)
