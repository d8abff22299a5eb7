"""Ways to break what `reserved` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "reserved",
        Mutant("one row more than reserved", r"raise beyond_reserve\(MANAGER, .*\)", "pass"),
        Mutant(
            "pages of rows in use are given back",
            r"give_back\((.*), self\._n\)",
            r"give_back(\1, 0)",
        ),
        Mutant(
            "nothing is given back", r"\n +self\._give_back\(\)\n|\n +data\._give_back\(\)\n", "\n"
        ),
        Mutant("a column's pages are kept", r"^( +)give_back\(buffer, COLUMNS\[3\].*", r"\1pass"),
        Mutant("reserve takes any number", r"if rows > self\.data\._allocated:", "if False:"),
    ),
)
