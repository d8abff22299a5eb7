"""Ways to break what `direct` does."""

from tests.mutants._base import Mutant, managers, module_of

GROUPS = (
    managers(
        "direct",
        Mutant("an instance is not counted", r"self\._count \+= ", "self._count += 0 * "),
        Mutant("one that goes is still counted", r"self\._count -= ", "self._count -= 0 * "),
        Mutant("the end is not found again", r"data\._n = end$", "pass"),
        Mutant(
            "the end is searched one row too late", r"if row == end - 1:", "if row == end:"
        ),
        Mutant("a hole keeps its owner", r"(?<=\])( = NULL_ENTITY)$", " = 1"),
        Mutant("the dead stay in place", r"if _owner != NULL_ENTITY:", "if False:"),
        Mutant(
            "the dead stay in place of many",
            r"self\._destroy_rows\(np\.sort\(used\[.*\]\)\)",
            "pass",
        ),
        Mutant("the end does not grow", r"data\._n = row \+ 1$", "data._n = row"),
        Mutant("the end moves back", r"if row >= data\._n:", "if True:"),
        Mutant(
            "a full buffer does not count as full",
            r"row >= data\._allocated",
            "row > data._allocated",
        ),
        Mutant(
            "the highest index has no room",
            r"needed > data\._allocated",
            "needed > data._allocated + 1",
        ),
        Mutant("other owners are found", r"data\._entity_cells\[row\] == entity and ", ""),
        Mutant("no entity is found in holes", r" and entity:", ":"),
        Mutant("holes are taken for rows", r"\s+or not data\._entity_cells\[row\]", ""),
        Mutant("rows are taken as given", r"present_rows\(rows, .*\)", "np.asarray(rows, np.intp)"),
    ),
    module_of(
        "direct",
        "_runtime.py",
        Mutant("the last owner is missed", r"int\(used\[-1\]\) \+ 1", "int(used[-1])"),
    ),
)
