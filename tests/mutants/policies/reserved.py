"""Ways to break what `reserved` does."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime/managers/policies/growth.py",
        ("test_tile.py",),
        Mutant(
            "one row more than reserved",
            r"raise CapacityError\(\s+f\"\{self\.MANAGER\} is full.*\s+\)",
            "return False",
        ),
        Mutant(
            "pages of rows in use are given back", r"give_back\((.*), rows\)", r"give_back(\1, 0)"
        ),
        Mutant("nothing is given back", r"(?<!def )\bgive_back\(.*\)"),
        Mutant(
            "the whole reserve counts as memory",
            r"self\._held_rows_of\(c\.name\) for",
            "self._allocated for",
        ),
        Mutant(
            "generations of holes are given back",
            r"rows = self\._held_rows_of\(column\.name\)",
            "rows = self._n",
        ),
        Mutant(
            "pages of the last row are given back",
            r"first = -\(-(.*) // mmap",
            r"first = (\1 // mmap",
        ),
    ),
)
