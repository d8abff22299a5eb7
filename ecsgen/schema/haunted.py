"""Neighbours that are rows of other shards: what kernels ask of them, ghosts must have."""

from __future__ import annotations

from collections.abc import Mapping

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Component, Kernel, World
from ecsgen.model.programs import ENTITY
from ecsgen.schema.neighbours import members_of


def check_neighbours(
    world: World, components: Mapping[str, Component], diagnostics: Diagnostics
) -> None:
    """Report E517 for kernels that ask ghosts what these do not know."""
    if world.shards is None:
        return
    ghosts = dict(world.shards.ghosts)
    check = _Check(world, ghosts, diagnostics)
    for component in components.values():
        space = component.space
        if space is not None and space.field in ghosts.get(component.name, ()):
            for kernel in component.kernels:
                check.fields(kernel, component.name)
    for kernel in world.kernels:
        near = kernel.program.near
        if near is not None and near.place.name in ghosts.get(near.place.owner, ()):
            check.members(kernel, near.among or kernel.over)
            check.fields(kernel)


class _Check:
    def __init__(
        self, world: World, ghosts: Mapping[str, tuple[str, ...]], diagnostics: Diagnostics
    ) -> None:
        self._world = world
        self._ghosts = ghosts
        self._diagnostics = diagnostics

    def fields(self, kernel: Kernel, component: str = "") -> None:
        """Report fields of neighbours that ghosts do not have."""
        for asked in kernel.program.effects.asks:
            owner, _, name = asked.rpartition(".")
            owner = owner or component
            if name == ENTITY or name in self._ghosts.get(owner, (name,)):
                continue
            field = quote(f"{owner}.{name}")
            message = f"{quote(kernel.name)} reads {field} of neighbours, and ghosts have none"
            hint = f"add {quote(name)} to the ghosts of {owner}"
            self._diagnostics.add("E517", message, kernel.marks["near"], hint=hint)

    def members(self, kernel: Kernel, source: str) -> None:
        """Report a query or group of which nobody can tell whether a ghost is in it."""
        query = next((one for one in self._world.queries if one.name == source), None)
        lacking = [name for name in members_of(self._world, source) if name not in self._ghosts]
        if query is not None and (query.any or query.none):
            reason = f"it depends on {', '.join((*query.any, *query.none))}"
            hint = "ask rows of a group or query that only says 'all'"
        elif lacking:
            reason = f"ghosts have no {', '.join(lacking)}"
            hint = "add the component to the ghosts, if only with an empty list"
        else:
            return
        who = f"{quote(kernel.name)} asks rows of {quote(source)}"
        message = f"{who}, and which ghosts are among them nobody knows: {reason}"
        self._diagnostics.add("E517", message, kernel.marks["near"], hint=hint)
