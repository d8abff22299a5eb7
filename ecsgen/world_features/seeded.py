"""Kernels that draw random numbers, the world's or those of managers: a seed for all of them."""

from __future__ import annotations

from ecsgen.model import Project
from ecsgen.world_features.feature import WorldFeature


def _draws(project: Project) -> bool:
    kernels = [kernel for component in project.components for kernel in component.kernels]
    return any(kernel.program.who for kernel in (*kernels, *project.world.kernels))


FEATURE = WorldFeature(
    name="seeded",
    applies=_draws,
    order=4,
    base=lambda project: "SeededWorld",
    attributes=lambda project: ("_chance",),
)
