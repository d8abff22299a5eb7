"""Schedules: kernels that are called one after the other, and which of them run in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from ecsgen.model import Component, FusedKernels, Kernel, ScheduleEntry, Table, World
from ecsgen.model.typed_tree import Argument, Effects, Program

TICK: Final = "tick"
"""The entry that moves the time."""


def asks_for_time(world: World) -> bool:
    """Return whether a schedule or kernel does; tables do as well."""
    entries = [entry for _, entries in world.schedules for entry in entries]
    is_timed = any(entry.every or entry.run == TICK for entry in entries)
    return is_timed or any(one.program.uses_tick for one in world.kernels)


@dataclass(frozen=True, slots=True)
class ScheduledCall:
    """One entry of a schedule."""

    text: str  # as written: Body.age, or drift
    kernel: Kernel
    component: str  # whose kernel it is; empty for the world's
    every: int | None = None  # how many ticks apart it happens; None: always
    start: int = 0  # the first of them
    is_table: bool = False  # whether it writes a line of one

    @property
    def times(self) -> str:
        """The first ticks at which it happens; nothing if it does always."""
        return "" if self.every is None else f"{self.start}, {self.start + self.every}, …"

    @property
    def over(self) -> str:
        """What it runs over: a component, a group or a query; a table perhaps over several."""
        return self.component or self.kernel.over

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields that it reads, with their components."""
        return tuple(map(self._named, self.kernel.program.effects.reads))

    @property
    def writes(self) -> tuple[str, ...]:
        """The fields that it writes, with their components."""
        return tuple(map(self._named, self.kernel.program.effects.writes))

    @property
    def reads_of_others(self) -> tuple[str, ...]:
        """The fields of other rows that it reads, with their components: of those that it refers
        to, then of neighbours."""
        effects = self.kernel.program.effects
        return tuple(
            dict.fromkeys((*effects.reads_referenced, *map(self._named, effects.reads_neighbours)))
        )

    @property
    def sends(self) -> tuple[str, ...]:
        """The fields of other rows that it sends to, with their components."""
        return self.kernel.program.effects.sends

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers."""
        return self.kernel.program.stream_field is not None

    def _named(self, field: str) -> str:
        return f"{self.component}.{field}" if self.component else field


@dataclass(frozen=True, slots=True)
class FusedPass:
    """Kernels that go through the same rows together, block by block."""

    calls: tuple[ScheduledCall, ...]
    why: str = ""
    """Why its first kernel is not in the pass before."""


def kernel_named(entry: str, components: Mapping[str, Component], world: World) -> Kernel | None:
    """Return the kernel that an entry of a schedule names, if there is one."""
    holder, dot, name = entry.rpartition(".")
    component = components.get(holder)
    kernels = component.kernels if component else () if dot else world.kernels
    return next((kernel for kernel in kernels if kernel.name == name), None)


def resolve_calls(
    schedule: Iterable[ScheduleEntry], components: Mapping[str, Component], world: World
) -> tuple[ScheduledCall, ...]:
    """Return the entries of a schedule that has no mistake."""
    tables = {table.name: _as_kernel(table) for table in world.records}
    found = []
    for text, every, start in schedule:
        kernel = tables.get(text) or kernel_named(text, components, world) or Kernel(TICK, ())
        found.append(
            ScheduledCall(text, kernel, text.rpartition(".")[0], every, start, text in tables)
        )
    return tuple(found)


def _as_kernel(table: Table) -> Kernel:
    program = Program(effects=Effects(reads=table.reads))
    return Kernel(table.name, (), over=", ".join(table.over), program=program)


def arguments_of(calls: Iterable[ScheduledCall]) -> Iterator[tuple[ScheduledCall, Argument]]:
    """Yield the arguments by name as they first come up, with the entry where that is."""
    seen: set[str] = set()
    for call in calls:
        for argument in call.kernel.program.arguments:
            if argument.name not in seen:
                seen.add(argument.name)
                yield call, argument


def passes(calls: Iterable[ScheduledCall], world: World) -> tuple[FusedPass, ...]:
    """Return the passes in which a schedule runs."""
    chunked = {query.name for query in world.queries if query.chunked}
    found: list[FusedPass] = []
    for call in calls:
        why = _why_not(call, found[-1], chunked) if found else ""
        if found and not why:
            found[-1] = FusedPass((*found[-1].calls, call), found[-1].why)
        else:
            found.append(FusedPass((call,), why))
    return tuple(found)


def fused_passes(
    components: Mapping[str, Component], world: World
) -> dict[tuple[str, int], tuple[str, FusedKernels]]:
    """Return the passes of several kernels by schedule and number, with whose rows they go through.

    Whose: a component, or nothing for the world's.
    """
    found: dict[tuple[str, int], tuple[str, FusedKernels]] = {}
    for schedule, entries in world.schedules:
        calls = resolve_calls(entries, components, world)
        for number, each in enumerate(passes(calls, world), 1):
            if len(each.calls) > 1:
                holder = each.calls[0].component
                owner = components.get(holder)
                taken = {kernel.name for kernel in (owner or world).kernels}
                taken |= {one.name for one in owner.reductions} if owner else set()
                name = f"{schedule}_{number}"
                while name in taken:
                    name += "_"
                kernels = tuple(call.kernel for call in each.calls)
                found[schedule, number] = holder, FusedKernels(name, kernels)
    return found


def _why_not(call: ScheduledCall, before: FusedPass, chunked: set[str]) -> str:
    last = before.calls[-1]
    for one in (last, call):
        if one.every:
            return f"{one.text} happens at times"
        if one.is_table or one.text == TICK:
            return f"{one.text} {'writes lines' if one.is_table else 'moves the time'}"
    if call.over == last.over and call.component != last.component:
        return f"{call.text} is {'of a component' if call.component else 'of the world'}"
    if call.over != last.over:
        return f"{call.over} are other rows than {last.over}"
    if call.kernel.rows != last.kernel.rows:
        return f"{call.kernel.rows} rows of {call.over} are others than the {last.kernel.rows} ones"
    if call.over in chunked:
        return f"the rows of {call.over} lie in chunks"
    for one in (last, call):
        reason = _on_its_own(one.kernel)
        if reason:
            return f"{one.text} {reason}"
    return ""


def _on_its_own(kernel: Kernel) -> str:
    """Why a kernel shares no pass: it does more than to look at its own rows."""
    program = kernel.program
    reasons = {
        "reads parents": program.runs_by_level,
        "is concerned with other rows": bool(
            program.effects.referenced_components or program.is_order_dependent
        ),
        "takes a value for each row": bool(kernel.each),
        "uses all cores": kernel.parallel,
    }
    return next((reason for reason, is_so in reasons.items() if is_so), "")
