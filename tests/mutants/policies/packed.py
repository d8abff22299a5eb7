"""Ways to break what `packed` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "packed",
        Mutant(
            "the wrong row fills the hole",
            r"src, dst = data\._n - 1, row",
            "src, dst = data._n - 2, row",
        ),
        Mutant("the last row but one does not move", r"if src != dst:", "if src > dst + 1:"),
        Mutant("the last row stays in use", r"data\._n = src$", "data._n = src + 1"),
        Mutant("a column does not move", r"((self|data)\._\w+\[dst\] = (self|data)\._\w+\[src\])"),
        Mutant("one new row is not in use", r"data\._n = end$", "data._n = end - 1"),
        Mutant("a new row is not in use", r"data\._n = row \+ 1$", "data._n = row"),
    ),
    module(
        "_runtime/managers/policies/packed.py",
        ("test_point_mass.py", "test_particle.py"),
        Mutant(
            "holes take survivors in another order",
            r"(src, dst = placement\.swap_remove_moves\(removed, self\.data\._n\))",
            r"\1; dst = dst[::-1]",
        ),
        Mutant(
            "one row too many is kept", r"data\._n -= len\(removed\)", "data._n -= len(removed) - 1"
        ),
        Mutant(
            "rows are permuted the wrong way",
            r"data\._move_rows\(src, dst\)$",
            "data._move_rows(dst, src)",
        ),
        Mutant("a permutation is not counted", r"self\.data\._version \+= 1$"),
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
        Mutant("it sorts by any field", r"if name not in self\._SORT_KEYS:", "if False:"),
        Mutant(
            "the row behind the last is accepted",
            r"not 0 <= row < self\.data\._n:",
            "not 0 <= row <= self.data._n:",
        ),
        Mutant(
            "the first row is not checked for being negative",
            r"not 0 <= row < self\.data\._n:",
            "row >= self.data._n:",
        ),
    ),
    module(
        "_runtime/tables/placement.py",
        ("test_point_mass.py", "test_every_type.py"),
        Mutant("sorting is not stable", r"kind=\"stable\"", 'kind="heapsort"'),
        Mutant("keys of any length", r"if key\.shape != \(n,\):", "if False:"),
    ),
)
