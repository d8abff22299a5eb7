"""Which printer a kernel gets: loops for numba, ufuncs over blocks for numpy; where rows take turns
it is a loop, which Python itself runs if numba does not."""

from __future__ import annotations

from ecsgen.config import Backend
from ecsgen.model import Component, Fused, Kernel, World
from ecsgen.render.blocks.block_method import BlockMethod, PassMethod
from ecsgen.render.kernels.asked import asked_of
from ecsgen.render.kernels.method import number_constants
from ecsgen.render.kernels.printed import constants_of, data_methods_of, functions_of
from ecsgen.render.kernels.sources import ChunkSource, Source, own_source
from ecsgen.render.loops.loop_method import LoopKernel
from ecsgen.render.loops.parts import ChunkLoop, LoopPass

KernelMethod = LoopKernel | ChunkLoop | LoopPass | BlockMethod


def method_of(
    kernel: Kernel, source: Source | ChunkSource, backend: Backend, world: World | None = None
) -> KernelMethod:
    """Return a kernel as a backend has it; `world`: where it is one of the world."""
    is_compiled = backend == "numba"
    if isinstance(source, ChunkSource):
        return ChunkLoop(kernel, source) if is_compiled else BlockMethod(kernel, source)
    asked = asked_of(kernel, source, world)
    if is_compiled or kernel.program.takes_turns:
        return LoopKernel(kernel, source, asked, is_plain=not is_compiled)
    return BlockMethod(kernel, source, asked)


def pass_of(fused: Fused, source: Source, backend: Backend) -> KernelMethod:
    """Return the kernels of a pass as one method."""
    return LoopPass(fused, source) if backend == "numba" else PassMethod(fused, source)


class ComponentKernels:
    """The kernels of a component, and the passes of schedules over it."""

    def __init__(self, component: Component) -> None:
        backend = component.backend
        methods = [
            *(method_of(one, own_source(component, one), backend) for one in component.kernels),
            *(
                pass_of(fused, own_source(component, fused.kernels[0]), backend)
                for fused in component.fused
            ),
        ]
        number_constants(methods)
        self.printed = [method.printed for method in methods]
        self.functions = functions_of(self.printed)
        self.data_methods = data_methods_of(self.printed)
        converters = [argument.converter for method in methods for argument in method.arguments]
        self.constants = [*dict.fromkeys(converters), *constants_of(self.printed)]
