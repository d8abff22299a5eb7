"""owner: none: a packed array on its own; its rows are reached by id (Molecule's packed array)."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="unowned",
    applies=lambda c: c.owner == "none",
    order=5,
    roles=("owner",),
    mutants=(
        Mutant(
            "the slot is returned as the id",
            r"return Id\(data\._id_generation_cells\[_taken\] << SLOT_BITS \| _taken\)",
            "return Id(_taken)",
        ),
        Mutant(
            "ids of many are those of the first slots",
            r"return ids_of\(taken, ",
            "return ids_of(np.arange(count), ",
        ),
        Mutant("counts are not checked", r"count = whole_count\(MANAGER, count\)", "pass"),
        Mutant(
            "whatever is a number is contained",
            r"is_integer\(id\) and .* != NIL$",
            "is_integer(id)",
        ),
        Mutant(
            "ids come in another order",
            r"self\.id_of_many\(np\.arange\(self\.data\._n\)\)",
            "self.id_of_many(np.arange(self.data._n)[::-1])",
        ),
    ),
)
