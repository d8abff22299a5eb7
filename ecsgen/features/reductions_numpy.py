"""reductions with `backend: numpy`: a method each, sums in f64 or 64-bit integers."""

from ecsgen.features._base import Feature, Mutant

FEATURE = Feature(
    name="reductions_numpy",
    applies=lambda c: bool(c.reductions) and c.backend == "numpy",
    order=81,
    mutants=(
        Mutant("a part is forgotten", r"_parts\.append\((.*)\)$", r"_parts[:] = [\1]"),
        Mutant("sums are in single precision", r"dtype=np\.float64\)", "dtype=np.float32)"),
    ),
)
