"""lookup: hash: a dict from whole handle to row, for rare components (Bitsquid's choice)."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="hash",
    applies=lambda c: c.owner == "entity" and c.lookup == "hash",
    order=10,
    roles=("map",),
    mutants=(
        Mutant("the map is not told", r"^( +)self\._rows\[.*\] = .*", r"\1pass"),
        Mutant("the map does not forget", r"^( +)del self\._rows\[.*\]", r"\1pass"),
        Mutant("the map is not told of many", r"^( +)remember\(.*\)", r"\1pass"),
        Mutant("the map does not forget many", r"^( +)forget\(.*\)", r"\1pass"),
        Mutant("saving loses the map", r'dict\(state\["rows"\]\)', "{}"),
    ),
)
