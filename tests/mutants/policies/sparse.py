"""Ways to break what `sparse` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "sparse",
        Mutant("the map is not told", r"^( +)self\._sparse(?:_cells)?\[.*\] = .*", r"\1pass"),
        Mutant("the owner is not checked", r" or self\.data\._entity_cells\[row\] != entity:", ":"),
        Mutant(
            "the dead stay",
            r"if _found != NIL and data\._entity_cells\[_found\] != entity:",
            "if False:",
        ),
        Mutant("the dead among many stay", r"if len\(dead\):", "if False:"),
        Mutant("the map does not grow", r"if _map is not None:", "if False:"),
        Mutant(
            "the map is too short for many",
            r"highest >= len\(self\._sparse\)",
            "highest > len(self._sparse)",
        ),
        Mutant("the highest index is cut off", r"int\(owners\.max\(\)\) \+ 1", "int(owners.max())"),
        Mutant("saving loses the map", r'state\["sparse"\]\.copy\(\)', "sparse_map(64)"),
    ),
)
