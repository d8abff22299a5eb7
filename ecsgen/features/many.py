"""instances: many: the rows of an entity form a list through next and previous columns.

Bitsquid leaves the list "as an exercise". It is circular backwards: the first row's `previous`
cell holds the last row, so that appending is O(1) and a row is the first exactly if
next[previous[row]] is NIL.
"""

from ecsgen.columns import Column
from ecsgen.features._base import Feature, Mutant
from ecsgen.model import Component


def _columns(component: Component) -> tuple[Column, ...]:
    return (
        Column("next", "u32", doc="The entity's next row, or NIL.", holds_rows=True),
        Column(
            "previous",
            "u32",
            doc="The entity's previous row; the first row's is the last.",
            holds_rows=True,
        ),
    )


FEATURE = Feature(
    name="many",
    applies=lambda c: c.instances == "many",
    order=20,
    roles=("instances",),
    columns=_columns,
    mutants=(
        Mutant("a link is not set", r"^( +)(?:nexts|previous)\[.+\] = .+", r"\1pass"),
        Mutant("every row counts as the first", r"if nexts\[before\] == NIL:", "if True:"),
        Mutant("no row counts as the first", r"if nexts\[before\] == NIL:", "if False:"),
        Mutant(
            "the last row counts as before the first",
            r"NIL if data\._next_cells\[before\] == NIL else ",
            "",
        ),
        Mutant("new rows do not join the old", r"^( +)join\(.*\)", r"\1pass"),
        Mutant(
            "rows leave in the order of the list",
            r"np\.sort\(self\._rows_from\(first\)\)",
            "self._rows_from(first)",
        ),
        Mutant("the list is not told of moves", r"^( +)self\._relink_rows?\(.*\)", r"\1pass"),
        Mutant("the list is not told who goes", r"^( +)self\._unlink_rows?\(.*\)", r"\1pass"),
        Mutant("the only row is not recognised", r"if before == row:", "if False:"),
    ),
)
