"""The kernels of a component, with either backend."""

from __future__ import annotations

from ecsgen.model import Component, Kernel
from ecsgen.render.blocks.block_method import BlockMethod, PassMethod
from ecsgen.render.kernels.asked import asked_of
from ecsgen.render.kernels.method import number_constants
from ecsgen.render.kernels.printed import constants_of, data_methods_of, functions_of
from ecsgen.render.kernels.sources import own_source
from ecsgen.render.loops.loop_method import LoopKernel
from ecsgen.render.loops.parts import LoopPass


def loop_of(component: Component, kernel: Kernel, is_plain: bool = False) -> LoopKernel:
    """Return a kernel of a component as a loop; `is_plain`: which Python itself runs."""
    source = own_source(component, kernel)
    return LoopKernel(kernel, source, asked_of(kernel, source), is_plain)


def _method(component: Component, kernel: Kernel) -> BlockMethod | LoopKernel:
    """A kernel with `backend: numpy`: over blocks, or, where rows take turns, a loop."""
    if kernel.program.takes_turns:
        return loop_of(component, kernel, is_plain=True)
    source = own_source(component, kernel)
    return BlockMethod(kernel, source, asked_of(kernel, source))


class Kernels:
    """The kernels of a component, and the passes of schedules over it, with `backend: numpy`."""

    def __init__(self, component: Component) -> None:
        methods = [_method(component, kernel) for kernel in component.kernels]
        methods += [
            PassMethod(fused, own_source(component, fused.kernels[0])) for fused in component.fused
        ]
        number_constants(methods)
        self.printed = [method.printed for method in methods]
        self.functions = functions_of(self.printed)
        self.data_methods = data_methods_of(self.printed)
        converters = [argument.converter for method in methods for argument in method.arguments]
        self.constants = [*dict.fromkeys(converters), *constants_of(self.printed)]


class CompiledKernels:
    """The same with `backend: numba`."""

    def __init__(self, component: Component) -> None:
        methods: list[LoopKernel | LoopPass] = [
            loop_of(component, kernel) for kernel in component.kernels
        ]
        methods += [
            LoopPass(fused, own_source(component, fused.kernels[0])) for fused in component.fused
        ]
        number_constants(methods)
        self.printed = [method.printed for method in methods]
        self.functions = functions_of(self.printed)
        converters = [argument.converter for method in methods for argument in method.arguments]
        self.constants = [*constants_of(self.printed), *converters]
