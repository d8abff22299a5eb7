"""The world's kernels as their tests need them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ecsgen.model import Component, Default, Kernel, Project
from ecsgen.model.programs import Argument
from ecsgen.render.calls import collection
from ecsgen.render.kernels.check import KernelCheck
from ecsgen.render.quoting import literal
from ecsgen.schema.names import module_name
from ecsgen.world_features.members import checkable_kernels, steps_kernels


@dataclass(frozen=True, slots=True)
class KernelCase:
    """A kernel: what it runs over, the components there, and some arguments."""

    kernel: Kernel
    modules: tuple[str, ...]

    @property
    def entry(self) -> str:
        """The entry that tells tests of it."""
        samples = [sample(argument) for argument in self.kernel.program.arguments]
        return "\n".join(
            [
                f'        "{self.kernel.name}": (',
                f'            "{attribute_of(self.kernel)}",',
                collection("", [literal(module) for module in self.modules], 12, ","),
                collection("", samples, 12, ","),
                "        ),",
            ]
        )

    @property
    def written(self) -> str:
        """The entry of the fields that it writes, each with its component."""
        fields = [literal(tuple(text.split("."))) for text in self.kernel.program.writes]
        return collection(f'"{self.kernel.name}": ', fields, 8, ",")


@dataclass(frozen=True, slots=True)
class StepsCase:
    """A kernel, the components of the rows that it runs over, and those that it leads to."""

    kernel: Kernel
    components: tuple[Component, ...]
    leading: tuple[Component, ...]

    @property
    def check(self) -> KernelCheck:
        """What one entity's cells become, in plain Python."""
        return KernelCheck(self.kernel)

    @property
    def over(self) -> str:
        """The attribute of the world with what it runs over."""
        return attribute_of(self.kernel)

    @property
    def modules(self) -> list[str]:
        """The components of its rows, with the attributes of the world, as items of a dict."""
        return _items(self.components)

    @property
    def leads(self) -> list[str]:
        """Those that it refers or sends to, likewise."""
        return _items(self.leading)


def _items(components: Iterable[Component]) -> list[str]:
    return [f'"{component.name}": "{component.module}"' for component in components]


def joined_cases(project: Project) -> tuple[KernelCase, ...]:
    """Return the kernels over rows of entities that see these alone."""
    members = _members(project)
    return tuple(
        KernelCase(kernel, tuple(map(module_name, members[kernel.over])))
        for kernel in checkable_kernels(project, chunked=False)
    )


def chunked_cases(project: Project) -> tuple[KernelCase, ...]:
    """Return the kernels over chunks, with components that let their queries find an entity."""
    queries = {query.name: query for query in project.world.queries}
    return tuple(
        KernelCase(kernel, tuple(map(module_name, (*query.all, *query.any))))
        for kernel in checkable_kernels(project, chunked=True)
        for query in [queries[kernel.over]]
        if kernel.program.who is None  # these tests compare entities with others
    )


def steps_cases(project: Project) -> tuple[StepsCase, ...]:
    """Return the kernels over rows of managers, with the components concerned."""
    members = _members(project)
    by_name = {component.name: component for component in project.components}
    return tuple(
        StepsCase(
            kernel,
            tuple(by_name[name] for name in members[kernel.over]),
            tuple(by_name[name] for name in sorted(kernel.program.leads) if name),
        )
        for kernel in steps_kernels(project)
    )


def _members(project: Project) -> dict[str, tuple[str, ...]]:
    """Return the components that kernels see in each group and query, or of a component's rows."""
    queries = {query.name: query.all for query in project.world.queries}
    components = {component.name: (component.name,) for component in project.components}
    return dict(project.world.groups) | queries | components


def attribute_of(kernel: Kernel) -> str:
    """Return the attribute of the world with what a kernel runs over."""
    return module_name(kernel.over)


def sample(argument: Argument) -> str:
    """Return some value of an argument's type, as a literal."""
    value: Default = {"bool": True, "f32": 0.5, "f64": 0.25}.get(argument.type.scalar, 1)
    for length in reversed(argument.type.shape):
        value = (value,) * length
    return literal(value)
