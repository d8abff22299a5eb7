"""Ways to break what `unowned_children` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "unowned_children",
        Mutant("a new row has no parent", r"if parent is not NIL:", "if False:"),
        Mutant("new rows have no parents", r"if parents is not NIL:", "if False:"),
    ),
)
