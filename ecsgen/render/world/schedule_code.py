"""Schedules as methods of the world: what they take, what they say, what they call."""

from __future__ import annotations

from ecsgen.model import Component, Enum, World
from ecsgen.model.schedules import TICK, ScheduledCall, arguments_of, fused_passes, passes
from ecsgen.model.typed_tree import Argument
from ecsgen.render.kernel_methods.arguments import ArgumentCode
from ecsgen.render.kernel_methods.kernel_method import fields_in_words, merge_kernels
from ecsgen.render.kernel_methods.row_sources import RowSource, make_world_source
from ecsgen.render.text.formatting import call, for_macro
from ecsgen.render.text.name_shadowing import add_placeholder
from ecsgen.render.text.quoting import WIDTH, docstring_text, literal
from ecsgen.render.world.world_kernel_tests import sample


class ScheduleMethod:
    """A schedule as its template lays it out."""

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
        for one, argument in arguments_of(calls):
            unit = next(unit for named, _, unit in one.kernel.args if named == argument.name)
            self.arguments.append(ArgumentCode(world.name, name, argument, unit))
            self.arguments[-1].constant = f"_{name.upper()}_{argument.name.upper()}_GIVEN"

    @property
    def signature(self) -> str:
        """The lines that begin the method, whose parameters are given by name."""
        given = [argument.parameter for argument in self.arguments]
        parameters = ["self", *["*"] * bool(given), *given]
        line = for_macro(call(f"def {add_placeholder(self.name)}", parameters, 4, " -> None:"))
        return f"@keyword_only\n{line}" if given else line

    @property
    def docstring(self) -> str:
        """The kernels in order, with what each reads and writes, by passes."""
        named = list(dict.fromkeys(one.text for one in self._calls))
        first = f"Run {', '.join(named)}." if len(named) < 4 else "Run kernels one after the other."
        said = "As if called in this order; all arguments are checked before the first one runs."
        units = [f"`{one.name}` is in {one.unit}" for one in self.arguments if one.unit]
        said += f" {'; '.join(units)}." if units else ""
        listed = [docstring_text(line, WIDTH - 8) for line in self._listed]
        blocks = [docstring_text(first, WIDTH - 11), docstring_text(said, WIDTH - 8)]
        return (
            "\n\n".join([*blocks, "\n".join(listed)])
            .replace("\n", "\n    ")
            .replace("\n    \n", "\n\n")
        )

    @property
    def _listed(self) -> list[str]:
        lines = []
        for number, one in ((k, c) for k, each in enumerate(self._passes, 1) for c in each.calls):
            times = f" (at ticks {one.times})" if one.times else ""
            lines.append(f"pass {number}: {one.text}{times} {_effects(one)}.")
        return lines

    @property
    def checks(self) -> list[str]:
        """The statements that check all arguments before the first kernel runs."""
        lines = []
        for argument in self.arguments:
            if argument.name in self._radii:
                given = [
                    literal(f"{self._world.name}.{self.name}: {argument.name}"),
                    argument.block_expression,
                ]
                lines.append(call("checked_radius", given, 8).lstrip().replace("\n    ", "\n"))
                continue
            if not argument.each:
                lines.append(f"{argument.constant}.to_cell({argument.bare_name})")
                continue
            users = [one for one in self._calls if argument.name in one.kernel.each]
            counts = dict.fromkeys(self._count(one) for one in users)
            for count in counts:
                given = [argument.constant, argument.bare_name, count]
                lines.append(call("each_value", given, 8).lstrip().replace("\n    ", "\n"))
        return lines

    @property
    def _radii(self) -> set[str]:
        asking = [one.kernel.program.single_neighbourhood for one in self._calls]
        radii = [near.radius for near in asking if near is not None]
        return {radius.name for radius in radii if isinstance(radius, Argument)}

    def _count(self, one: ScheduledCall) -> str:
        """The expression for how many values an argument has, if it has one for each row."""
        if one.component:
            return f"self.{self._known[one.component].module}.data._n"
        source = make_world_source(self._world, one.over, self._known)
        if isinstance(source, RowSource) and one.over in self._known:
            return source.rows_expression
        return f"len(self.{one.over})"

    @property
    def calls(self) -> list[str]:
        """The statements that run the kernels."""
        lines = []
        for number, found in enumerate(self._passes, 1):
            if (self.name, number) in self._fused:
                holder, fused = self._fused[self.name, number]
                given = [
                    add_placeholder(argument.name)
                    for argument in merge_kernels(fused).program.arguments
                ]
                lines.append(self._called(holder, f"_{fused.name}", given))
            else:
                for one in found.calls:
                    given = [
                        add_placeholder(argument.name) for argument in one.kernel.program.arguments
                    ]
                    lines.append(self._entry(one, given))
        return lines

    def _entry(self, one: ScheduledCall, given: list[str]) -> str:
        depth = 8 if one.every is None else 12
        line = "self.tick += 1"
        if one.is_table:
            line = f"self._line_of_{one.text}()"
        elif one.text != TICK:
            line = self._called(one.component, one.kernel.name, given, depth)
        if one.every is None:
            return line
        return f"if self._is_due({one.every}, {one.start}):\n        {line}"

    @property
    def samples(self) -> list[str]:
        """A value of each argument, as the items of a dict."""
        found = (argument for _, argument in arguments_of(self._calls))
        return [f"{literal(argument.name)}: {sample(argument, self._enums)}" for argument in found]

    @property
    def cases(self) -> list[str]:
        """The calls that do the same."""
        return [call("world_kernels.Call", self._case(one), 16, ",") for one in self._calls]

    def _case(self, one: ScheduledCall) -> list[str]:
        arguments = tuple(argument.name for argument in one.kernel.program.arguments)
        times = [] if one.every is None else [str(one.every), str(one.start)]
        if one.is_table:
            times += ["is_table=True"]
        holder = self._known[one.component].module if one.component else ""
        whose = one.component or one.over
        modules = self._modules(whose) if whose and not one.is_table else ()
        given = (holder, one.kernel.name, arguments, modules)
        return [*(literal(each) for each in given), *times]

    def _modules(self, over: str) -> tuple[str, ...]:
        """What the entities of a component, a group or a query have."""
        if over in self._known:
            component = self._known[over]
            return (component.module,) if component.owner == "entity" else ()
        query = self._world.query(over)
        names = (*self._world.members_of(over), *(query.any[:1] if query else ()))
        return tuple(self._known[name].module for name in names)

    def _called(self, component: str, method: str, given: list[str], depth: int = 8) -> str:
        holder = f"self.{self._known[component].module}" if component else "self"
        line = call(f"{holder}.{method}", given, depth)
        return line.lstrip().replace("\n    ", "\n")


def _effects(one: ScheduledCall) -> str:
    """What a kernel reads, writes and sends, in words."""
    said = ["adds 1"] if one.text == TICK else ["writes a line"] if one.is_table else []
    reads = ", ".join([*one.reads, *(["random numbers"] if one.draws else [])])
    said += fields_in_words(reads, one.reads_of_others, ", ".join(one.writes), one.sends)
    fates = one.kernel.program.effects
    said += [f"spawns {', '.join(fates.spawns)}"] if fates.spawns else []
    said += ["destroys"] if fates.destroys else []
    return "; ".join(said)
