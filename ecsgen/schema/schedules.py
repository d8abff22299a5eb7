"""Schedules: what their entries are, when they happen, and whether their arguments go together."""

from __future__ import annotations

from collections.abc import Mapping, Set

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Component, Kernel, Mark, World
from ecsgen.model.schedules import TICK, kernel_named
from ecsgen.model.typed_tree import Despawn


def check_schedules(
    world: World, components: Mapping[str, Component], whole: Set[str], diagnostics: Diagnostics
) -> None:
    """Report E514 at entries that are no kernels or tables, or whose arguments do not go together.

    `whole`: components all of whose kernels could be read, and "" for those of the world.
    """
    tables = {table.name for table in world.records}
    unknown = components.keys() - whole | {""} - whole
    for name, entries in world.schedules:
        kernels = _Kernels(world, components, diagnostics)
        for place, (entry, every, start) in enumerate(entries):
            written = f"schedule.{name}.{place}"
            mark = world.marks.get(f"{written}.run", world.marks[written])
            wrong = "from" if start < 0 else "every" if every is not None and every < 1 else ""
            if wrong:
                message = f"{quote(entry)} happens every {every} ticks from {start}"
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
        """Of each argument, and which entry has it first."""
        self._changed: set[str] = set()
        """The components of which rows have come or gone."""

    def add(self, entry: str, kernel: Kernel, mark: Mark) -> None:
        """Report what does not go together with those before."""
        rows = self._world.members_of(entry.rpartition(".")[0] or kernel.over)
        if kernel.each and self._changed.intersection(rows):
            message = f"{quote(entry)} has a value for each row, and an entry before it"
            self._diagnostics.add("E514", f"{message} changes which rows there are", mark)
        self._changed.update(kernel.program.effects.spawns)
        deaths = [step.target for step in kernel.program.steps if isinstance(step.target, Despawn)]
        self._changed.update(one.component for one in deaths if one.component)
        if not all(one.component for one in deaths):  # entities, with all rows that go with them
            self._changed.update(
                name
                for name, one in self._components.items()
                if one.owner == "entity" and one.destroy != "manual"
            )
        for argument, text, _ in kernel.args:
            shown = f"{text} of each row" if argument in kernel.each else text
            first, where = self._types.setdefault(argument, (shown, entry))
            if first != shown:
                message = f"{quote(argument)} is {first} in {quote(where)}"
                message += f" and {shown} in {quote(entry)}"
                self._diagnostics.add("E514", message, mark, hint="give one of them another name")


def _no_kernel(entry: str, world: World, components: Mapping[str, Component]) -> tuple[str, str]:
    holder, dot, name = entry.rpartition(".")
    own = [*(one.name for one in world.kernels), *(one.name for one in world.records)]
    theirs = {f"{c.name}.{k.name}": k.name for c in components.values() for k in c.kernels}
    if dot and holder in components:
        component = components[holder]
        what = "a reduction" if name in {one.name for one in component.reductions} else "no kernel"
        hint = did_you_mean(name, [kernel.name for kernel in component.kernels])
        return f"{quote(name)} is {what} of {quote(holder)}", hint
    if dot:
        message = f"{quote(entry)} is no kernel: there is no component {quote(holder)}"
        return message, did_you_mean(entry, theirs)
    meant = [text for text, kernel in theirs.items() if kernel == name]
    hint = f"write {' or '.join(meant)}" if meant else did_you_mean(name, [*own, *theirs, TICK])
    what = "kernel or table" if world.records else "kernel"
    return f"{quote(entry)} is no {what} of the world", hint
