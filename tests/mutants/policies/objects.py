"""Ways to break what `objects` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "objects",
        Mutant("objects are kept", r"^( +)data\._\w+_column\[.*\] = None", r"\1pass"),
        Mutant(
            "objects do not count as memory",
            r"^( +)total \+= self\.data\._\w+_column\.nbytes",
            r"\1pass",
        ),
    ),
)
