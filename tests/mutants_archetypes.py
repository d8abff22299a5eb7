"""Ways to break archetypes: what their runtime does, and the modules of components in chunks."""

from __future__ import annotations

from ecsgen.features import Mutant

CHUNKED = (
    Mutant("chunks: cells are read at a wrong stride", r"\b\d+ \* row", "4 * row"),
    Mutant(
        "chunks: an old view passes for the rows",
        r"values is not view or len\(view\) != n",
        "values is not view",
    ),
    Mutant("chunks: two columns are one", r"_column = columns\[1\]$", "_column = columns[0]"),
    Mutant("chunks: a field is not set", r'^        if "\w+" in values:', "        if False:"),
    Mutant("chunks: all rows get one value", r"_(\w+)_column\[:n\] =", r"_\1_column[:1] ="),
)

STORE = (
    Mutant("archetypes: bits of a chunk are mixed up", r"self\._parts\[1\]", "self._parts[0]"),
    Mutant(
        "archetypes: what is given is forgotten", r"given = \{0: (\w+), ", r"given = {0: None, "
    ),
    Mutant("archetypes: nothing is loaded", r"^        self\._load\(state\)", "        pass"),
)

RUNTIME = (
    Mutant("archetypes: a hole stays", r"target\[place\] = source\[row\]", "pass"),
    Mutant("archetypes: a row that moved is not found", r"self\.places\.set\(moved, .*\)", "pass"),
    Mutant(
        "archetypes: rows that moved are not found",
        r"self\.settle\(number, moved, positions\)",
        "pass",
    ),
    Mutant("archetypes: an object is kept", r"chunk\._columns\[column\]\[row\] = None", "pass"),
    Mutant("archetypes: objects are kept", r"chunk\._columns\[column\]\[rows\] = None", "pass"),
    Mutant("archetypes: a row loses the rest", r"chunk\._cells\[there\]\[row\] = .*", "pass"),
    Mutant("archetypes: rows lose the rest", r"target\.paste\(there, start, items\)", "pass"),
    Mutant(
        "archetypes: stale handles find a row", r"self\._owner_cells\[index\] == entity", "True"
    ),
    Mutant("archetypes: stale handles find rows", r"np\.putmask\(places, others, .*\)", "pass"),
    Mutant(
        "archetypes: empty chunks are lost",
        r"self\._pool\.give\(self\.chunks\.pop\(\)\)",
        "self.chunks.pop()",
    ),
    Mutant(
        "archetypes: a chunk keeps the columns of another archetype",
        r"if chunk\._layout is not layout:",
        "if False:",
    ),
    Mutant("archetypes: a lock is not respected", r'raise locked\("Archetypes"\)', "pass"),
    Mutant("archetypes: a lock is not asked for", r"self\._refuse_locked\(\)$", "pass"),
    Mutant("archetypes: `any` is ignored", r"\(not any or ", "(True or "),
    Mutant("archetypes: `none` is ignored", r"and not archetype\.layout\.bits & none", ""),
    Mutant(
        "archetypes: columns overlap",
        r"offset \+= _whole_lines\(capacity \* column\.nbytes\)",
        "offset += 64",
    ),
    Mutant(
        "archetypes: columns start anywhere",
        r"return -\(-nbytes // CACHE_LINE\) \* CACHE_LINE",
        "return nbytes",
    ),
    Mutant(
        "archetypes: values go to others",
        r"return values\[which\] if each",
        "return values if each",
    ),
    Mutant(
        "archetypes: the dead keep their rows",
        r"^        self\._drop_many\(entities\)$",
        "        pass",
    ),
    Mutant(
        "archetypes: positions do not ascend",
        r"order = np\.argsort\(places\)",
        "order = np.arange(len(places))",
    ),
    Mutant("archetypes: columns are not loaded", r"archetype\.write\(column, 0, values\)", "pass"),
    Mutant("archetypes: a chunk does not shrink", r"chunk\._rows\.n = rows\.start", "pass"),
    Mutant("archetypes: repeats are accepted", r"lacking \|= _is_repeat\(entities\)", "pass"),
    Mutant("archetypes: a change is not noticed", r"if self\._version != version:", "if False:"),
    Mutant(
        "archetypes: views are not copied",
        r"array if array\.base is None else array\.copy\(\)",
        "array",
    ),
    Mutant(
        "archetypes: a failing creation leaves entities",
        r"self\._entities\._uncreate\(entities\)",
        "pass",
    ),
)

QUERIES = (
    Mutant(
        "queries of chunks: entities are not looked for again",
        r"if self\._version != self\._store\.version:",
        "if self._version < 0:",
    ),
    Mutant(
        "queries of chunks: a copy asks for others' chunks",
        r"return type\(self\), \(self\._store,\)",
        "return type(self), (self._store.__class__(self._store._entities),)",
    ),
    Mutant(
        "queries of chunks: entities can be overwritten",
        r"self\._entities\.flags\.writeable = False",
        "pass",
    ),
    Mutant("queries of chunks: new archetypes are not found", r"self\._found\.clear\(\)", "pass"),
    Mutant(
        "queries of chunks: only the first archetype counts",
        r"sum\(archetype\.n for archetype in self\._archetypes\(\)\)",
        "sum(archetype.n for archetype in self._archetypes()[:1])",
    ),
)

KERNELS = (
    Mutant(
        "kernels over chunks: blocks are kept whatever changes",
        r"if self\._version != store\._version:",
        "if self._version < 0:",
    ),
    Mutant(
        "kernels over chunks: rows that came or went do not matter",
        r"if n != chunk\._rows\.n:",
        "if n < 0:",
    ),
    Mutant(
        "kernels over chunks: only the first chunk",
        r"(for chunk in archetype\.used\(\))(:)",
        r"\1[:1]\2",
    ),
    Mutant("kernels over chunks: memory is not given back", r"kept\.drop\(\)$", "pass"),
    Mutant(
        "kernels over chunks: memory is not counted",
        r"of_kernels: int = .*",
        "of_kernels = 0",
    ),
)
