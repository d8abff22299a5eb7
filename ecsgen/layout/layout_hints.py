"""Which fields kernels use, and whether their tags say the same: what `ecsgen layout` remarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ecsgen.model import Component, World


def remarks(component: Component, world: World) -> Iterator[str]:
    """Fields that no kernel uses but are hot, and cold ones that kernels read.

    Nothing about components without kernels. These are hints: somebody else may use the field.
    """
    used, read = fields_used(component, world)
    if not used:
        return
    for field in component.fields:
        if "cold" not in field.tags and field.name not in used:
            yield f"hint: no kernel uses the hot field {field.name!r}: should it be tagged cold?"
        elif "cold" in field.tags and field.name in read:
            yield f"hint: a kernel reads the cold field {field.name!r}: should it be hot?"


def fields_used(component: Component, world: World) -> tuple[set[str], set[str]]:
    """The fields that kernels and reductions read or write, and those that they read."""
    programs = [kernel.program for kernel in component.kernels]
    read = {*_own(name for program in programs for name in program.effects.reads)}
    read |= {*_own(name for one in component.reductions for name in one.program.reads)}
    written = {name for program in programs for name in program.effects.writes}
    prefix = f"{component.name}."
    for effects in (kernel.program.effects for kernel in world.kernels):
        read |= {name.removeprefix(prefix) for name in effects.reads if name.startswith(prefix)}
        written |= {name.removeprefix(prefix) for name in effects.writes if name.startswith(prefix)}
    return read | written, read


def _own(names: Iterable[str]) -> Iterator[str]:
    return (name.removeprefix("parent.") for name in names)
