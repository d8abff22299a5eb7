"""Ways to break what `joined` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "joined",
        Mutant("world kernels keep views when the buffer moves", r"blocks\.drop\(\)$", "pass"),
    ),
)
