"""instances: one: the map holds the entity's only row."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="one",
    applies=lambda c: c.owner == "entity" and c.instances == "one" and c.lookup != "direct",
    order=20,
    roles=("instances",),
    mutants=(
        Mutant("a second instance is accepted", r"raise duplicate_instance\(.*\)", "pass"),
        Mutant("repeated entities are accepted", r"first_repeated\(.*\)", "pass"),
        Mutant("second instances of many are accepted", r"first_present\(.*\)", "pass"),
        Mutant(
            "a repeated entity is removed twice",
            r"np\.unique\(rows\[rows != NIL\]\)",
            "np.sort(rows[rows != NIL])",
        ),
    ),
)
