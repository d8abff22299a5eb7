"""Kernels of the world, whatever they are compiled to: their arguments, and the tests of them."""

from __future__ import annotations

from dataclasses import dataclass

from ecsgen.kernels.tree import Argument
from ecsgen.model import Default
from ecsgen.render.calls import collection
from ecsgen.render.quoting import literal
from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelSubject


@dataclass(frozen=True, slots=True)
class KernelCase:
    """A kernel as its tests need it."""

    name: str
    over: str
    modules: tuple[str, ...]
    samples: tuple[str, ...]

    @property
    def entry(self) -> str:
        """What it runs over, the components there, and some arguments."""
        return "\n".join(
            [
                f'        "{self.name}": (',
                f'            "{self.over}",',
                collection("", [literal(module) for module in self.modules], 12, ","),
                collection("", list(self.samples), 12, ","),
                "        ),",
            ]
        )


class WorldKernels(KernelSubject):
    """What the kernels of every backend have."""

    @property
    def converters(self) -> list[str]:
        """The constants that check arguments."""
        from ecsgen.render.kernel_method import Method, number_constants  # not needed for schemas
        from ecsgen.render.kernels.joined import all_fields

        methods = [
            Method(all_fields(self.world, source.components.values()), kernel)
            for kernel, source in self.sources
        ]
        number_constants(methods)
        return [argument.converter for method in methods for argument in method.arguments]

    @property
    def cases(self) -> list[KernelCase]:
        """Those whose arguments tests can make up: no enums."""
        return [
            KernelCase(
                kernel.name,
                source.name,
                tuple(component.module for component in source.components.values()),
                tuple(map(_sample, kernel.program.arguments)),
            )
            for kernel, source in self.sources
            if not any(argument.type.kind for argument in kernel.program.arguments)
        ]


def _sample(argument: Argument) -> str:
    """Some value of an argument's type, as a literal."""
    value: Default = {"bool": True, "f32": 0.5, "f64": 0.25}.get(argument.type.scalar, 1)
    for length in reversed(argument.type.shape):
        value = (value,) * length
    return literal(value)


FEATURE = WorldFeature(
    name="world_kernels",
    applies=lambda project: bool(project.world.kernels),
    order=5,
    subject=WorldKernels.of,
)
