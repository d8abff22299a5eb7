"""Ways to break what `hierarchy` does."""

from tests.mutants._base import Mutant, managers, module

KIN = ("test_kin.py", "test_scene_node.py")

GROUPS = (
    managers(
        "hierarchy",
        Mutant("the family is not told of a move", r"self\._relink_family\(src, dst\)", "pass"),
        Mutant(
            "a row that goes stays among its siblings",
            r"(if data\._parent_cells\[row\] != NIL:\n +)self\._leave_parent\(row\)",
            r"\1pass",
        ),
        Mutant(
            "a new row has its predecessor's family",
            r"^( +)data\._(?:parent|first_child|next_sibling)_cells\[row\] = NIL",
            r"\1pass",
        ),
        Mutant(
            "new rows have their predecessors' families",
            r"^( +)data\._(?:parent|first_child|next_sibling)_column\[span\] = NIL",
            r"\1pass",
        ),
    ),
    module(
        "_runtime/hierarchy/hierarchy.py",
        KIN,
        Mutant(
            "children are not told that their parent moved",
            r"( +)self\._tell_children\(src, dst\)",
            r"\1pass",
        ),
        Mutant(
            "many children are not told that their parent moved",
            r"column\[column == src\] = dst",
            "pass",
        ),
        Mutant("a link is not set", r"^( +)(?:nexts|previous|firsts)\[.+\] = .+", r"\1pass"),
        Mutant(
            "a row that gets another parent stays among its siblings",
            r"(if parents\[row\] != NIL:\n +)self\._leave_parent\(row\)",
            r"\1pass",
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
            r"levels\(self\.data\.parent, self\.data\._version\)",
            "levels(self.data.parent, 0)",
        ),
        Mutant("the same parent is a change", r"if parents\[row\] == parent:", "if False:"),
        Mutant("parents can be overwritten", r"column\.flags\.writeable = False", "pass"),
    ),
    module(
        "_runtime/hierarchy/links.py",
        KIN,
        Mutant("parents that were tried stay", r"column\[rows\] = before", "pass"),
    ),
    module(
        "_runtime/hierarchy/trees.py",
        KIN,
        Mutant("depths are those of parents", r"depth \+= depth\.take\(up\)", "pass"),
        Mutant("grandchildren stay", r"marked \|= marked\.take\(up\)", "pass"),
        Mutant("rows are below none", r"return row == ancestor", "return False"),
    ),
)
