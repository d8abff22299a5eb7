"""Ways to break what `orphans_root` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "orphans_root",
        Mutant(
            "the children of a row that goes keep it as their parent",
            r"( +)self\._release_children\(row\)",
            r"\1pass",
        ),
    ),
    module(
        "_runtime/policies/hierarchy.py",
        ("test_kin.py",),
        Mutant("only the first child becomes a root", r"child = following$", "child = NIL"),
        Mutant(
            "a child that becomes a root keeps its siblings",
            r"data\._(next|previous)_sibling_cells\[child\] = (NIL|child)$",
            "pass",
        ),
        Mutant(
            "the children of rows that go are not looked for",
            r"= self\._orphans\(gone\) if .*",
            "= gone[:0]",
        ),
    ),
    module(
        "_runtime/policies/links.py",
        ("test_kin.py",),
        Mutant("nobody linked means no orphans", r"not len\(orphans\)$", "True"),
        Mutant("orphans keep their parents", r"^( +)writes \+= roots\(links, chains.*", r"\1pass"),
        Mutant("orphans that go are roots", r"staying = orphans\[.*\]", "staying = orphans"),
    ),
    module(
        "_runtime/policies/links.py",
        ("test_crew.py",),
        Mutant("orphans are roots in their old places", r"chains\.after\(staying\)", "staying"),
    ),
)
