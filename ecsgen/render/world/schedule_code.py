"""Methods of schedules: arguments, docstring, calls of kernels."""

from __future__ import annotations

from collections.abc import Iterable

from ecsgen.model import Component, Default, Enum, World
from ecsgen.model.schedules import TICK, ScheduledCall, arguments_of, fused_passes, passes
from ecsgen.model.typed_tree import Argument
from ecsgen.render.kernel_methods.arguments import ArgumentCode
from ecsgen.render.kernel_methods.kernel_method import (
    fields_in_words,
    leaves_holes_out,
    merge_kernels,
)
from ecsgen.render.text.formatting import call, for_macro
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import WIDTH, docstring_text, literal


class ScheduleMethod:
    """Code of a schedule, for its template."""

    def __init__(
        self,
        world: World,
        name: str,
        calls: tuple[ScheduledCall, ...],
        known: dict[str, Component],
        enums: tuple[Enum, ...],
    ) -> None:
        self.name = name
        self._world = world
        self._calls = calls
        self._known = known
        self._enums = enums
        self._passes = passes(calls, world)
        self._fused = fused_passes(known, world)
        self.arguments = []
        for entry, argument in arguments_of(calls):
            unit = next(unit for named, _, unit in entry.kernel.args if named == argument.name)
            self.arguments.append(ArgumentCode(world.name, name, argument, unit))
            self.arguments[-1].constant = f"_{name.upper()}_{argument.name.upper()}_GIVEN"

    @property
    def signature(self) -> str:
        """Head of the method, with keyword-only parameters."""
        named_parameters = [argument.parameter for argument in self.arguments]
        parameters = ["self", *["*"] * bool(named_parameters), *named_parameters]
        line = for_macro(call(f"def {add_placeholder(self.name)}", parameters, 4, " -> None:"))
        return f"@keyword_only\n{line}" if named_parameters else line

    @property
    def docstring(self) -> str:
        """Docstring: kernels in order, with fields that each reads and writes, by passes."""
        named = list(dict.fromkeys(entry.text for entry in self._calls))
        first = f"Run {', '.join(named)}." if len(named) < 4 else "Run kernels one after the other."
        text = "As if called in this order; all arguments are checked before the first one runs."
        units = [f"`{a.name}` is in {a.unit}" for a in self.arguments if a.unit]
        text += f" {'; '.join(units)}." if units else ""
        listed = [docstring_text(line, WIDTH - 8) for line in self._listed]
        blocks = [docstring_text(first, WIDTH - 11), docstring_text(text, WIDTH - 8)]
        return (
            "\n\n".join([*blocks, "\n".join(listed)])
            .replace("\n", "\n    ")
            .replace("\n    \n", "\n\n")
        )

    @property
    def _listed(self) -> list[str]:
        lines = []
        for number, entry in ((k, c) for k, each in enumerate(self._passes, 1) for c in each.calls):
            times = f" (at ticks {entry.times})" if entry.times else ""
            lines.append(f"pass {number}: {entry.text}{times} {_effects(entry)}.")
        return lines

    @property
    def checks(self) -> list[str]:
        """Statements that check all arguments before the first kernel runs."""
        lines = []
        for argument in self.arguments:
            if argument.name in self._radii:
                arguments = [
                    literal(f"{self._world.name}.{self.name}: {argument.name}"),
                    argument.block_expression,
                ]
                lines.append(call("checked_radius", arguments, 8).lstrip().replace("\n    ", "\n"))
                continue
            if not argument.each:
                lines.append(f"{argument.constant}.to_cell({argument.bare_name})")
                continue
            users = [entry for entry in self._calls if argument.name in entry.kernel.each]
            counts = dict.fromkeys(self._count(entry) for entry in users)
            for count in counts:
                arguments = [argument.constant, argument.bare_name, count]
                lines.append(call("each_value", arguments, 8).lstrip().replace("\n    ", "\n"))
        return lines

    @property
    def _radii(self) -> set[str]:
        nears = [entry.kernel.program.single_neighbourhood for entry in self._calls]
        radii = [near.radius for near in nears if near is not None]
        return {radius.name for radius in radii if isinstance(radius, Argument)}

    def _count(self, entry: ScheduledCall) -> str:
        """Return the expression for the number of rows of a call."""
        component = self._known.get(entry.over)
        if component is None:
            return f"len(self.{entry.over})"
        is_world = not entry.component
        if leaves_holes_out(entry.kernel, component.lookup == "direct", is_world):
            return f"len(self.{component.module})"
        is_of_active = is_world and component.partition
        return f"self.{component.module}.data._n{'_active' if is_of_active else ''}"

    @property
    def calls(self) -> list[str]:
        """Statements that run the kernels."""
        lines = []
        for number, group in enumerate(self._passes, 1):
            if (self.name, number) in self._fused:
                holder, fused = self._fused[self.name, number]
                arguments = [
                    add_placeholder(argument.name)
                    for argument in merge_kernels(fused).program.arguments
                ]
                lines.append(self._call_line(holder, f"_{fused.name}", arguments))
            else:
                for entry in group.calls:
                    arguments = [
                        add_placeholder(argument.name)
                        for argument in entry.kernel.program.arguments
                    ]
                    lines.append(self._entry(entry, arguments))
        return lines

    def _entry(self, entry: ScheduledCall, arguments: list[str]) -> str:
        depth = 8 if entry.every is None else 12
        line = "self.tick += 1"
        if entry.is_table:
            line = f"self._line_of_{entry.text}()"
        elif entry.text != TICK:
            line = self._call_line(entry.component, entry.kernel.name, arguments, depth)
        if entry.every is None:
            return line
        return f"if self._is_due({entry.every}, {entry.start}):\n        {line}"

    @property
    def samples(self) -> list[str]:
        """Value of each argument, as the items of a dict."""
        arguments = (argument for _, argument in arguments_of(self._calls))
        return [f"{literal(a.name)}: {sample(a, self._enums)}" for a in arguments]

    @property
    def cases(self) -> list[str]:
        """Equivalent calls of single kernels, for tests."""
        return [call("schedule_cases.Call", self._case(entry), 16, ",") for entry in self._calls]

    def _case(self, entry: ScheduledCall) -> list[str]:
        arguments = tuple(argument.name for argument in entry.kernel.program.arguments)
        times = [] if entry.every is None else [str(entry.every), str(entry.start)]
        if entry.is_table:
            times += ["is_table=True"]
        holder = self._known[entry.component].module if entry.component else ""
        over = entry.component or entry.over
        modules = self._modules(over) if over and not entry.is_table else ()
        items = (holder, entry.kernel.name, arguments, modules)
        return [*(literal(each) for each in items), *times]

    def _modules(self, over: str) -> tuple[str, ...]:
        """Return the components of entities in a component, a group or a query."""
        if over in self._known:
            component = self._known[over]
            return (component.module,) if component.owner == "entity" else ()
        query = self._world.query(over)
        names = (*self._world.members_of(over), *(query.any[:1] if query else ()))
        return tuple(self._known[name].module for name in names)

    def _call_line(self, component: str, method: str, arguments: list[str], depth: int = 8) -> str:
        holder = f"self.{self._known[component].module}" if component else "self"
        line = call(f"{holder}.{method}", arguments, depth)
        return line.lstrip().replace("\n    ", "\n")


def _effects(entry: ScheduledCall) -> str:
    """Return which fields a kernel reads, writes and sends to, in words."""
    parts = ["adds 1"] if entry.text == TICK else ["writes a line"] if entry.is_table else []
    reads = ", ".join([*entry.reads, *(["random numbers"] if entry.draws else [])])
    parts += fields_in_words(reads, entry.reads_of_others, ", ".join(entry.writes), entry.sends)
    effects = entry.kernel.program.effects
    parts += reversed(effects.commands_in_words)
    return "; ".join(parts)


def sample(argument: Argument, enums: Iterable[Enum]) -> str:
    """Return a value of an argument's type, as a literal."""
    type_, numbers = argument.type, {enum.name: enum.default for enum in enums}
    value: Default = {"bool": True, "f32": 0.5, "f64": 0.25}.get(type_.scalar, 1)
    value = numbers.get(type_.enum, value)
    for length in reversed(argument.type.shape):
        value = (value,) * length
    return literal(value)
