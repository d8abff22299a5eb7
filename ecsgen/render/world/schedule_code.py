"""Methods of schedules: arguments, docstring, calls of kernels."""

from __future__ import annotations

from itertools import groupby

from ecsgen.model import Component, World
from ecsgen.model.schedules import FusedPass, ScheduledCall, arguments_of, fused_passes, passes
from ecsgen.model.typed_tree import Argument
from ecsgen.render.kernel_methods.arguments import ArgumentCode, value_call
from ecsgen.render.kernel_methods.kernel_method import (
    fields_in_words,
    leaves_holes_out,
    merge_kernels,
)
from ecsgen.render.text.formatting import call, call_line, docstring_lines, for_macro, keywords
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
    ) -> None:
        self.name = name
        self._world = world
        self._calls = calls
        self._known = known
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
        parameters = ["self", *keywords(named_parameters)]
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
        return docstring_lines([*blocks, "\n".join(listed)])

    @property
    def _listed(self) -> list[str]:
        lines = []
        for number, entry in ((k, c) for k, each in enumerate(self._passes, 1) for c in each.calls):
            ticks = f"at ticks {entry.when.ticks}" if entry.when.ticks else ""
            occasion = "; ".join(filter(None, (ticks, entry.when.repeats)))
            when = f" ({occasion})" if occasion else ""
            lines.append(f"pass {number}: {entry.text}{when} {_effects(entry)}.")
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
                lines.append(call_line("checked_radius", arguments, 8))
                continue
            if not argument.each:
                lines.append(f"{argument.constant}.to_cell({argument.bare_name})")
                continue
            users = [entry for entry in self._calls if argument.name in entry.kernel.each]
            counts = dict.fromkeys(self._count(entry) for entry in users)
            for count in counts:
                arguments = [argument.constant, argument.bare_name, count]
                lines.append(call_line("each_value", arguments, 8))
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
        numbered = enumerate(self._passes, 1)
        for _, group in groupby(numbered, key=lambda each: each[1].calls[0].number):
            lines += self._block([*group])
        return lines

    def _block(self, group: list[tuple[int, FusedPass]]) -> list[str]:
        """Return the statements that run passes, once or as often as their entry says."""
        entry, heads, ends = group[0][1].calls[0].when, list[str](), list[str]()
        if entry.every is not None:
            heads.append(f"if self._is_due({entry.every}, {entry.start}):")
        if entry.is_repeated:
            heads.append(f"for _ in range({entry.times}):")
        if entry.condition:
            holder, _, reduction = entry.condition.rpartition(".")
            pad = " " * 4 * len(heads)
            value = value_call(f"self.{self._known[holder].module}", reduction)
            ends = [f"{pad}if not {value}:", f"{pad}    break", f"{pad[4:]}else:"]
            label = literal(f"{self._world.name}.{self.name}")
            arguments = [label, literal(entry.condition), str(entry.times)]
            ends.append(pad + call_line("warn_still_true", arguments, len(pad) + 8))
        pad = " " * 4 * len(heads)
        lines = [pad + line for each in group for line in self._pass_lines(*each, len(pad) + 8)]
        block = [*(" " * 4 * k + head for k, head in enumerate(heads)), *lines, *ends]
        return ["\n    ".join(block)] if heads else block

    def _pass_lines(self, number: int, fused_pass: FusedPass, depth: int) -> list[str]:
        if (self.name, number) not in self._fused:
            return [self._entry(entry, depth) for entry in fused_pass.calls]
        holder, fused = self._fused[self.name, number]
        merged = merge_kernels(fused).program.arguments
        arguments = [add_placeholder(argument.name) for argument in merged]
        return [self._method_line(holder, f"_{fused.name}", arguments, depth)]

    def _entry(self, entry: ScheduledCall, depth: int) -> str:
        match entry.kind:
            case "tick":
                return "self.tick += 1"
            case "table":
                return f"self._line_of_{entry.text}()"
        arguments = [add_placeholder(each.name) for each in entry.kernel.program.arguments]
        return self._method_line(entry.component, entry.kernel.method, arguments, depth)

    def _method_line(self, component: str, method: str, arguments: list[str], depth: int) -> str:
        holder = f"self.{self._known[component].module}" if component else "self"
        return call_line(f"{holder}.{method}", arguments, depth)


def _effects(entry: ScheduledCall) -> str:
    """Return which fields a kernel reads, writes and sends to, in words."""
    parts = {"tick": ["adds 1"], "table": ["writes a line"]}.get(entry.kind, [])
    reads = ", ".join([*entry.reads, *entry.values, *["random numbers"] * entry.draws])
    effects = entry.kernel.program.effects
    parts += fields_in_words(reads, entry.reads_of_others, ", ".join(entry.writes), effects.sends)
    parts += reversed(effects.commands_in_words)
    return "; ".join(parts)
