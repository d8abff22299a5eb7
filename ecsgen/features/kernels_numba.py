"""kernels with `backend: numba`: a method each, and the compiled loop that it runs."""

from ecsgen.features._base import Feature
from ecsgen.model import Component


def _kernels(component: Component) -> object:
    from ecsgen.render.numba.kernel import CompiledKernels  # not needed for layouts

    return CompiledKernels(component)


FEATURE = Feature(
    name="kernels_numba",
    applies=lambda c: bool(c.kernels) and c.backend == "numba",
    order=80,
    subject=_kernels,
)
