"""Test cases of the world's kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ecsgen.model import Default, Enum, Kernel, Project, World
from ecsgen.model.typed_tree import Argument
from ecsgen.render.kernel_methods.kernel_oracle import KernelCheck
from ecsgen.render.text.formatting import collection
from ecsgen.render.text.quoting import literal
from ecsgen.schema.names import module_name


@dataclass(frozen=True, slots=True)
class KernelCase:
    """Test case of a kernel over chunks: components of its rows, sample arguments."""

    kernel: Kernel
    modules: tuple[str, ...]
    enums: tuple[Enum, ...]

    @property
    def entry(self) -> list[str]:
        """Items of the kernel's entry in tests."""
        samples = [sample(argument, self.enums) for argument in self.kernel.program.arguments]
        items = [[literal(module) for module in self.modules], samples]
        return [
            literal(module_name(self.kernel.over)),
            *(collection("", i, 12).lstrip() for i in items),
        ]

    @property
    def written(self) -> str:
        """Entry of the fields that it writes, each with its component."""
        fields = [literal(tuple(text.split("."))) for text in self.kernel.program.effects.writes]
        return collection(f'"{self.kernel.name}": ', fields, 8, ",")


@dataclass(frozen=True, slots=True)
class StepsCase:
    """Test case of a kernel over rows of managers."""

    kernel: Kernel
    modules: tuple[str, ...]
    """Components of its rows, with the attributes of the world, as items of a dict."""
    leads: tuple[str, ...]
    """Components that it refers or sends to, as items of a dict."""
    asked: tuple[str, ...]
    """Components of candidates for neighbours, as items of a dict."""
    kinds: tuple[str, ...]
    """Sets of components that entities have in its tests, as items of a list."""

    @property
    def check(self) -> KernelCheck:
        """Check with a function of one row in plain Python."""
        return KernelCheck(self.kernel)

    @property
    def over(self) -> str:
        """Attribute of the world with its rows."""
        return module_name(self.kernel.over)

    @property
    def place(self) -> str:
        """Field with the positions of neighbours."""
        near = self.kernel.program.single_neighbourhood
        return "" if near is None else near.position.text

    @property
    def among(self) -> str:
        """Attribute of the world with the candidates, if these are other rows."""
        return module_name(_among(self.kernel))


def _among(kernel: Kernel) -> str:
    """Return the name of the candidates if these are other rows, else ""."""
    near = kernel.program.single_neighbourhood
    return "" if near is None or near.among == kernel.over else near.among


def _items(components: Iterable[str]) -> tuple[str, ...]:
    return tuple(f'"{name}": "{module_name(name)}"' for name in components)


def chunked_cases(project: Project) -> tuple[KernelCase, ...]:
    """Return the cases of kernels over chunks, with components that match their queries."""
    queries = {query.name: query for query in project.world.queries}
    return tuple(
        KernelCase(kernel, tuple(map(module_name, (*query.all, *query.any))), project.enums)
        for kernel in project.world.testable_kernels(chunked=True)
        for query in [queries[kernel.over]]
        # these tests compare each entity with one that is alone
        if kernel.program.stream_field is None
        and kernel.program.single_neighbourhood is None
        and not kernel.program.effects.referenced_components
    )


def steps_cases(project: Project) -> tuple[StepsCase, ...]:
    """Return the cases of kernels over rows of managers."""
    world = project.world
    return tuple(
        StepsCase(
            kernel,
            _items(world.members_of(kernel.over)),
            _items(_led_to(kernel)),
            _items(world.members_of(_among(kernel)) if _among(kernel) else ()),
            tuple(_kinds(world, kernel)),
        )
        for kernel in project.testable_kernels
    )


def _led_to(kernel: Kernel) -> list[str]:
    return [name for name in sorted(kernel.program.effects.referenced_components) if name]


def _kinds(world: World, kernel: Kernel) -> Iterator[str]:
    """Yield the components of a kernel's rows, of candidates, of referenced rows, and all."""
    any_of = {query.name: query.any for query in world.queries}
    components, candidates = (
        {*world.members_of(name), *any_of.get(name, ())} if name else set[str]()
        for name in (kernel.over, _among(kernel))
    )
    referenced = set(_led_to(kernel))
    sets = (components, candidates, referenced, components | candidates | referenced)
    for kind in dict.fromkeys(map(frozenset, sets)):
        if kind:
            yield literal(tuple(sorted(map(module_name, kind))))


def sample(argument: Argument, enums: Iterable[Enum]) -> str:
    """Return a value of an argument's type, as a literal."""
    type_, numbers = argument.type, {enum.name: enum.default for enum in enums}
    value: Default = {"bool": True, "f32": 0.5, "f64": 0.25}.get(type_.scalar, 1)
    value = numbers.get(type_.enum, value)
    for length in reversed(argument.type.shape):
        value = (value,) * length
    return literal(value)
