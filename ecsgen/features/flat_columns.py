"""Kernels and reductions with `backend: numba`: columns of shapes, seen element after element."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="flat_columns",
    applies=lambda c: bool(c.kernels or c.reductions or c.joined) and c.backend == "numba",
    order=79,
    mutants=(
        Mutant("elements are copies", r"_flat = self\._\w+_column\.reshape\(-1\)", r"\g<0>.copy()"),
    ),
)
