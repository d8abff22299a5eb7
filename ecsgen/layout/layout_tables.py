"""Layouts and schedules as tables, and remarks on them: what `ecsgen layout` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from ecsgen.layout.memory_layout import ChunkLayout, Layout, type_text
from ecsgen.model import Component, World
from ecsgen.model.columns import Column, field_columns
from ecsgen.model.schedules import ScheduledCall, arguments_of, passes


def format_layout(layout: Layout, capacity: int = 64) -> str:
    """Return a layout as text: one table per buffer, a line per column, then the totals."""
    if layout.cold is None:
        return _table(layout, capacity)
    return f"{_table(layout, capacity)}\n{_table(layout.cold, capacity, 'cold column')}"


def _table(layout: Layout, capacity: int, heading: str = "column") -> str:
    columns = [(c.name, c, layout.bytes_before(c) * capacity) for c in layout.columns]
    columns += [(c.name, c, 0) for c in layout.objects]
    total = f"{layout.row_bytes} bytes per row, {layout.buffer_bytes(capacity)} for {capacity} rows"
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


def chunk_plan_table(layout: ChunkLayout) -> str:
    """Return the layout of a chunk as text: a line per column, then the totals."""
    columns = [(each.name, each.column, each.offset) for each in (*layout.columns, *layout.objects)]
    total = f"{layout.row_bytes} bytes per row, {layout.rows} rows in a chunk of {layout.size}"
    return f"{_columns(columns, layout.rows)}\n{total} bytes, {layout.free} of them free\n"


def _columns(
    columns: Sequence[tuple[str, Column, int]], capacity: int, heading: str = "column"
) -> str:
    """Return a buffer's table from names, columns and offsets; objects have no offset."""
    rows = [(heading, "type", "bytes/row", f"offset ({capacity} rows)", "tags")]
    for name, column, offset in columns:
        storage = ("beside", "") if column.is_object else (str(column.nbytes), str(offset))
        rows.append((name, type_text(column), *storage, " ".join(column.tags)))
    return _aligned(rows, (2, 3))


def _aligned(rows: Sequence[tuple[str, ...]], numbers: Sequence[int]) -> str:
    """Return rows in aligned columns, the first underlined; `numbers`: aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            text.rjust(width) if index in numbers else text.ljust(width)
            for index, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def remarks(component: Component, world: World) -> Iterator[str]:
    """Yield hints about hot fields that no kernel uses, and cold fields that kernels read.

    There are none for components without kernels. Other code may use such fields.
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
    """Return the fields that kernels and reductions read or write, and those that they read."""
    effects = [kernel.program.effects for kernel in component.kernels]
    reads = [*(e.reads for e in effects), *(r.program.reads for r in component.reductions)]
    read = {name.removeprefix("parent.") for names in reads for name in names}
    written = {name for effect in effects for name in effect.writes}
    prefix = f"{component.name}."
    for table in world.records:
        read |= {name.removeprefix(prefix) for name in table.reads if name.startswith(prefix)}
    for effect in (kernel.program.effects for kernel in world.kernels):
        read |= {name.removeprefix(prefix) for name in effect.reads if name.startswith(prefix)}
        written |= {name.removeprefix(prefix) for name in effect.writes if name.startswith(prefix)}
    return read | written, read


def schedule_title(name: str, calls: Sequence[ScheduledCall]) -> str:
    """Return a schedule with its parameters, as in `step(dt: f32)`."""
    parameters = []
    for call, argument in arguments_of(calls):
        each = " of each row" if argument.each else ""
        text = next(text for known, text, _ in call.kernel.args if known == argument.name)
        parameters.append(f"{argument.name}: {text}{each}")
    return f"{name}({', '.join(parameters)})"


def schedule_table(name: str, calls: Sequence[ScheduledCall], world: World) -> str:
    """Return a schedule as text: its kernels in order, the fields that each uses, and the passes,
    each with the reason why it begins."""
    fused = passes(calls, world)
    texts = [[call.when.ticks, call.when.repeats, *effects(call).values()] for call in calls]
    shown = [*map(any, zip(*texts, strict=True))]  # an empty column is left out
    numbers = [number for number, each in enumerate(fused, 1) for _ in each.calls]
    rows = [("pass", "kernel", "over", *compress(("at ticks", "again", *effects(calls[0])), shown))]
    rows += [
        (f"{number:4}", call.text, call.over, *compress(cells, shown))
        for number, call, cells in zip(numbers, calls, texts, strict=True)
    ]
    heading, _, *lines = _aligned(rows, ()).split("\n")
    whys = [f"pass {number}: {each.why}" for number, each in enumerate(fused, 1) if each.why]
    return "\n".join([schedule_title(name, calls), heading, *lines, *whys]) + "\n"


def effects(call: ScheduledCall) -> dict[str, str]:
    """Return the effects of a kernel, as fields in the kernel's spelling, by the kind of effect."""
    program = call.kernel.program
    read = _gathered((*program.effects.reads, *call.values))
    return {
        "reads": ", ".join([*read, *["random"] * call.draws]),
        "of others": ", ".join(_gathered(call.reads_of_others)),
        "writes": ", ".join(_gathered(program.effects.writes)),
        "sends to": ", ".join(_gathered(program.effects.sends)),
        "spawns": ", ".join(program.effects.spawns),
        "destroys": "rows" if program.effects.destroys else "",
        "adds": ", ".join(program.effects.adds),
        "removes": ", ".join(program.effects.removes),
        "records": "lines" if call.kind == "table" else "",
    }


def _gathered(fields: Iterable[str]) -> list[str]:
    """Return fields, those of a component behind its name: `Body.at speed`."""
    by_holder: dict[str, list[str]] = {}
    for field in fields:
        holder, _, name = field.rpartition(".")
        by_holder.setdefault(holder, []).append(name)
    unqualified = by_holder.pop("", [])
    return [*unqualified, *(f"{holder}.{' '.join(names)}" for holder, names in by_holder.items())]
