"""Ways to break what `ring` does."""

from tests.mutants._base import Mutant, managers, module

RINGS = ("test_footprint.py", "test_rumour.py", "test_echo.py")

GROUPS = (
    managers(
        "ring",
        Mutant("the ring is larger", r"(MAX_ROWS: ClassVar) = \d+", r"\1 = 10_000"),
        Mutant("a full ring makes no room", r"if data\._n == data\.MAX_ROWS:", "if False:"),
        Mutant("new rows have no age", r"data\._add_newest(_rows)?\(.*\)"),
        Mutant("a row that goes keeps its age", r"data\._unlink_from_ring\(.*\)"),
        Mutant("ages do not follow a row", r"data\._relink_in_ring\(.*\)"),
    ),
    module(
        "_runtime/managers/policies/ring.py",
        RINGS,
        Mutant("a link is not set", r"^( +)(?:newer|older)\[.+\] = .+", r"\1pass"),
        Mutant("the oldest stays", r"self\.(data\.)?_oldest = (?!NIL).+"),
        Mutant("the chain is not mended", r"apply_writes, chain\.writes", "apply_writes, []"),
        Mutant("who moves keeps no neighbours", r"chain\.follow\(.*\)"),
        Mutant("a full ring grows", r"if self\._n < self\.MAX_ROWS:.*", "if True:"),
        Mutant(
            "room for rows that never come", r"min\(count, self\.MAX_ROWS - self\._n\)", "count"
        ),
        Mutant("any number at once", r"if count > most:", "if False:"),
        Mutant("one too many goes", r"over = (.+)$", r"over = \1 + 1"),
        Mutant("one too few goes", r"over = (.+)$", r"over = \1 - 1"),
        Mutant("worn out ids make room", r"self\.data\.reserve_rows\(.*\).*"),
        Mutant("rows go by age", r"return np\.sort\((.+)\)", r"return \1"),
    ),
    module(
        "_runtime/managers/policies/ring.py",
        ("test_foam.py",),
        Mutant("who goes with the dead makes no room", r"removed = self\._with_cascaded\(.*\)"),
        Mutant("the dead count twice", r"oldest\[~np\.isin\(oldest, removed\)\]", "oldest"),
        Mutant("only the dead go", r"oldest = np\.concatenate\(.*\)", "oldest = removed"),
        Mutant("only the oldest go", r"oldest = np\.concatenate\(.*\)", "oldest = removed"),
    ),
    module(
        "_runtime/managers/policies/hierarchy.py",
        ("test_foam.py", "test_rumour.py"),
        Mutant(
            "parents are not followed by who makes way",
            r"if self\._tracked_parents is None:\n( +super)",
            r"if True:\n\1",
        ),
    ),
)
