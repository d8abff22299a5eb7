"""Ways to break what every manager has."""

from tests.mutants._base import Mutant, every_manager

# Not where the fields' accessors, called at once, check it again.
ROW_CHECK = r"not 0 <= row < data\._n:(?!\n.*\n +return \w+\(\s*self\.)"

GROUPS = (
    every_manager(
        Mutant("a change is not counted", r"self\._version \+= 1$", "pass"),
        Mutant(
            "a lock is not respected",
            r"if self\._locks:$",
            "if False:",
        ),
        Mutant(
            "a lock ends with an inner one",
            r"(?<=yield\n        finally:\n            )self\._locks -= 1",
            "self._locks = 0",
        ),
        # Slots fill up with the rows, so where there are ids, these grow as well.
        Mutant(
            "the full buffer does not count as full",
            r"data\._n == data\._allocated:(?![\s\S]*_slots)",
            "data._n == -1:",
        ),
        Mutant("it grows a row too early", r"== data\._allocated:$", "== data._allocated - 1:"),
        Mutant("it grows too early for many", r"needed = data\._n \+ ", "needed = data._n + 1 + "),
        Mutant(
            "it grows by little",
            r"grown_capacity\(data\._allocated, (data\._n|needed)",
            r"grown_capacity(0, \1",
        ),
        Mutant("a default has another word", r"= word\((\w+), (\w+)\)$", r"= word(\1, \2) ^ 1"),
        Mutant("two columns lie at the same place", r"(cut\(buffer, COLUMNS)\[2\]", r"\1[1]"),
        Mutant("cells are read at a wrong stride", r"\b\d+ \* row", "4 * row"),
        Mutant("rows are lost when the buffer moves", r"copy_rows\(.*\)", "pass"),
        Mutant("held views are not reported", r"warn_if_viewed\(.*\)", "pass"),
        Mutant(
            "arguments count as held views",
            r"MANAGER, borrowed\)(?=[\s\S]*def set_)",
            "MANAGER, ())",
        ),
        Mutant("saving loses the version", r'= state\["version"\]', "= 0"),
        Mutant("saving loses rows", r"data\._load\(.*\)", "pass"),
        Mutant("the opposite of having", r"lookup\(entity\) != NIL$", "lookup(entity) == NIL"),
        Mutant("what is missing is not reported", r"raise missing\(MANAGER, entity\)", "pass"),
        Mutant("the missing among many are not reported", r"first_missing\(.*\)", "pass"),
        Mutant(
            "a fitting reserve moves rows", r"rows > data\._allocated", "rows >= data._allocated"
        ),
        Mutant("shrinking changes nothing", r"capacity < data\._allocated", "capacity < 0"),
        Mutant("repeated rows are accepted", r"distinct\(given, .*, MANAGER\)", "np.unique(given)"),
        Mutant(
            "rows outside are accepted", r"rows_in_use\(rows, .*\)", "np.asarray(rows, np.intp)"
        ),
        Mutant(
            "the row behind the last is accepted",
            ROW_CHECK,
            "not 0 <= row <= data._n:",
        ),
        Mutant(
            "the first row is not checked for being negative",
            ROW_CHECK,
            "row >= data._n:",
        ),
    ),
)
