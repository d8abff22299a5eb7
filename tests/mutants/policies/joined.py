"""Ways to break what `joined` does."""

from tests.mutants._base import Mutant, module

GROUPS = (
    module(
        "_runtime/kernels/blocks.py",
        ("test_world.py",),
        Mutant("world kernels keep views when the buffer moves", r"blocks\.drop\(\)$", "pass"),
    ),
)
