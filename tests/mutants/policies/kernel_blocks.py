"""Ways to break what `kernel_blocks` does."""

from tests.mutants._base import Mutant, managers, module

GROUPS = (
    managers(
        "kernel_blocks",
        Mutant("views are kept when rows come", r" or _blocks\.stamp != [\w.]+:", ":"),
    ),
    module(
        "_runtime/kernels/blocks.py",
        ("test_point_mass.py",),
        Mutant(
            "views are kept when the buffer moves",
            r"self\._kernels = \{\}$",
            'self._kernels = getattr(self, "_kernels", {})',
        ),
    ),
)
