"""Ways to break what `reductions_numpy` does."""

from tests.mutants._base import Mutant, managers

GROUPS = (
    managers(
        "kernels_numpy",
        Mutant("a part is forgotten", r"_parts\.append\((.*)\)$", r"_parts[:] = [\1]"),
        Mutant("a mean is of all rows", r"_matching \+= .*", "_matching = len(self)"),
        Mutant("what does not match counts", r"\[\.\.\., _where\]", "[...]"),
        Mutant("inactive rows count", r"n = self\._n_active", "n = self._n"),
        Mutant("sums are in single precision", r"dtype=np\.float64\)", "dtype=np.float32)"),
    ),
)
