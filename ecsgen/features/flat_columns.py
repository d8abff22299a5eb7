"""Kernels and reductions with `backend: numba`: columns of shapes, seen element after element."""

from ecsgen.features._base import Feature
from ecsgen.model import Component


def _columns(component: Component) -> object:
    from ecsgen.render.numba.flat import FlatColumns  # not needed for layouts

    return FlatColumns(component)


FEATURE = Feature(
    name="flat_columns",
    applies=lambda c: bool(c.kernels or c.reductions or c.joined) and c.backend == "numba",
    order=79,
    subject=_columns,
)
