"""Arguments of the world's kernels: what checks them, whatever the kernels are compiled to."""

from __future__ import annotations

from ecsgen.world_features._base import WorldFeature
from ecsgen.world_features._kernels import KernelSubject


class KernelArguments(KernelSubject):
    """The arguments of all kernels."""

    @property
    def converters(self) -> list[str]:
        """The constants that check arguments."""
        from ecsgen.render.kernels.method import Method, number_constants  # not needed for schemas
        from ecsgen.render.kernels.sources import all_fields

        methods = [
            Method(all_fields(self.world, source.components.values()), kernel)
            for kernel, source in self.sources
        ]
        number_constants(methods)
        return [argument.converter for method in methods for argument in method.arguments]


FEATURE = WorldFeature(
    name="kernel_arguments",
    applies=lambda project: bool(project.world.kernels),
    order=5,
    subject=KernelArguments.of,
)
