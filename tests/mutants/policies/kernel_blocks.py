"""Ways to break what `kernel_blocks` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "kernel_blocks",
        Mutant("views are kept when the buffer moves", r"self\._kernels = \{\}$", "pass"),
        Mutant("views are kept when rows come", r" or _blocks\.stamp != [\w.]+:", ":"),
    ),
)
