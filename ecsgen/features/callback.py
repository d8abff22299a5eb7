"""destroy: callback: the entity manager says at once which entities died."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="callback",
    applies=lambda c: c.owner == "entity" and c.destroy == "callback",
    mutants=(
        Mutant("nobody tells who died", r"self\._entities\._attach\(.*\)", "pass"),
        Mutant(
            "only the first of the dead goes",
            r"self\.remove_many\(entities\)",
            "self.remove_many(entities[:1])",
        ),
    ),
)
