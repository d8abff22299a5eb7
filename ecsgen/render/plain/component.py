"""The kernels of a component with `backend: numpy`."""

from __future__ import annotations

from ecsgen.model import Component, Kernel
from ecsgen.render.component_kernels import loop_of
from ecsgen.render.kernels.method import number_constants
from ecsgen.render.kernels.printed import constants_of, data_methods_of, functions_of
from ecsgen.render.loops.loop_method import LoopKernel
from ecsgen.render.numpy.fused import FusedMethod
from ecsgen.render.numpy.levels import LevelMethod
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.numpy.near import NearMethod


def _method(component: Component, kernel: Kernel) -> KernelMethod | LoopKernel:
    if kernel.program.takes_turns:
        return loop_of(component, kernel, is_plain=True)
    if kernel.program.near is not None:
        return NearMethod(component, kernel)
    return (LevelMethod if kernel.program.climbs else KernelMethod)(component, kernel)


class Kernels:
    """The kernels of a component."""

    def __init__(self, component: Component) -> None:
        methods: list[KernelMethod | LoopKernel] = [
            _method(component, kernel) for kernel in component.kernels
        ]
        methods += [FusedMethod(component, fused) for fused in component.fused]
        number_constants(methods)
        self.printed = [method.printed for method in methods]
        self.functions = functions_of(self.printed)
        self.data_methods = data_methods_of(self.printed)
        converters = [argument.converter for method in methods for argument in method.arguments]
        self.constants = [*dict.fromkeys(converters), *constants_of(self.printed)]
