"""Ways to break `on_delete`."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime/managers/policies/references.py",
        ("test_status_effect.py",),
        Mutant("nobody is cleared", r"self\._clear\(name, rows\)$"),
        Mutant("who refers to the dead stays", r"np\.union1d\(removed, rows\)", "removed"),
        Mutant("the living are cleared", r"dead = ~known_entities", "dead = known_entities"),
        Mutant("0 counts as dead", r"^        dead &= handles != 0\n", ""),
        Mutant("cold fields are not cleared", r"^            cells\[np\.isin.*= 0$"),
        Mutant(
            "fields are cleared to another entity",
            r"_column\"\)\[rows\] = 0",
            '_column")[rows] = 1',
        ),
        Mutant("an index is not told", r"if is_indexed or \(", "if ("),
        Mutant(
            "others that have died before count, too",
            r"died\[died\] = np\.isin\(handles\[died\], entities\)",
            "pass",
        ),
        Mutant("nothing follows a death", r"self\._follow_deaths\(entities\)$"),
    ),
)
