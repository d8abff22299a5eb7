"""reductions with `backend: numba`: a method each, and the compiled function that it calls."""

from ecsgen.features._base import Feature
from ecsgen.model import Component


def _reductions(component: Component) -> object:
    from ecsgen.render.numba.reduction import CompiledReductions  # not needed for layouts

    return CompiledReductions(component)


FEATURE = Feature(
    name="reductions_numba",
    applies=lambda c: bool(c.reductions) and c.backend == "numba",
    order=81,
    subject=_reductions,
)
