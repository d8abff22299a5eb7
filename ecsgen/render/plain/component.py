"""The kernels of a component with `backend: numpy`."""

from __future__ import annotations

from ecsgen.model import Component, Kernel
from ecsgen.render.kernels.method import number_constants
from ecsgen.render.numpy.fused import FusedMethod
from ecsgen.render.numpy.levels import LevelMethod
from ecsgen.render.numpy.method import KernelMethod
from ecsgen.render.numpy.near import NearMethod
from ecsgen.render.plain.turns import PlainLoop, PlainNearLoop


def _method(component: Component, kernel: Kernel) -> KernelMethod | PlainLoop:
    if kernel.program.takes_turns:
        return (PlainNearLoop if kernel.program.near else PlainLoop)(component, kernel)
    if kernel.program.near is not None:
        return NearMethod(component, kernel)
    return (LevelMethod if kernel.program.climbs else KernelMethod)(component, kernel)


class Kernels:
    """The kernels of a component."""

    def __init__(self, component: Component) -> None:
        self.methods: list[KernelMethod | PlainLoop] = [
            _method(component, kernel) for kernel in component.kernels
        ]
        self.methods += [FusedMethod(component, fused) for fused in component.fused]
        number_constants(self.methods)

    @property
    def constants(self) -> list[str]:
        """Converters of arguments, numbers, and what roots read."""
        found = [argument.converter for method in self.methods for argument in method.arguments]
        found += [line for method in self.methods for line in method.constants]
        return list(dict.fromkeys(found))
