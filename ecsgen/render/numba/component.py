"""The kernels of a component as compiled code."""

from __future__ import annotations

from ecsgen.model import Component
from ecsgen.render.kernels.method import Method, number_constants
from ecsgen.render.numba.fused import FusedKernel
from ecsgen.render.numba.kernel import CompiledKernel


class CompiledKernels:
    """The kernels of a component, and the passes of schedules over it."""

    def __init__(self, component: Component) -> None:
        self.kernels = [CompiledKernel(component, kernel) for kernel in component.kernels]
        self.passes = [FusedKernel(component, fused) for fused in component.fused]
        self.methods: list[Method] = [*self.kernels, *self.passes]
        number_constants(self.methods)
        self.constants = list(
            dict.fromkeys(line for method in self.kernels for line in method.constants)
        )
