"""Ways to break what `chunk_queries` does."""

from tests.mutants._base import Mutant, module, world

GROUPS = (
    world(
        "chunk_queries",
        Mutant(
            "a component that they must have is forgotten",
            r"ALL(.*) = \(\w+, (\w+)\)",
            r"ALL\1 = (\2,)",
        ),
        Mutant("those that it may have do not matter", "ANY: ClassVar = .*"),
        Mutant("those that it must not have do not matter", r"NONE: ClassVar = .*"),
    ),
    module(
        "_runtime/world/archetypes/archetype_store.py",
        ("test_world.py",),
        Mutant("queries of chunks: other entities", r"self\._entities,\)", "self._entities[1:],)"),
        Mutant("queries of chunks: loops go on", r"self\._store\._iterate\(rows, .*\)", "rows"),
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
        ),
        Mutant(
            "queries of chunks: only the first archetype counts",
            r"sum\(archetype\.n for archetype in self\._archetypes\(\)\)",
            "sum(archetype.n for archetype in self._archetypes()[:1])",
        ),
    ),
    module(
        "_runtime/world/archetypes/archetype_table.py",
        ("test_world.py",),
        Mutant("queries of chunks: new archetypes are not found", r"self\._found\.clear\(\)"),
    ),
)
