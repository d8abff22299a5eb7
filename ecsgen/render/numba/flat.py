"""Which columns compiled functions see element after element."""

from __future__ import annotations

from ecsgen.model import Component
from ecsgen.model.scalars import SCALARS
from ecsgen.render.numba.component import CompiledKernels
from ecsgen.render.numba.fields import Parameter
from ecsgen.render.numba.reduction import CompiledReductions


class FlatColumns:
    """The shaped columns of a component's kernels and reductions, and of the world's kernels."""

    def __init__(self, component: Component) -> None:
        loops = [method.loop for method in CompiledKernels(component).kernels]
        loops += [method.loop for method in CompiledReductions(component).methods]
        given = ((loop.fields.parameters, loop.others.parameters) for loop in loops)
        parameters = [one for pair in given for each in pair for one in each.values()]
        flat = {_column(one): one.annotation for one in parameters if one.is_flat}
        flat |= {
            field.name: f"NDArray[{SCALARS[field.type.scalar].numpy}]"
            for field in component.fields
            if field.name in component.joined and field.type.shape and not field.split
        }
        self.columns = sorted(flat.items())
        self.attributes = [f"_{name}_flat" for name, _ in self.columns]


def _column(parameter: Parameter) -> str:
    return parameter.passed.removeprefix("data._").removesuffix("_flat")
