"""Ways to break what `index` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "index",
        Mutant("a new row is not noted", r"data\._note_row\(row\)"),
        Mutant("new rows are not noted", r"data\._note_rows\(rows\)"),
        Mutant("a moved row is found in its old place", r"data\._note_row\(dst\)"),
    ),
    module(
        "_runtime/managers/policies/index.py",
        ("test_berth.py", "test_contact.py", "test_crew.py"),
        Mutant("rows beside the sorted ones are not found", r"if len\(noted\):", "if False:"),
        Mutant(
            "noted rows are found as they were", r"~np\.frombuffer\(self\._flags.*\[rows\] & ", ""
        ),
        Mutant("rows behind the last one are found", r" & \(rows < data\.n\)", ""),
        Mutant(
            "a bulk write keeps the order",
            r"index\.forget\(\)\n( +index\.column\[:bound\])",
            r"pass\n\1",
        ),
        Mutant("a written row is not noted", r"index\.note\(row\)"),
        Mutant("the index is no memory", r" \+ sum\(i\.nbytes .*\)", ""),
    ),
)
