"""Ways to break what `groups` does."""

from tests.mutants._base import Mutant, module, world

GROUPS = (
    world(
        "groups",
        Mutant("copies forget who is in the group", r", _members, n\)", ", _members, 0)"),
        Mutant(
            "a member's columns are another's",
            r"(\w+GroupedData)\((\w+)\.data\)(?=\n        self)",
            r"\1(\2.__class__(\2._entities).data)",
        ),
    ),
    module(
        "_runtime/world/groups.py",
        ("test_world.py",),
        Mutant("joining rows keep another order", r"rows\[moving\],", "np.sort(rows[moving]),"),
        Mutant("rows in the way are lost", r"rows\[outside\]", "displaced"),
        Mutant("who lacks one mate's rows joins", r"member_rows = \[earlier\[present\] .*\]"),
        Mutant("columns of a group are replaced", r"if hasattr\(self, name\):", "if False:"),
        Mutant("a group is sorted while locked", r"if self\._first\._is_locked\(\):", "if False:"),
        Mutant("others join as well", r"chosen = chosen\[present\]"),
    ),
)
