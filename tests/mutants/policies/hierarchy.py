"""Ways to break what `hierarchy` does, with and without owners, and what becomes of orphans."""

from tests.mutants._base import Mutant, managers, module

KIN = ("test_kin.py", "test_scene_node.py")
OWNED_KIN = ("test_kin.py", "test_scene_node.py", "test_limb.py")

GROUPS = (
    managers(
        "hierarchy",
        Mutant("the family is not told of a move", r"self\._relink_hierarchy\(src, dst\)"),
        Mutant(
            "a row that goes stays among its siblings",
            r"(if data\._parent_cells\[row\] != NIL:\n +)self\._detach_from_parent\(row\)",
            r"\1pass",
        ),
        Mutant(
            "a new row has its predecessor's family",
            r"data\._(?:parent|first_child|next_sibling)_cells\[row\] = NIL",
        ),
        Mutant(
            "new rows have their predecessors' families",
            r"data\._(?:parent|first_child|next_sibling)_column\[span\] = NIL",
        ),
    ),
    module(
        "_runtime/managers/policies/hierarchy.py",
        KIN,
        Mutant("children are not told that their parent moved", r"self\._tell_children\(.*\)"),
        Mutant("many children are not told that their parent moved", r"column\[.*\] = dst"),
        Mutant("a link is not set", r"(?:nexts|previous|firsts)\[.+\] = .+"),
        Mutant(
            "a row that gets another parent stays among its siblings",
            r"(if parents\[row\] != NIL:\n +)self\._detach_from_parent\(row\)",
            r"\1pass",
        ),
        Mutant(
            "a child is not attached behind the last",
            r"nexts\[last\] = row\n( +)previous\[row\] = last\n( +)previous\[first\] = row",
            r"nexts[first] = row\n\1previous[row] = first\n\2previous[first] = row",
        ),
        Mutant(
            "cycles through descendants are not seen", r"parent == row or \(.*\)\)", "parent == row"
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
        Mutant("parents can be overwritten", r"read_only(\(.*\))", r"\1"),
        Mutant("all but one count as all", r"if len\(removed\) < n:", "if len(removed) < n - 1:"),
        Mutant("moves are planned and not made", r", partial\(apply_writes, writes\)\)", ",)"),
    ),
    module(
        "_runtime/managers/policies/chains.py",
        KIN,
        # Whether they go after an error, tests/policies/test_faults.py looks.
        Mutant("parents that were tried stay", r"column\[rows\] = before(?=\n +return)"),
        Mutant(
            "parents of rows that move are not seen", r"^ +and \(owners == NIL\)\.all\(\)\n", ""
        ),
        Mutant(
            "children of rows that move are not seen",
            r"^ +and \(links\.first\[src\] == NIL\)\.all\(\)\n",
            "",
        ),
        Mutant(
            "parents of rows that go are not seen",
            r"^ +and \(links\.parents\[removed\] == NIL\)\.all\(\)\n",
            "",
        ),
        Mutant(
            "roots that move are others' siblings", r"return plan_roots\(links, dst\)", "return []"
        ),
        Mutant(
            "parents that go are told who leaves them",
            r"removed\[\(above != NIL\) & .*\]",
            "removed[above != NIL]",
        ),
        Mutant("rows keep parents that go", "has_parent &= .*"),
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
        Mutant("rows that go stay among their siblings", r"^ +\*_left_parents\(.*\),\n", ""),
        Mutant("moved first children are not known", r"^ +\(links\.first, parents.*\),\n", ""),
        Mutant("moved last children are not known", r"^ +\(links\.previous, heads.*\),\n", ""),
        Mutant(
            "roots that move in bulk are others' siblings",
            r"^ +\*plan_roots\(links, dst\[.*\),\n",
            "",
        ),
        Mutant(
            "children are not told that their parents move", r"^ +\*_plan_new_parents\(.*\),\n", ""
        ),
        Mutant(
            "parents that move are told in their old places", r"chains\.moved\(owners\),", "owners,"
        ),
        Mutant(
            "rows stay with their former parents",
            r"writes = \[\*_left_parents\(.*\)\]",
            "writes = []",
        ),
        Mutant("first children are not known", r", \(links\.first, owners\[alone\], .*\)\]", "]"),
        Mutant("children join those that leave", r"= chains\.after\(before\)", "= before"),
        Mutant("children do not join others", r"writes \+= joined\(.*\)"),
        Mutant("rows become no roots", r"writes \+= plan_roots\(links, rows\[rooted\]\)"),
        Mutant("depths are those of parents", r"depth \+= depth\.take\(up\)"),
        Mutant("grandchildren stay", r"marked \|= marked\.take\(up\)"),
        Mutant("rows are below none", r"return row == ancestor", "return False"),
    ),
    module(
        "_runtime/managers/policies/packed.py",
        KIN,
        Mutant(
            "families are not told of a sort",
            r"_many, src, dst, self\._plan_moves\(src, dst\)",
            "_many, src, dst, ()",
        ),
    ),
    managers(
        "owned_children",
        Mutant("a new row has no parent", r"if parent is not NIL:", "if False:"),
        Mutant("new rows have no parents", r"if parents is not NIL:", "if False:"),
    ),
    module(
        "_runtime/managers/policies/hierarchy.py",
        OWNED_KIN,
        Mutant("any number is a parent", r"if 0 <= number < self\.data\.n:", "if True:"),
        Mutant("parents are not followed", r"\(\*planned, follow\)", "planned"),
        Mutant("who made room is its own child", r"if above == row:", "if False:"),
        Mutant("no change is counted", r"data\._version \+= 1"),
        Mutant("parents that go are taken", r"if len\(lost_parents\):", "if False:"),
        Mutant("a dead entity does not count for more", r"self\._entities\.require\(entity\)"),
    ),
    managers(
        "unowned_children",
        Mutant("a new row has no parent", r"if parent is not NIL:", "if False:"),
        Mutant("new rows have no parents", r"if parents is not NIL:", "if False:"),
    ),
    managers(
        "orphans_root",
        Mutant(
            "the children of a row that goes keep it as their parent",
            r"self\._release_children\(row\)",
        ),
    ),
    module(
        "_runtime/managers/policies/hierarchy.py",
        ("test_kin.py",),
        Mutant("only the first child becomes a root", r"child = following$", "child = NIL"),
        Mutant(
            "a child that becomes a root keeps its siblings",
            r"data\._(next|previous)_sibling_cells\[child\] = (NIL|child)$",
        ),
        Mutant(
            "the children of rows that go are not looked for",
            r"= self\._orphans\(removed\) if .*",
            "= removed[:0]",
        ),
    ),
    module(
        "_runtime/managers/policies/chains.py",
        ("test_kin.py",),
        Mutant("nobody linked means no orphans", r"not len\(orphans\)$", "True"),
        Mutant("orphans keep their parents", r"writes \+= plan_roots\(links, chains.*"),
        Mutant("orphans that go are roots", r"staying = orphans\[.*\]", "staying = orphans"),
    ),
    module(
        "_runtime/managers/policies/chains.py",
        ("test_crew.py",),
        Mutant("orphans are roots in their old places", r"chains\.after\(staying\)", "staying"),
    ),
    managers(
        "orphans_destroy",
        Mutant("a row goes without its descendants", r"return self\.destroy_rows\(.*\)\)"),
    ),
    module(
        "_runtime/managers/policies/hierarchy.py",
        ("test_rumour.py",),  # callbacks are told in the same place, and it has none
        Mutant("rows go without their descendants", r"(_CASCADES: .*) = True", r"\1 = False"),
    ),
    module(
        "_runtime/managers/policies/chains.py",
        ("test_scene_node.py",),
        Mutant(
            "only children go, not theirs",
            r"^            return np\.sort\(",
            "            return np.sort(rows) if len(parts) > 2 else np.sort(",
        ),
        Mutant(
            "rows that go already send their children again",
            r"frontier\[~isin_sorted\(.*\)\]",
            "frontier",
        ),
    ),
    managers(
        "orphans_die",
        Mutant(
            "a row goes without its descendants",
            r"( +)return self\.destroy_rows\(np\.array\(\[row\]\)\)\n"
            r"(?! +with|.*_tracked_parents)",
            r"\1pass\n",
        ),
    ),
    module(
        "_runtime/managers/policies/hierarchy.py",
        ("test_limb.py", "test_spore.py"),
        Mutant("nobody dies", r"partial\(self\._dispatch\.queue\.append, orphans\)", "tuple"),
        Mutant(
            "whoever owns a topmost row dies, too",
            r"_difference\(owners\[is_below\], owners\[~is_below\]\)",
            "np.unique(owners)",
        ),
        Mutant("the dead die again", r"orphans = orphans\[alive\]$"),
        Mutant("nobody can refuse", r"self\._entities\.callbacks\.check\(\)"),
        Mutant(
            "deaths in callbacks are refused",
            r"if len\(orphans\) and not self\._dispatch\.running:",
            "if len(orphans):",
        ),
    ),
)
