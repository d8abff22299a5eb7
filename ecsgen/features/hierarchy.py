"""hierarchy: parent, first child and siblings of every row (Bitsquid's transform component).

A parent's children are a chain like an entity's instances (see `many`), in order of attachment,
which begins at its `first_child` cell.
"""

from ecsgen.columns import Column
from ecsgen.features._base import Feature, Mutant
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    docs = {
        "parent": "The parent of each row, or NIL.",
        "first_child": "The child attached first, or NIL.",
        "next_sibling": "The sibling attached next, or NIL.",
        "previous_sibling": "The sibling attached before; the first one's is the last.",
    }
    return tuple(Column(name, "u32", doc=doc, holds_rows=True) for name, doc in docs.items())


FEATURE = Feature(
    name="hierarchy",
    applies=lambda c: bool(c.hierarchy),
    order=25,
    columns=_columns,
    mutants=(
        Mutant(
            "children are not told that their parent moved",
            r"( +)self\._tell_children\(src, dst\)",
            r"\1pass",
        ),
        Mutant(
            "a bulk move leaves the hierarchy as it was",
            r"( +)remap_family\(data\._family\(\), src, dst, n\)",
            r"\1pass",
        ),
        Mutant(
            "a row that goes stays among its siblings",
            r"(if data\._parent_cells\[row\] != NIL:\n +)self\._leave_parent\(row\)",
            r"\1pass",
        ),
        Mutant(
            "rows that go in bulk stay among their siblings",
            r"( +)leave_family\(.*\)",
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
            r"levels\(self\.data\.parent, self\._version\)",
            "levels(self.data.parent, 0)",
        ),
    ),
)
