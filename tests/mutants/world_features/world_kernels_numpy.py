"""Ways to break what `world_kernels_numpy` does."""

from tests.mutants._base import Mutant, world

GROUPS = (
    world(
        "world_kernels_numpy",
        Mutant("blocks are kept whatever changes", r" or _blocks\.stamp != \w+:$", ":"),
        Mutant(
            "what is written is not put back",
            r"(found\.members\[\d\],\s+True,\s+)True",
            r"\1False",
        ),
        Mutant("what was there is not read", r"(found\.members\[\d\],\s+)True", r"\1False"),
        Mutant("rows of another component", r"found\.members\[1\]", "found.members[0]"),
    ),
)
