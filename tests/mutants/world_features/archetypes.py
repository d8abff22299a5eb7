"""Ways to break what `archetypes` does."""

from tests.mutants._base import Mutant, chunked_components, module

GROUPS = (
    module(
        "_runtime/world/archetypes/archetype_world.py",
        ("test_archetypes.py", "test_world.py"),
        Mutant("spawned rows are forgotten", r"parts\.append\(\(rows, \{\}, 1\)\)"),
        Mutant("chunks: who has it meanwhile gets another", r"first_present\(type.*\)$"),
        Mutant(
            "chunks: a failing spawn leaves rows",
            r"\(self\._store, \*super\(\)\._rollback_targets\(\)\)",
            "super()._rollback_targets()",
        ),
        Mutant(
            "chunks: callbacks write to what is spawned",
            r"self\._has_release_listeners\(managed\)",
            "False",
        ),
        Mutant(
            "chunks: components are not among all",
            r"return chain\(super\(\)\._members\(\), .*\)",
            "return super()._members()",
        ),
    ),
    chunked_components(
        Mutant("chunks: cells are read at a wrong stride", r"\b\d+ \* row", "4 * row"),
        Mutant(
            "chunks: an old view passes for the rows",
            r"values is not view or len\(view\) != n",
            "values is not view",
        ),
        Mutant("chunks: two columns are one", r"_column = columns\[1\]$", "_column = columns[0]"),
        Mutant("chunks: a field is not set", r'^        if "\w+" in values:', "        if False:"),
        Mutant(
            "chunks: all rows get one value",
            r"_(\w+)_column\[: self\._rows\.n\] =",
            r"_\1_column[:1] =",
        ),
    ),
    module(
        "archetypes.py",
        ("test_archetypes.py",),
        Mutant("archetypes: bits of a chunk are mixed up", r"self\._parts\[1\]", "self._parts[0]"),
        Mutant(
            "archetypes: what is given is forgotten",
            r"_fields = \{0: (\w+), ",
            r"_fields = {0: None, ",
        ),
        Mutant("archetypes: nothing is loaded", r"self\.load_state\(state\)"),
    ),
    module(
        "_runtime/world/archetypes/chunks.py",
        ("test_archetypes.py",),
        Mutant("archetypes: a hole stays", r"target\[hole_row\] = source\[row\]"),
        Mutant("archetypes: an object is kept", r"chunk\._columns\[column\]\[row\] = None"),
        Mutant("archetypes: objects are kept", r"chunk\._columns\[column\]\[rows\] = None"),
        Mutant(
            "archetypes: empty chunks are lost", r"self\._pool\.give\(.*\)\)", "self.chunks.pop()"
        ),
        Mutant("archetypes: holes stay", r"(in plan\.targets:\n +)chunk\._items.*", r"\1pass"),
        Mutant(
            "archetypes: holes are filled out of order",
            r"swap_remove_moves\(rows, self\.n\)",
            "(swap_remove_moves(rows, self.n)[0][::-1], swap_remove_moves(rows, self.n)[1])",
        ),
        Mutant("archetypes: rows that go still count", r"self\.n = plan\.kept"),
        Mutant("archetypes: a chunk does not shrink", r"chunk\._rows\.n = rows\.start"),
        Mutant(
            "archetypes: a chunk keeps the columns of another archetype",
            r"if chunk\._layout is not layout:",
            "if False:",
        ),
        Mutant("archetypes: columns overlap", r"_whole_lines\(capacity \* column\.nbytes\)", "64"),
        Mutant("archetypes: columns start anywhere", r"-\(.*\) \* CACHE_LINE", "nbytes"),
    ),
    module(
        "_runtime/world/archetypes/archetype_table.py",
        ("test_archetypes.py",),
        Mutant("archetypes: a row that moved is not found", r"self\.locations\.set\(moved, .*\)"),
        Mutant(
            "archetypes: rows that moved are not found",
            r"self\.settle\((?:number, removal\.moved|move\.target).*\)",
        ),
        Mutant("archetypes: rows lose the rest", r"target\.paste\(column, start, items\)"),
        Mutant("archetypes: rows stay as well", r"self\._cut_out\((?:source|archetype), .*\)"),
        Mutant("archetypes: rows that go are found", r"self\.locations\.forget_many\(.*\)"),
        Mutant("archetypes: a row that goes is found", r"self\.locations\.forget\(entity\)"),
        Mutant("archetypes: the dead keep a row", r"self\.drop\(other\)"),
        Mutant("archetypes: the dead keep their rows", r"self\.drop_many\(others\) if", "0 if"),
        Mutant(
            "archetypes: rows are looked for where they were",
            r"locations = self\.locations\.get_many\(entities\)(?=\n +moves)",
        ),
        Mutant("archetypes: clearing spares the last", r"np\.arange\(a\.n\)", "np.arange(a.n - 1)"),
        Mutant("archetypes: new values are written to all", "target, start,", "target, 0,"),
        Mutant("archetypes: a row loses the rest", r"chunk\._cells\[there\]\[row\] = .*"),
        Mutant("archetypes: `any` is ignored", r"\(not any or ", "(True or "),
        Mutant("archetypes: `none` is ignored", r"and not archetype\.layout\.bits & none", ""),
        Mutant(
            "archetypes: values go to others",
            r"values\[which\] if is_per_row",
            "values if is_per_row",
        ),
        Mutant(
            "archetypes: stale handles find a row", r"self\._owner_cells\[index\] == entity", "True"
        ),
        Mutant("archetypes: stale handles find rows", r"np\.putmask\(locations, others, .*\)"),
        Mutant(
            "archetypes: positions do not ascend",
            r"locations\.argsort\(\)",
            "np.arange(len(locations))",
        ),
        Mutant("archetypes: columns are not loaded", r"archetype\.write\(column, 0, values\)"),
    ),
    module(
        "_runtime/world/archetypes/archetype_store.py",
        ("test_archetypes.py",),
        Mutant("archetypes: a change is not noticed", r"if self\._version != version", "if False"),
        Mutant("archetypes: a lock is not asked for", r"self\._raise_if_locked\(\)$"),
        Mutant(
            "archetypes: the dead keep their rows",
            r"self\._remove_rows_of, entities\)$",
            "self._remove_rows_of, entities[:0])",
        ),
        Mutant("archetypes: a change is not counted", r"self\._version \+= 1$"),
        Mutant(
            "archetypes: repeats are accepted", r"lacking\[find_first_duplicate\(.*\) :\].* = True"
        ),
        Mutant(
            "archetypes: views are not copied",
            r"array if array\.base is None else array\.copy\(\)",
            "array",
        ),
        Mutant(
            "archetypes: a failing creation leaves entities", r"rollback_creation\(pool, \(.*\)"
        ),
    ),
)
