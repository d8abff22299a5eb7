"""Checks of schedules: their entries, the ticks at which these run, and their arguments."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Component, Kernel, Mark, World
from ecsgen.model.schedules import TICK, kernel_named
from ecsgen.model.typed_tree import Despawn


def check_schedules(
    world: World, components: Mapping[str, Component], complete: Set[str], diagnostics: Diagnostics
) -> None:
    """Report E514 at entries that are no kernels or tables, or whose arguments contradict.

    `complete`: components all of whose kernels could be read, and "" for the world.
    """
    tables = {table.name for table in world.records}
    unknown = components.keys() - complete | {""} - complete
    for name, entries in world.schedules:
        kernels = _Kernels(world, components, diagnostics)
        for index, (entry, every, start) in enumerate(entries):
            written = f"schedule.{name}.{index}"
            mark = world.marks.get(f"{written}.run", world.marks[written])
            wrong = "from" if start < 0 else "every" if every is not None and every < 1 else ""
            if wrong:
                message = f"{quote(entry)} runs every {every} ticks from {start}"
                hint = "'every' is 1 or more, and 'from' 0 or more"
                diagnostics.add("E514", message, world.marks[f"{written}.{wrong}"], hint=hint)
            if entry == TICK or entry in tables:
                continue
            kernel = kernel_named(entry, components, world)
            if kernel is not None:
                kernels.add(entry, kernel, mark)
            elif entry.rpartition(".")[0] not in unknown:  # what is missed may be in error
                message, hint = _no_kernel(entry, world, components)
                diagnostics.add("E514", message, mark, hint=hint)


class _Kernels:
    def __init__(
        self, world: World, components: Mapping[str, Component], diagnostics: Diagnostics
    ) -> None:
        self._world, self._components, self._diagnostics = world, components, diagnostics
        self._types: dict[str, tuple[str, str]] = {}
        """The type of each argument, and the first entry with it."""
        self._changed: set[str] = set()
        """The components with spawned or despawned rows."""

    def add(self, entry: str, kernel: Kernel, mark: Mark) -> None:
        """Add a kernel; reports contradictions to those before."""
        rows = self._world.members_of(entry.rpartition(".")[0] or kernel.over)
        if kernel.each and self._changed.intersection(rows):
            message = f"{quote(entry)} has a value for each row, and an entry before it"
            self._diagnostics.add("E514", f"{message} changes which rows there are", mark)
        effects = kernel.program.effects
        self._changed.update((*effects.spawns, *effects.adds, *effects.removes))
        targets = [step.target for step in kernel.program.actions]
        despawned = [target.component for target in targets if isinstance(target, Despawn)]
        self._changed.update(filter(None, despawned))
        if not all(despawned):  # entities, with all rows that go with them
            owned = (c for c in self._components.values() if c.owner == "entity")
            self._changed.update(c.name for c in owned if c.destroy != "manual")
        for argument, text, _ in kernel.args:
            shown = f"{text} of each row" if argument in kernel.each else text
            first, where = self._types.setdefault(argument, (shown, entry))
            if first != shown:
                message = f"{quote(argument)} is {first} in {quote(where)}"
                message += f" and {shown} in {quote(entry)}"
                self._diagnostics.add("E514", message, mark, hint="give one of them another name")


def _no_kernel(entry: str, world: World, components: Mapping[str, Component]) -> tuple[str, str]:
    holder, dot, name = entry.rpartition(".")
    kernels = {f"{c.name}.{k.name}": k.name for c in components.values() for k in c.kernels}
    if dot and holder in components:
        component = components[holder]
        is_reduction = any(reduction.name == name for reduction in component.reductions)
        hint = did_you_mean(name, [kernel.name for kernel in component.kernels])
        what = "a reduction" if is_reduction else "no kernel"
        return f"{quote(name)} is {what} of {quote(holder)}", hint
    if dot:
        message = f"{quote(entry)} is no kernel: there is no component {quote(holder)}"
        return message, did_you_mean(entry, kernels)
    meant = [text for text, kernel in kernels.items() if kernel == name]
    known = (*(kernel.name for kernel in world.kernels), *(table.name for table in world.records))
    hint = f"write {' or '.join(meant)}" if meant else did_you_mean(name, [*known, *kernels, TICK])
    what = "kernel or table" if world.records else "kernel"
    return f"{quote(entry)} is no {what} of the world", hint
