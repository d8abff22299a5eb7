"""The world's kernels as their tests need them."""

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
    """A kernel: what it runs over, the components there, and some arguments."""

    kernel: Kernel
    modules: tuple[str, ...]
    enums: tuple[Enum, ...]

    @property
    def entry(self) -> list[str]:
        """The items of the entry that tells tests of it."""
        samples = [sample(one, self.enums) for one in self.kernel.program.arguments]
        items = [[literal(module) for module in self.modules], samples]
        return [
            literal(module_name(self.kernel.over)),
            *(collection("", i, 12).lstrip() for i in items),
        ]

    @property
    def written(self) -> str:
        """The entry of the fields that it writes, each with its component."""
        fields = [literal(tuple(text.split("."))) for text in self.kernel.program.effects.writes]
        return collection(f'"{self.kernel.name}": ', fields, 8, ",")


@dataclass(frozen=True, slots=True)
class StepsCase:
    """A kernel over rows of managers."""

    kernel: Kernel
    modules: tuple[str, ...]
    """The components of its rows, with the attributes of the world, as items of a dict."""
    leads: tuple[str, ...]
    """Those that it refers or sends to, likewise."""
    asked: tuple[str, ...]
    """Those of other rows that it asks, likewise."""
    kinds: tuple[str, ...]
    """Which components entities have, for tests of it: items of a list."""

    @property
    def check(self) -> KernelCheck:
        """What one entity's cells become, in plain Python."""
        return KernelCheck(self.kernel)

    @property
    def over(self) -> str:
        """The attribute of the world with what it runs over."""
        return module_name(self.kernel.over)

    @property
    def place(self) -> str:
        """The field with the places of neighbours."""
        near = self.kernel.program.single_neighbourhood
        return "" if near is None else near.position.text

    @property
    def among(self) -> str:
        """The attribute of the world with those who are asked, if it runs over others."""
        return module_name(_among(self.kernel))


def _among(kernel: Kernel) -> str:
    """Whom a kernel asks, if it runs over others; a name, or nothing."""
    near = kernel.program.single_neighbourhood
    return "" if near is None or near.among == kernel.over else near.among


def _items(components: Iterable[str]) -> tuple[str, ...]:
    return tuple(f'"{name}": "{module_name(name)}"' for name in components)


def chunked_cases(project: Project) -> tuple[KernelCase, ...]:
    """Return the kernels over chunks, with components that let their queries find an entity."""
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
    """Return the kernels over rows of managers, with the components concerned."""
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
    """Return components that entities have which a kernel runs over, asks, or leads to; then all
    of these."""
    any_of = {query.name: query.any for query in world.queries}
    own, asked = (
        {*world.members_of(name), *any_of.get(name, ())} if name else set[str]()
        for name in (kernel.over, _among(kernel))
    )
    led = set(_led_to(kernel))
    for kind in dict.fromkeys(map(frozenset, (own, asked, led, own | asked | led))):
        if kind:
            yield literal(tuple(sorted(map(module_name, kind))))


def sample(argument: Argument, enums: Iterable[Enum]) -> str:
    """Return some value of an argument's type, as a literal."""
    type_, numbers = argument.type, {enum.name: enum.default for enum in enums}
    value: Default = {"bool": True, "f32": 0.5, "f64": 0.25}.get(type_.scalar, 1)
    value = numbers.get(type_.enum, value)
    for length in reversed(argument.type.shape):
        value = (value,) * length
    return literal(value)
