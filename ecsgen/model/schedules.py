"""Schedules: kernels that run one after the other, and the passes that fuse some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ecsgen.model import Component, FusedKernels, Kernel, ScheduleEntry, Table, World
from ecsgen.model.typed_program import Effects, Program
from ecsgen.model.typed_tree import Argument

TICK: Final = "tick"
"""The entry that advances the time."""


def has_time(world: World) -> bool:
    """Return whether a world counts ticks; tables do."""
    return asks_for_time(world) or bool(world.records)


def asks_for_time(world: World) -> bool:
    """Return True if a schedule or kernel of the world needs the time; tables do as well."""
    entries = [entry for _, entries in world.schedules for entry in entries]
    is_timed = any(entry.every or TICK in entry.run for entry in entries)
    kernels = (*world.kernels, *world.assignments)
    return is_timed or any(kernel.program.uses_tick for kernel in kernels)


@dataclass(frozen=True, slots=True)
class ScheduledCall:
    """A name in a schedule: a kernel, a table that gets a line, or the time that goes on."""

    text: str  # as written: Body.age, or drift
    kernel: Kernel
    component: str  # of the kernel; empty for kernels of the world
    kind: Literal["kernel", "table", "tick"]
    when: ScheduleEntry
    """The entry, which says at which ticks, and how often."""
    number: int
    """The index of the entry in its schedule; -1 if it runs once, every time."""

    @property
    def over(self) -> str:
        """The source of its rows: a component, a group or a query; several for some tables."""
        return self.component or self.kernel.over

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that the entry reads, with their components."""
        return tuple(map(self._named, self.kernel.program.effects.reads))

    @property
    def writes(self) -> tuple[str, ...]:
        """The fields that the entry writes, with their components."""
        return tuple(map(self._named, self.kernel.program.effects.writes))

    @property
    def reads_of_others(self) -> tuple[str, ...]:
        """The fields of other rows that the entry reads, with their components: first by
        references, then of neighbours, and by reductions."""
        effects = self.kernel.program.effects
        neighbours = map(self._named, effects.reads_neighbours)
        fields = (*effects.reads_referenced, *neighbours, *effects.reads_reduced)
        return tuple(dict.fromkeys(fields))

    @property
    def values(self) -> tuple[str, ...]:
        """The reductions and settings that the entry reads."""
        program = self.kernel.program
        reduced = (f"{value.name}()" for value in program.reduced)
        return (*reduced, *(value.name for value in program.settings))

    @property
    def draws(self) -> bool:
        """True if the entry draws random numbers."""
        return self.kernel.program.stream_field is not None

    def _named(self, field: str) -> str:
        return f"{self.component}.{field}" if self.component else field


@dataclass(frozen=True, slots=True)
class FusedPass:
    """Kernels that run over the same rows together, block by block."""

    calls: tuple[ScheduledCall, ...]
    why: str = ""
    """The reason why the first kernel is not in the pass before."""


def kernel_named(entry: str, components: Mapping[str, Component], world: World) -> Kernel | None:
    """Return the kernel that an entry of a schedule names, if there is one."""
    holder, dot, name = entry.rpartition(".")
    component = components.get(holder)
    kernels = component.kernels if component else () if dot else world.kernels
    return next((kernel for kernel in kernels if kernel.name == name), None)


def resolve_calls(
    schedule: Iterable[ScheduleEntry], components: Mapping[str, Component], world: World
) -> tuple[ScheduledCall, ...]:
    """Return the calls of a schedule without errors."""
    tables = {table.name: _as_kernel(table) for table in world.records}
    calls = []
    for number, entry in enumerate(schedule):
        when = entry, -1 if entry.is_plain else number
        if entry.assignment is not None:
            text = f"{entry.set} = {entry.to}"
            calls.append(ScheduledCall(text, entry.assignment, "", "kernel", *when))
        for text in entry.run:
            holder = text.rpartition(".")[0]
            if kernel := kernel_named(text, components, world):
                calls.append(ScheduledCall(text, kernel, holder, "kernel", *when))
            elif text == TICK:
                calls.append(ScheduledCall(text, Kernel(TICK, ()), "", "tick", *when))
            else:
                calls.append(ScheduledCall(text, tables[text], "", "table", *when))
    return tuple(calls)


def _as_kernel(table: Table) -> Kernel:
    program = Program(effects=Effects(reads=table.reads))
    return Kernel(table.name, (), over=", ".join(table.over), program=program)


def arguments_of(calls: Iterable[ScheduledCall]) -> Iterator[tuple[ScheduledCall, Argument]]:
    """Yield each argument once, with the first entry that has it."""
    seen: set[str] = set()
    for call in calls:
        for argument in call.kernel.program.arguments:
            if argument.name not in seen:
                seen.add(argument.name)
                yield call, argument


def passes(calls: Iterable[ScheduledCall], world: World) -> tuple[FusedPass, ...]:
    """Return the passes in which a schedule runs."""
    chunked = {query.name for query in world.queries if query.chunked}
    fused: list[FusedPass] = []
    for call in calls:
        why = _why_not(call, fused[-1], chunked) if fused else ""
        if fused and not why:
            fused[-1] = FusedPass((*fused[-1].calls, call), fused[-1].why)
        else:
            fused.append(FusedPass((call,), why))
    return tuple(fused)


def fused_passes(
    components: Mapping[str, Component], world: World
) -> dict[tuple[str, int], tuple[str, FusedKernels]]:
    """Return the passes of several kernels by schedule and number, each with its component, or
    nothing for passes of the world."""
    fused: dict[tuple[str, int], tuple[str, FusedKernels]] = {}
    for schedule, entries in world.schedules:
        calls = resolve_calls(entries, components, world)
        for number, fused_pass in enumerate(passes(calls, world), 1):
            if len(fused_pass.calls) > 1:
                holder = fused_pass.calls[0].component
                owner = components.get(holder)
                taken = {kernel.name for kernel in (owner or world).kernels}
                taken |= {reduction.name for reduction in owner.reductions} if owner else set()
                name = f"{schedule}_{number}"
                while name in taken:
                    name += "_"
                kernels = tuple(call.kernel for call in fused_pass.calls)
                fused[schedule, number] = holder, FusedKernels(name, kernels)
    return fused


def used_reductions(components: Iterable[Component], world: World) -> frozenset[str]:
    """Return the reductions whose values kernels, tables, schedules and other reductions read."""
    readers = [kernel.program.reduced for kernel in (*world.kernels, *world.assignments)]
    readers += [each.program.reduced for c in components for each in c.reductions]
    readers += [table.reduced for table in world.records]
    used = {value.name for values in readers for value in values}
    entries = (entry for _, entries in world.schedules for entry in entries)
    return frozenset(used | {entry.condition for entry in entries})


def _why_not(call: ScheduledCall, before: FusedPass, chunked: set[str]) -> str:
    last = before.calls[-1]
    for entry in (last, call):
        if entry.when.why_alone and call.number != last.number:
            return f"{entry.text} {entry.when.why_alone}"
        if entry.kind != "kernel":
            does = "writes lines" if entry.kind == "table" else "advances the time"
            return f"{entry.text} {does}"
    if call.over == last.over and call.component != last.component:
        return f"{call.text} is a kernel of {'a component' if call.component else 'the world'}"
    if call.over != last.over:
        return f"{call.text} runs over {call.over}, {last.text} over {last.over}"
    if call.kernel.program.reduced:
        return f"{call.text} reads {call.kernel.program.reduced[0].name}()"
    if call.kernel.rows != last.kernel.rows:
        return f"{call.text} runs over {call.kernel.rows} rows, unlike {last.text}"
    if call.over in chunked:
        return f"the rows of {call.over} lie in chunks"
    for entry in (last, call):
        reason = _on_its_own(entry.kernel)
        if reason:
            return f"{entry.text} {reason}"
    return ""


def _on_its_own(kernel: Kernel) -> str:
    """Return the reason why a kernel shares no pass: it needs more than its own rows."""
    program = kernel.program
    needs_others = bool(program.effects.referenced_components) or program.is_order_dependent
    reasons = {
        "reads parents": program.runs_by_level,
        "depends on other rows": needs_others,
        "tells cells apart by their numbers": program.uses_cell_numbers,
        "takes a value for each row": bool(kernel.each),
        "has loops": program.has_loops,
        "uses all cores": kernel.parallel,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")
