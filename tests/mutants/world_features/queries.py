"""Ways to break what `queries` does, and the columns of queried rows."""

from tests.mutants._base import Mutant, managers, module, world

GROUPS = (
    world(
        "queries",
        Mutant("those that it must not have do not matter", r"none_of=\(.*\),", "none_of=(),"),
        Mutant(
            "those that it may have do not matter", r"any_of=\((?:.*|[\s\S]*?\n +)\),", "any_of=(),"
        ),
        Mutant("columns of another member", r"self\._columns\[1\]", "self._columns[0]"),
    ),
    module(
        "_runtime/managers/policies/instances.py",
        ("test_world.py",),
        Mutant("a first instance is any", r"= QueryListMember$", "= QueryMember"),
    ),
    module(
        "_runtime/world/queries/query.py",
        ("test_world.py",),
        Mutant(
            "loops see no changes",
            r"first\.version != first_version or last\.version != last_version",
            "False",
        ),
        Mutant("loops see no deaths", r"self\._join\.changes\(\) != state", "False"),
        Mutant("loops go on", r"raise changed_during_iteration_error\(\)"),
        Mutant("a length of nothing", r"return self\._join\.match\(\)\.count", "return 0"),
        Mutant("loops notice nothing", r"return self\._steps\(.*\)", "return rows"),
        Mutant("clauses are mixed up", "any_of, none_of, optional", "none_of, any_of, optional"),
        Mutant("rows of a class without fields", r"repeat\(self\.ROW\)", "repeat(tuple)"),
        Mutant("a loop ends with the first rows", r"0, len\(arrays\[0\]\), ", "0, 1, "),
        Mutant("arrays of a class without fields", r"tuple\.__new__\(self\.ROWS, ", "tuple("),
        Mutant("queries see no deaths", r"free\.head \+ free\.count \+ entities\.n_retired", "0"),
        Mutant("queries see no changes", r"state \+= data\.version"),
        Mutant("queries see the dead", r"match\.keep\(self\.entities\.alive_many\(.*\)\)"),
        Mutant("unions have entities twice", r"match\.drop\(earlier\)"),
    ),
    module(
        "_runtime/world/queries/join_rows.py",
        ("test_world.py",),
        Mutant(
            "queries do not forget who is alive",
            r"despawns != self\._despawn_count:",
            "not despawns:",
        ),
        Mutant(
            "queries take everybody for alive",
            r"frozenset\(\s+member for member in self\._members if .*\s+\)",
            "frozenset(self._members)",
        ),
        Mutant(
            "cells are put in other places", r"(np\.put\(out, )(self\.positions)", r"\1\2[::-1]"
        ),
        Mutant("pieces with gaps are a slice", r"== len\(parts\) and follows:", "== len(parts):"),
    ),
    module(
        "_runtime/managers/query_members.py",
        ("test_world.py",),
        Mutant("owners are not compared", r"and _equal\(owners\[rows\], entities\)", ""),
        Mutant(
            "a query begins with all instances",
            r"self\.manager\.first_rows\(\)",
            "slice(0, len(self.manager))",
        ),
        Mutant(
            "rows in step pass for first instances",
            r"(first row of each entity, NIL .*\n +)return self\.manager\.lookup_many\(entities\)",
            r"\1return super().find(entities, all_live)",
        ),
    ),
    module(
        "_runtime/tables/placement.py",
        ("test_world.py",),
        Mutant("absent rows make a slice", r" or rows\[0\] == NIL:", ":"),
    ),
    module(
        "_runtime/world/queries/query_columns.py",
        ("test_world.py",),
        Mutant("what is read can be written", r"cells\.setflags\(False\).*"),
        Mutant("what is read changes", r"return cells\.copy\(\)", "return cells"),
        Mutant("operators write to a copy alone", r"if is_same_view\(.*\):", "if True:"),
        Mutant("operators can't write", r"if is_known and is_augmented\(.*\):", "if False:"),
        Mutant("compiled code can't write", r"if not is_known:", "if False:"),
        Mutant("assigning writes nothing", r"scatter_cells\(column, rows, cells\)"),
        Mutant("nobody augments", r"return code\[at\] == _COPY and .*", "return False"),
        Mutant("all readers are plain", r"is_known = .*", "is_known = True"),
        Mutant("operators write to what was read", r"np\.array\(self\)", "self"),
    ),
    managers(
        "queried",
        Mutant("a column is another one's", r'= (QueryColumn\[.*\])\("\w+"', r'= \1("entity"'),
        in_world=True,
    ),
)
