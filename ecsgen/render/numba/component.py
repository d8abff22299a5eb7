"""The kernels of a component as compiled functions."""

from __future__ import annotations

from ecsgen.model import Component, Kernel
from ecsgen.render.kernels.method import number_constants
from ecsgen.render.numba.kernel import CompiledKernel
from ecsgen.render.numba.near import NearKernel


def _kernel(component: Component, kernel: Kernel) -> CompiledKernel:
    return (NearKernel if kernel.program.near else CompiledKernel)(component, kernel)


class CompiledKernels:
    """The kernels of a component."""

    def __init__(self, component: Component) -> None:
        self.methods = [_kernel(component, kernel) for kernel in component.kernels]
        number_constants(self.methods)
        found = dict.fromkeys(line for method in self.methods for line in method.constants)
        self.constants = list(found)
