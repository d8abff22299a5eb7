"""Ways to break what `objects` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers("objects", Mutant("objects are kept", r"data\._\w+_column\[.*\] = None")),
    module(
        "_runtime/values/field_types.py",
        ("test_skinned_mesh.py",),
        Mutant("lists of any length", r"if len\(value\) != rows:", "if False:"),
        Mutant("a list of another length is one object", r"if len\(value\) != rows", "if not rows"),
        Mutant(
            "tuples are one per row",
            r"isinstance\(value, list\)",
            "isinstance(value, (list, tuple))",
        ),
        Mutant("arrays are one for all", r" and value\.ndim > 0", " and False"),
    ),
    module(
        "_runtime/tables/columns.py",
        ("test_skinned_mesh.py",),
        Mutant("objects do not count as memory", r" \+ objects$", ""),
        Mutant("objects are lost when the buffer moves", r"column\[: self\._n\] = getattr\(.*"),
        Mutant("saving loses objects", r"column\[: self\._n\] = columns.*"),
        Mutant(
            "objects stay in the old buffer",
            r"(?<!columns_before:\n                )setattr\(self, name, column\)",
        ),
    ),
)
