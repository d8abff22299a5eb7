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
        "_runtime/policies/hierarchy.py",
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
        "_runtime/policies/links.py",
        KIN,
        # Whether they go after an error, tests/policies/test_faults.py looks.
        Mutant("parents that were tried stay", r"column\[rows\] = before(?=\n +return)", "pass"),
        Mutant(
            "parents of rows that move are not seen",
            r"^ +and \(owners == NIL\)\.all\(\)\n",
            "",
        ),
        Mutant(
            "children of rows that move are not seen",
            r"^ +and \(links\.first\[src\] == NIL\)\.all\(\)\n",
            "",
        ),
        Mutant(
            "parents of rows that go are not seen",
            r"^ +and \(links\.parents\[gone\] == NIL\)\.all\(\)\n",
            "",
        ),
        Mutant("roots that move are others' siblings", r"return roots\(links, dst\)", "return []"),
        Mutant(
            "parents that go are told who leaves them",
            r"gone\[\(above != NIL\) & .*\]",
            "gone[above != NIL]",
        ),
        Mutant("rows keep parents that go", r"^( +)has_parent &= .*", r"\1pass"),
        Mutant(
            "rows that move do not know where their parents go",
            r"^ +\(links\.parents, places, .*\),\n",
            "",
        ),
        Mutant(
            "one child is told that its parent moves",
            r"\[\(links\.parents, children, parents\)\]",
            "[(links.parents, children[:1], parents[:1])]",
        ),
        Mutant(
            "rows that go stay among their siblings",
            r"^ +\*_left_parents\(links, chains, left\),\n",
            "",
        ),
        Mutant("moved first children are not known", r"^ +\(links\.first, parents.*\),\n", ""),
        Mutant("moved last children are not known", r"^ +\(links\.previous, heads.*\),\n", ""),
        Mutant(
            "roots that move in bulk are others' siblings", r"^ +\*roots\(links, dst\[.*\),\n", ""
        ),
        Mutant(
            "children are not told that their parents move", r"^ +\*_children_told\(.*\),\n", ""
        ),
        Mutant(
            "parents that move are told in their old places",
            r"\(links\.first, chains\.moved\(owners\), heads\)",
            "(links.first, owners, heads)",
        ),
        Mutant(
            "rows stay with their former parents",
            r"writes = \[\*_left_parents\(.*\)\]",
            "writes = []",
        ),
        Mutant("first children are not known", r", \(links\.first, owners\[alone\], .*\)\]", "]"),
        Mutant(
            "children join those that leave", r"heads = chains\.after\(before\)", "heads = before"
        ),
        Mutant("children do not join others", r"writes \+= joined\(.*\)", "pass"),
        Mutant("rows become no roots", r"writes \+= roots\(links, rows\[rooted\]\)", "pass"),
    ),
    module(
        "_runtime/policies/hierarchy.py",
        KIN,
        Mutant(
            "all but one count as all", r"len\(gone\) == data\._n:", "len(gone) >= data._n - 1:"
        ),
        Mutant("moves are planned and not made", r", partial\(put, writes\)\)", ",)"),
    ),
    module(
        "_runtime/policies/packed.py",
        KIN,
        Mutant(
            "families are not told of a sort",
            r"moves = self\._plan_moves\(src, dst\)",
            "moves = ()",
        ),
    ),
    module(
        "_runtime/policies/links.py",
        KIN,
        Mutant("depths are those of parents", r"depth \+= depth\.take\(up\)", "pass"),
        Mutant("grandchildren stay", r"marked \|= marked\.take\(up\)", "pass"),
        Mutant("rows are below none", r"return row == ancestor", "return False"),
    ),
)
