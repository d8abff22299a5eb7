"""Checks of schedules: their entries, the ticks at which these run, and their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Component, Kernel, Mark, ScheduleEntry, World
from ecsgen.model.schedules import TICK, kernel_named
from ecsgen.model.typed_tree import Despawn


def check_schedules(
    world: World, components: Mapping[str, Component], complete: Set[str], diagnostics: Diagnostics
) -> None:
    """Report E514 at entries that are no kernels or tables, or whose arguments contradict.

    `complete`: components all of whose kernels could be read, and "" for the world.
    """
    unknown = components.keys() - complete | {""} - complete
    for name, entries in world.schedules:
        checker = _ScheduleChecker(world, components, unknown, diagnostics)
        for index, entry in enumerate(entries):
            path = f"schedule.{name}.{index}"
            checker.check_numbers(entry, path)
            checker.check_condition(entry, path)
            checker.check_kernels(entry, path)


@dataclass(slots=True)
class _ScheduleChecker:
    """The checks of one schedule's entries, in order."""

    world: World
    components: Mapping[str, Component]
    unknown: Set[str]
    """The components of which some kernels could not be read, and "" for the world."""
    diagnostics: Diagnostics
    types: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The type of each argument, and the first entry with it."""
    changed: set[str] = field(default_factory=set)
    """The components with spawned or despawned rows."""

    def check_numbers(self, entry: ScheduleEntry, path: str) -> None:
        """Report E514 for ticks and times below those that there are."""
        marks = self.world.marks
        shown = quote(entry.set or ", ".join(entry.run))
        runs, sets, to = (f"{path}.{key}" in marks for key in ("run", "set", "to"))
        is_wrong = (runs or bool(entry.run)) == sets or sets != to
        if is_wrong and f"{path}.…" not in marks:
            message, hint = "an entry has 'run', or 'set' and 'to'", "as in `{run: move, every: 2}`"
            self._report(message, marks[path], hint)
        is_never = entry.every is not None and entry.every < 1
        if wrong := "from" if entry.start < 0 else "every" if is_never else "":
            message = f"{shown} runs every {entry.every} ticks from {entry.start}"
            hint = "'every' is 1 or more, and 'from' 0 or more"
            self._report(message, marks[f"{path}.{wrong}"], hint)
        count = "at_most" if entry.condition else "times"
        if entry.times < 1:
            message = f"{shown} runs {entry.times} times"
            self._report(message, marks[f"{path}.{count}"], f"{quote(count)} is 1 or more")
        pairs = {"while": "at_most", "at_most": "while"}
        for key, other in pairs.items():
            if f"{path}.{key}" in marks and f"{path}.{other}" not in marks:
                hint = "as in `at_most: 1000`" if other == "at_most" else ""
                message = f"{quote(key)} needs {quote(other)} beside it"
                self._report(message, marks[f"{path}.{key}"], hint)
        if entry.condition and f"{path}.times" in marks:
            message = "'times' beside 'while', which says how often it runs"
            self._report(message, marks[f"{path}.times"], "'at_most' bounds it")

    def check_condition(self, entry: ScheduleEntry, path: str) -> None:
        """Report E514 for a condition that is no reduction to one number."""
        holder, _, name = entry.condition.rpartition(".")
        if not entry.condition or holder in self.unknown:
            return
        mark, component = self.world.marks[f"{path}.while"], self.components.get(holder)
        if component is None:
            known = [f"{c.name}.{r.name}" for c in self.components.values() for r in c.reductions]
            hint = did_you_mean(entry.condition, known) or "name one, as in `while: Node.moving`"
            self._report(f"{quote(entry.condition)} is no reduction of a component", mark, hint)
            return
        reductions = {reduction.name: reduction for reduction in component.reductions}
        if name not in reductions:
            hint = did_you_mean(name, reductions)
            self._report(f"{quote(name)} is no reduction of {quote(holder)}", mark, hint)
        elif (type_ := reductions[name].program.value.type).shape:
            message = f"{quote(entry.condition)} is {type_}, and a condition is one number"
            self._report(message, mark)

    def check_kernels(self, entry: ScheduleEntry, path: str) -> None:
        """Report contradictions to kernels before. Those of a repeated entry all come before each
        of them."""
        kernels = list(self._kernels_of(entry, path))
        for _, kernel, _ in kernels if entry.is_repeated else ():
            self._change(kernel)
        for text, kernel, mark in kernels:
            self._check(text, kernel, mark)
            self._change(kernel)

    def _kernels_of(self, entry: ScheduleEntry, path: str) -> Iterator[tuple[str, Kernel, Mark]]:
        """Yield the kernels of an entry with their marks; reports E514 for what is none."""
        marks, tables = self.world.marks, {table.name for table in self.world.records}
        for number, text in enumerate(entry.run):
            mark = marks.get(f"{path}.run.{number}") or marks.get(f"{path}.run") or marks[path]
            kernel = kernel_named(text, self.components, self.world)
            may_be_wrong = text.rpartition(".")[0] in self.unknown  # and reported already
            if kernel is not None:
                yield text, kernel, mark
            elif text != TICK and text not in tables and not may_be_wrong:
                message, hint = _no_kernel(text, self.world, self.components)
                self._report(message, mark, hint)

    def _report(self, message: str, mark: Mark, hint: str = "") -> None:
        self.diagnostics.add("E514", message, mark, hint=hint)

    def _change(self, kernel: Kernel) -> None:
        """Take note of the rows that a kernel spawns or destroys."""
        effects = kernel.program.effects
        self.changed.update((*effects.spawns, *effects.adds, *effects.removes))
        targets = [step.target for step in kernel.program.actions]
        despawned = [target.component for target in targets if isinstance(target, Despawn)]
        self.changed.update(filter(None, despawned))
        if not all(despawned):  # entities, with all rows that go with them
            affected = (c for c in self.components.values() if c.owner == "entity" or c.on_delete)
            self.changed.update(c.name for c in affected if c.destroy != "manual")

    def _check(self, entry: str, kernel: Kernel, mark: Mark) -> None:
        rows = self.world.members_of(entry.rpartition(".")[0] or kernel.over)
        if kernel.each and self.changed.intersection(rows):
            message = f"{quote(entry)} has a value for each row, and an entry before it"
            self._report(f"{message} changes which rows there are", mark)
        for argument, text, _ in kernel.args:
            shown = f"{text} of each row" if argument in kernel.each else text
            first, where = self.types.setdefault(argument, (shown, entry))
            if first != shown:
                message = f"{quote(argument)} is {first} in {quote(where)}"
                message += f" and {shown} in {quote(entry)}"
                self._report(message, mark, "give one of them another name")


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
