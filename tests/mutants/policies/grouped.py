"""Ways to break what `grouped` does."""

from tests.mutants._base import Mutant, managers, module

MEMBERS = ("test_world.py::TestBodiesGroup", "test_world.py")

GROUPS = (
    managers(
        "grouped",
        Mutant("mates do not let one leave", r"member\._leave_group\(row\)"),
        Mutant("who has all does not join", r"row = self\._join_group\(row, entity\)"),
        Mutant("many that have all do not join", r"rows = self\._join_group_many\(.*\)"),
        Mutant("the group stays when a row goes", r"data\._n_grouped = row = last", "row = last"),
        Mutant("a swap is half a swap", r"self\._move\(spare, second\)"),
        Mutant(
            "grouped columns are whole columns",
            r"(data\._\w+_column)\[: data\._n_grouped\]",
            r"\1[: data._n]",
        ),
        in_world=True,
    ),
    module(
        "_runtime/world/groups.py",
        MEMBERS,
        Mutant("mates do not let many leave", r"leave\(\)$"),
        Mutant("mates let go whom they do not know", r"rows\[: rows\.searchsorted\(.*\)\]", "rows"),
        Mutant("the group stays when rows go", r"self\.data\._n_grouped = boundary$"),
        Mutant("holes of the group are filled from behind it", r"data\._n_grouped,", "data._n,"),
        Mutant("the group does not count who enters", r"data\._n_grouped = last \+ 1"),
        Mutant(
            "the group does not count the many who enter",
            r"(self\._plan_moves\(src, dst\)\)\n +)self\.data\._n_grouped = boundary",
            r"\1pass",
        ),
        Mutant("the group still counts who left", r"data\._n_grouped = last$"),
        Mutant(
            "the group still counts the many who left",
            r"(?:self\.)?data\._n_grouped = (?:start|boundary)$",
        ),
        Mutant("rows stay where they are", r"self\._swap\(row, last.*\)"),
        Mutant("mates do not count the change", r"member\.data\._version \+= 1"),
        Mutant("a lock is for one alone", r"member\._locks = 1"),
        Mutant("mates' locks are forgotten", r"in members\)\)", "in members[:1]))"),
        Mutant(
            "members are sorted on their own", r"if self\._other_members:(?=\n +raise)", "if False:"
        ),
        Mutant("loading finds no mates", r"self\.data\._n_grouped = n$"),
        Mutant("who lacks a mate joins", r"if member\.lookup\(entity\) == NIL:", "if False:"),
        Mutant(
            "columns are those of a mate that moves",
            r"if not self\._other_members:\n +return super.*",
            "return columns",
        ),
        Mutant("mates do not let many enter", r"enter\(\)$"),
        Mutant("where rows joined is not told", r"moved\(rows\), end", "rows, end"),
        Mutant("the first rows join", r"rows\[joining\], ", "rows[: len(joining)], "),
        Mutant("all new rows join", r"start \+ len\(joining\)", "start + len(rows)"),
        Mutant(
            "many stay where they are",
            r"self\._move_many\(src, dst, (?:moves|self\._plan_moves\(src, dst\))\)",
        ),
        Mutant(
            "rows enter in an order of their own",
            r"joined_at\(rows_of_member, ",
            "joined_at(rows_of_member[::-1], ",
        ),
        Mutant("a change is not counted", r"self\.data\._version \+= 1$"),
        Mutant("mates go on when one breaks", r"mark_broken\(member(?:\.data)?\)"),
    ),
)
