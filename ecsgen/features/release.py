"""release: callbacks see the rows about to go, still readable, on every way out."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="release",
    applies=lambda c: c.release,
    order=90,
    mutants=(
        Mutant("rows go unannounced", r"^( +)self\._release\(.*\)", r"\1pass"),
        Mutant(
            "it is not locked meanwhile",
            r"self\._locks \+= 1(?=\n        try:\n            self\._released)",
            "pass",
        ),
        Mutant(
            "failures come too early or too late", r"with self\._entities\.dispatch:", "if True:"
        ),
        Mutant(
            "callbacks are not kept",
            r"return self\._released\.add\(callback\)",
            "return Callbacks[RowArray]().add(callback)",
        ),
    ),
)
