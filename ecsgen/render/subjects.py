"""What the templates of some policies lay out beside the component."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ecsgen.model import Component
from ecsgen.render.kernels.method import Kernels
from ecsgen.render.kernels.reduction import Reductions
from ecsgen.render.numba.flat import FlatColumns
from ecsgen.render.numba.kernel import CompiledKernels
from ecsgen.render.numba.reduction import CompiledReductions

_SUBJECTS: Mapping[str, Callable[[Component], object]] = {
    "flat_columns": FlatColumns,
    "kernels_numba": CompiledKernels,
    "kernels_numpy": Kernels,
    "reductions_numba": CompiledReductions,
    "reductions_numpy": Reductions,
}


def subject(policy: str, component: Component) -> object:
    """Return what a policy's template knows as `it`."""
    make = _SUBJECTS.get(policy)
    return None if make is None else make(component)
