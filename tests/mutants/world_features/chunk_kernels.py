"""Ways to break what `chunk_kernels` does."""

from tests.mutants._base import Mutant, module, world

GROUPS = (
    world(
        "chunk_kernels",
        Mutant("the field beside", r"ChunkField\((\d+), 0\)", r"ChunkField(\1, 1)"),
    ),
    module(
        "_runtime/archetypes/chunk_blocks.py",
        ("test_world.py",),
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
    ),
    module(
        "_runtime/archetypes/store.py",
        ("test_world.py",),
        Mutant("kernels over chunks: memory is not given back", r"kept\.drop\(\)$", "pass"),
    ),
    module(
        "_runtime/archetypes/view.py",
        ("test_world.py",),
        Mutant(
            "kernels over chunks: memory is not counted",
            r"of_kernels: int = .*",
            "of_kernels = 0",
        ),
    ),
)
