"""Layouts and schedules as tables, and remarks on them: what `ecsgen layout` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from ecsgen.layout.memory_layout import ChunkLayout, Layout, type_text
from ecsgen.model import Component, World
from ecsgen.model.columns import Column, field_columns
from ecsgen.model.schedules import ScheduledCall, arguments_of, passes


def format_layout(plan: Layout, capacity: int = 64) -> str:
    """Return a layout as text: one table per buffer, a line per column, then the totals."""
    if plan.cold is None:
        return _table(plan, capacity)
    return f"{_table(plan, capacity)}\n{_table(plan.cold, capacity, 'cold column')}"


def _table(plan: Layout, capacity: int, heading: str = "column") -> str:
    columns = [(c.name, c, plan.bytes_before(c) * capacity) for c in plan.columns]
    columns += [(c.name, c, 0) for c in plan.objects]
    total = f"{plan.row_bytes} bytes per row, {plan.buffer_bytes(capacity)} for {capacity} rows"
    return f"{_columns(columns, capacity, heading)}\n{total}\n"


def chunk_table(component: Component) -> str:
    """Return a component's columns in archetype chunks as text, a line per column."""
    columns = [column for field in component.fields for column in field_columns(field)]
    rows = [("column", "type", "tags", "bytes/row")]
    for column in columns:
        nbytes = "beside" if column.is_object else str(column.nbytes)
        rows.append((column.name, type_text(column), " ".join(column.tags), nbytes))
    total = sum(column.nbytes for column in columns)
    count = f"{total} bytes per row, in archetype chunks of {component.chunk} bytes"
    return f"{_aligned(rows, (3,))}\n{count}"


def chunk_plan_table(plan: ChunkLayout) -> str:
    """Return the layout of a chunk as text: a line per column, then the totals."""
    columns = [(each.name, each.column, each.offset) for each in (*plan.columns, *plan.objects)]
    total = f"{plan.row_bytes} bytes per row, {plan.rows} rows in a chunk of {plan.size} bytes"
    return f"{_columns(columns, plan.rows)}\n{total}, {plan.free} of them free\n"


def _columns(
    columns: Sequence[tuple[str, Column, int]], capacity: int, heading: str = "column"
) -> str:
    """The lines of a buffer's table: names, columns and offsets; objects have no place in it."""
    rows = [(heading, "type", "bytes/row", f"offset ({capacity} rows)", "tags")]
    for name, column, offset in columns:
        place = ("beside", "") if column.is_object else (str(column.nbytes), str(offset))
        rows.append((name, type_text(column), *place, " ".join(column.tags)))
    return _aligned(rows, (2, 3))


def _aligned(rows: Sequence[tuple[str, ...]], numbers: Sequence[int]) -> str:
    """Return rows as text in columns, of which some have numbers, the first row underlined."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if place in numbers else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def remarks(component: Component, world: World) -> Iterator[str]:
    """Fields that no kernel uses but are hot, and cold ones that kernels read.

    Nothing about components without kernels. These are hints: somebody else may use the field.
    """
    used, read = _fields_used(component, world)
    if not used:
        return
    for field in component.fields:
        if not (field.is_cold or field.is_cell_reference) and field.name not in used:
            yield f"hint: no kernel uses the hot field {field.name!r}: should it be tagged cold?"
        elif field.is_cold and field.name in read:
            yield f"hint: a kernel reads the cold field {field.name!r}: should it be hot?"


def _fields_used(component: Component, world: World) -> tuple[set[str], set[str]]:
    """The fields that kernels and reductions read or write, and those that they read."""
    effects = [kernel.program.effects for kernel in component.kernels]
    reads = [*(one.reads for one in effects), *(one.program.reads for one in component.reductions)]
    read = {name.removeprefix("parent.") for names in reads for name in names}
    written = {name for one in effects for name in one.writes}
    prefix = f"{component.name}."
    for table in world.records:
        read |= {name.removeprefix(prefix) for name in table.reads if name.startswith(prefix)}
    for one in (kernel.program.effects for kernel in world.kernels):
        read |= {name.removeprefix(prefix) for name in one.reads if name.startswith(prefix)}
        written |= {name.removeprefix(prefix) for name in one.writes if name.startswith(prefix)}
    return read | written, read


def schedule_title(name: str, calls: Sequence[ScheduledCall]) -> str:
    """Return what a schedule takes, as in `step(dt: f32)`."""
    given = []
    for call, argument in arguments_of(calls):
        each = " of each row" if argument.each else ""
        text = next(text for known, text, _ in call.kernel.args if known == argument.name)
        given.append(f"{argument.name}: {text}{each}")
    return f"{name}({', '.join(given)})"


def schedule_table(name: str, calls: Sequence[ScheduledCall], world: World) -> str:
    """Return a schedule as text: its kernels in order, what each does with fields, and the passes,
    with the reasons for which they begin."""
    found = passes(calls, world)
    said = [[call.times, *effects(call).values()] for call in calls]
    shown = [*map(any, zip(*said, strict=True))]  # a column that says nothing is left out
    numbers = [number for number, each in enumerate(found, 1) for _ in each.calls]
    rows = [("pass", "kernel", "over", *compress(("at ticks", *effects(calls[0])), shown))]
    rows += [
        (f"{number:4}", call.text, call.over, *compress(cells, shown))
        for number, call, cells in zip(numbers, calls, said, strict=True)
    ]
    heading, _, *lines = _aligned(rows, ()).split("\n")
    whys = [f"pass {number}: {each.why}" for number, each in enumerate(found, 1) if each.why]
    return "\n".join([schedule_title(name, calls), heading, *lines, *whys]) + "\n"


def effects(call: ScheduledCall) -> dict[str, str]:
    """Return what a kernel does with fields, as it spells them: in words, which fields."""
    program = call.kernel.program
    drawn = ["random"] if call.draws else []
    return {
        "reads": ", ".join([*_gathered(program.effects.reads), *drawn]),
        "of others": ", ".join(_gathered(call.reads_of_others)),
        "writes": ", ".join(_gathered(program.effects.writes)),
        "sends to": ", ".join(_gathered(call.sends)),
        "spawns": ", ".join(program.effects.spawns),
        "destroys": "rows" if program.effects.destroys else "",
        "records": "lines" if call.is_table else "",
    }


def _gathered(fields: Iterable[str]) -> list[str]:
    """Fields of one component behind each other: `Body.at speed`."""
    by_holder: dict[str, list[str]] = {}
    for field in fields:
        holder, _, name = field.rpartition(".")
        by_holder.setdefault(holder, []).append(name)
    own = by_holder.pop("", [])
    return [*own, *(f"{holder}.{' '.join(names)}" for holder, names in by_holder.items())]
