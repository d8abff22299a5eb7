"""Ways to break what `objects` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "objects",
        Mutant("objects are kept", r"^( +)data\._\w+_column\[.*\] = None", r"\1pass"),
    ),
    module(
        "_runtime/columns/rows.py",
        ("test_skinned_mesh.py",),
        Mutant("objects do not count as memory", r" \+ objects$", ""),
        Mutant(
            "objects are lost when the buffer moves", r"column\[: self\._n\] = getattr\(.*", "pass"
        ),
        Mutant("saving loses objects", r"getattr\(self, name\)\[: self\._n\] = column", "pass"),
        Mutant("objects stay in the old buffer", r"setattr\(self, name, column\)", "pass"),
    ),
)
