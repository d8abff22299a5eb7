"""Ways to break what `direct` does."""

from tests.mutants._base import CHECKED_AGAIN, Mutant, managers, module

GROUPS = (
    managers(
        "direct",
        Mutant("an instance is not counted", r"data\._count \+= ", "data._count += 0 * "),
        Mutant("one that goes is still counted", r"data\._count -= ", "data._count -= 0 * "),
        Mutant("the end is not found again", r"data\._n = end$", "pass"),
        Mutant("the end is searched one row too late", r"if row == end - 1:", "if row == end:"),
        Mutant("a hole keeps its owner", r"(?<=\])( = NULL_ENTITY)$", " = 1"),
        Mutant("the dead stay in place", r"if _owner != NULL_ENTITY:", "if False:"),
        Mutant("the end does not grow", r"data\._n = row \+ 1$", "data._n = row"),
        Mutant("the end moves back", r"if row >= data\._n:", "if True:"),
        Mutant(
            "a full buffer does not count as full",
            r"row >= data\._allocated",
            "row > data._allocated",
        ),
        Mutant(
            "holes are taken for rows",
            rf" and data\._entity_cells\[row\]\):{CHECKED_AGAIN}",
            "):",
        ),
    ),
    module(
        "_runtime/policies/direct.py",
        ("test_transform.py", "test_tile.py"),
        Mutant("the dead stay in place of many", r"return np\.sort\(dead\)", "return NO_ROWS"),
        Mutant(
            "the highest index has no room",
            r"needed > data\._allocated",
            "needed > data._allocated + 1",
        ),
        Mutant("other owners are found", r"data\._entity_cells\[row\] == entity and ", ""),
        Mutant("no entity is found in holes", r" and entity:", ":"),
        Mutant("holes are taken for rows", r" and data\._entity_cells\[row\]\):", "):"),
        Mutant(
            "holes among many are taken for rows",
            r"if np\.logical_or\.reduce\(holes\):",
            "if False:",
        ),
        Mutant("rows are taken as given", r"present_rows\(rows, .*\)", "np.asarray(rows, np.intp)"),
        Mutant("the last owner is missed", r"int\((\w+)\[-1\]\) \+ 1", r"int(\1[-1])"),
        Mutant(
            "clearing spares the last row",
            r"(def _used_rows.*\n +return .*)$",
            r"\1[:-1]",
        ),
        Mutant("holes have owners", r"owners\[owners != NULL_ENTITY\]", "owners"),
        Mutant("the alive are collected", r"~alive", "alive"),
        Mutant("holes are collected", r" & \(owners != NULL_ENTITY\)", ""),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant("the end is one row too low", r"^( +)return end$", r"\1return end - 1"),
        Mutant("near rows are looked at one too high", r"if cells\[end - 1\]:", "if cells[end]:"),
        Mutant(
            "the search begins one row too far down",
            r"\[: max\(row - NEAR, 0\)\]",
            "[: max(row - NEAR - 1, 0)]",
        ),
        Mutant("steps of the search leave rows out", r"start \+ 1 - SCAN", "start + 2 - SCAN"),
        Mutant(
            "the only one left is forgotten",
            r"len\(gone\) == data\._count:",
            "len(gone) >= data._count - 1:",
        ),
        Mutant(
            "the last row is taken for one that goes",
            r"if gone\.item\(-1\) < data\._n - 1:",
            "if gone.item(-1) < data._n - 2:",
        ),
        Mutant(
            "owners between rows that go are passed over",
            r"left\[-1\] == end - 1",
            "left[-1] <= end - 1",
        ),
        Mutant(
            "rows that go are found as the last owner",
            r"owners\[gone\[: gone\.searchsorted\(end\)\]\] = NULL_ENTITY",
            "pass",
        ),
        Mutant(
            "a new index among many makes all new",
            r"entities\)\.min\(\) >=",
            "entities).max() >=",
        ),
        Mutant("the last row counts as new", r"\.min\(\) >= self\.data\._n\b", r"\g<0> - 1"),
        Mutant("holes go once more", r"\(owners != NULL_ENTITY\) & (?=\()", ""),
    ),
    module(
        "_runtime/policies/instances.py",
        ("test_transform.py", "test_tile.py"),
        Mutant("repeated entities are accepted", r"first_repeated\(.*\)", "pass"),
        Mutant("second instances of many are accepted", r"first_present\(.*\)", "pass"),
        Mutant(
            "a repeated entity is removed twice",
            r"return np\.unique\(rows\) if .* else rows",
            "return rows",
        ),
    ),
)
