"""reductions with `backend: numpy`: a method each, sums in f64 or 64-bit integers."""

from ecsgen.features._base import Feature
from ecsgen.model import Component


def _reductions(component: Component) -> object:
    from ecsgen.render.kernels.reduction import Reductions  # not needed for layouts

    return Reductions(component)


FEATURE = Feature(
    name="reductions_numpy",
    applies=lambda c: bool(c.reductions) and c.backend == "numpy",
    order=81,
    subject=_reductions,
)
