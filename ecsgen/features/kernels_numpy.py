"""kernels with `backend: numpy`: a method each, ufuncs over blocks of rows."""

from ecsgen.features._base import Feature
from ecsgen.model import Component


def _kernels(component: Component) -> object:
    from ecsgen.render.kernels.method import Kernels  # not needed for layouts

    return Kernels(component)


FEATURE = Feature(
    name="kernels_numpy",
    applies=lambda c: bool(c.kernels) and c.backend == "numpy",
    order=80,
    subject=_kernels,
)
