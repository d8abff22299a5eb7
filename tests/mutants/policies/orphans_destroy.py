"""Ways to break what `orphans_destroy` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "orphans_destroy",
        Mutant(
            "a row goes without its descendants",
            r"( +)return self\._destroy_rows\(np\.array\(\[row\]\)\)",
            r"\1pass",
        ),
    ),
    module(
        "_runtime/policies/hierarchy.py",
        ("test_rumour.py",),  # callbacks are told in the same place, and it has none
        Mutant("rows go without their descendants", r"(_FOLLOWED: .*) = True", r"\1 = False"),
    ),
    module(
        "_runtime/policies/links.py",
        ("test_scene_node.py",),
        Mutant(
            "only children go, not theirs",
            r"^            return np\.sort\(",
            "            return np.sort(rows) if len(found) > 2 else np.sort(",
        ),
        Mutant(
            "rows that go already send their children again",
            r"here\[~among\(here, rows, n\)\]",
            "here",
        ),
    ),
)
