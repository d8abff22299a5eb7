"""The kernels of a component as compiled code."""

from __future__ import annotations

from ecsgen.model import Component, Kernel
from ecsgen.render.kernels.method import number_constants
from ecsgen.render.kernels.printed import constants_of, functions_of
from ecsgen.render.numba.fused import FusedKernel
from ecsgen.render.numba.kernel import CompiledKernel
from ecsgen.render.numba.looped import LoopMethod
from ecsgen.render.numba.near import NearKernel
from ecsgen.render.numba.near_turns import TurnNearKernel


def _kernel(component: Component, kernel: Kernel) -> CompiledKernel:
    if kernel.program.near is None:
        return CompiledKernel(component, kernel)
    return (TurnNearKernel if kernel.program.takes_turns else NearKernel)(component, kernel)


class CompiledKernels:
    """The kernels of a component, and the passes of schedules over it."""

    def __init__(self, component: Component) -> None:
        self.kernels = [_kernel(component, kernel) for kernel in component.kernels]
        self.passes = [FusedKernel(component, fused) for fused in component.fused]
        methods: list[LoopMethod] = [*self.kernels, *self.passes]
        number_constants(methods)
        self.printed = [method.printed for method in methods]
        self.functions = functions_of(self.printed)
        converters = [argument.converter for method in methods for argument in method.arguments]
        self.constants = [*constants_of(self.printed), *converters]
