"""Ways to break what `queries` does."""

from tests.mutants._base import Mutant, module, world

GROUPS = (
    world(
        "queries",
        Mutant("a first instance is any", r"QueryListMember\(", "QueryMember("),
        Mutant("those that it must not have do not matter", r"none_of=\(.*\),", "none_of=(),"),
        Mutant(
            "those that it may have do not matter",
            r"any_of=\((?:.*|[\s\S]*?\n +)\),",
            "any_of=(),",
        ),
        Mutant("columns of another member", r"Columns\(self\._join, 1\)", "Columns(self._join, 0)"),
    ),
    module(
        "_runtime/queries/query.py",
        ("test_world.py",),
        Mutant("a length of nothing", r"return self\._join\.count\(\)", "return 0"),
        Mutant(
            "clauses are mixed up", r"any_of, none_of, optional\)", "none_of, any_of, optional)"
        ),
    ),
    module(
        "_runtime/queries/base.py",
        ("test_world.py",),
        Mutant("rows of a class without fields", r"partial\(tuple\.__new__, self\._ROW\)", "tuple"),
        Mutant("arrays of a class without fields", r"tuple\.__new__\(self\._ROWS, ", "tuple("),
    ),
    module(
        "_runtime/queries/join.py",
        ("test_world.py",),
        Mutant("queries do not see deaths", r"state\.append\(self\._entities\._deaths\)", "pass"),
        Mutant("queries see the dead", r"match\.keep\(self\._entities\.alive_many\(.*\)\)", "pass"),
        Mutant("unions have entities twice", r"match\.drop\(earlier\)", "pass"),
    ),
    module(
        "_runtime/queries/members.py",
        ("test_world.py",),
        Mutant(
            "queries do not forget who is alive", r"if deaths != self\._deaths:", "if not deaths:"
        ),
        Mutant(
            "queries take everybody for alive",
            r"frozenset\(\s+member for member in self\._members if .*\s+\)",
            "frozenset(self._members)",
        ),
        Mutant("owners are not compared", r"and _equal\(owners\[rows\], entities\)", ""),
        Mutant(
            "a query begins with all instances", r"return first_rows\(.*\)", "return slice(0, n)"
        ),
        Mutant(
            "rows in step pass for first instances",
            r"(first row of each entity, NIL .*\n +)return self\.manager\.lookup_many\(entities\)",
            r"\1return super().find(entities, all_live)",
        ),
    ),
    module(
        "_runtime/queries/rows.py",
        ("test_world.py",),
        Mutant("absent rows make a slice", r" or rows\[0\] == NIL:", ":"),
        Mutant("cells are put in other places", r"(np\.put\(out, )(self\.places)", r"\1\2[::-1]"),
        Mutant("pieces with gaps are a slice", r"== len\(pieces\) and follows:", "== len(pieces):"),
    ),
)
