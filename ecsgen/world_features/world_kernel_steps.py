"""Kernels of the world, entity by entity: tests alone, the same whatever the backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ecsgen.model import Component, Kernel, Project
from ecsgen.model.programs import fields_in
from ecsgen.render.quoting import literal
from ecsgen.world_features._base import WorldFeature

if TYPE_CHECKING:
    from ecsgen.render.kernels.check import KernelCheck


@dataclass(frozen=True, slots=True)
class StepsCase:
    """A kernel, and the components of the entities that it runs over."""

    kernel: Kernel
    components: Mapping[str, Component]

    @property
    def check(self) -> KernelCheck:
        """What one entity's cells become, in plain Python."""
        from ecsgen.render.kernels.check import KernelCheck  # not needed for schemas

        return KernelCheck(self.kernel)

    @property
    def modules(self) -> list[str]:
        """The attributes of the world with these components."""
        return [literal(component.module) for component in self.components.values()]

    @property
    def fields(self) -> list[str]:
        """Where each field that it reads or writes is, by the name that steps have for it."""
        program = self.kernel.program
        values = [step.value for step in program.steps]
        targets = [step.target for step in program.steps]
        seen = fields_in(program.where, *values, *targets)
        return [
            f'"{node.text}": ("{self.components[node.owner].module}", "{node.name}")'
            for node in seen
        ]


def _cases(project: Project) -> tuple[StepsCase, ...]:
    """Return the kernels over managers whose arguments tests can make up: no enums."""
    world = project.world
    by_name = {component.name: component for component in project.components}
    members = dict(world.groups) | {query.name: query.all for query in world.queries}
    cases = [
        StepsCase(kernel, {name: by_name[name] for name in members[kernel.over]})
        for kernel in world.kernels
        if not any(argument.type.kind for argument in kernel.program.arguments)
    ]
    return tuple(case for case in cases if not any(c.chunk for c in case.components.values()))


FEATURE = WorldFeature(
    name="world_kernel_steps",
    applies=lambda project: bool(_cases(project)),
    order=7,
    subject=_cases,
    test_support=("kernels",),
)
