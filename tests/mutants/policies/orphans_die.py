"""Ways to break what `orphans_die` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "orphans_die",
        Mutant(
            "a row goes without its descendants",
            r"( +)return self\._destroy_rows\(np\.array\(\[row\]\)\)\n(?! +with|.*_followed)",
            r"\1pass\n",
        ),
    ),
    module(
        "_runtime/policies/children.py",
        ("test_limb.py", "test_spore.py"),
        Mutant("nobody dies", r"partial\(self\._let_die, orphans\)", "tuple"),
        Mutant(
            "whoever owns a topmost row dies, too",
            r"_difference\(owners\[is_below\], owners\[~is_below\]\)",
            "np.unique(owners)",
        ),
        Mutant("the dead die again", r"orphans = orphans\[self\..*\]$", "pass"),
        Mutant("nobody can refuse", r"self\._entities\._callbacks\.check\(\)", "pass"),
        Mutant(
            "deaths in callbacks are refused",
            r"if len\(orphans\) and not self\._dispatch\.running:",
            "if len(orphans):",
        ),
    ),
)
