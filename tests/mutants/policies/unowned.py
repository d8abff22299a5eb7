"""Ways to break what `unowned` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "unowned",
        Mutant(
            "the slot is returned as the id",
            r"return Id\(data\._id_generation_cells\[_taken\] << SLOT_BITS \| _taken\)",
            "return Id(_taken)",
        ),
        Mutant(
            "ids of many are those of the first slots",
            r"(return|ids =) ids_of\(taken, ",
            r"\1 ids_of(np.arange(count), ",
        ),
    ),
    module(
        "_runtime/policies/unowned.py",
        ("test_texture.py", "test_spark.py"),
        Mutant(
            "counts are not checked", r"count = whole_count\(.*, count\)", "count = index(count)"
        ),
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
        Mutant("a lock is not respected", r"if self\._locks:$", "if False:"),
    ),
    module(
        "_runtime/policies/unowned.py",
        ("test_rumour.py",),
        Mutant("many have no room", r"self\._reserve_rows\(.*\)", "pass"),
    ),
)
