"""A schedule as a table: its kernels in order, what each reads and writes, and the passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ecsgen.model import World
from ecsgen.model.schedules import Call, arguments_of, passes


def schedule_title(name: str, calls: Sequence[Call]) -> str:
    """Return what a schedule takes, as in `step(dt: f32)`."""
    given = []
    for call, argument in arguments_of(calls):
        each = " of each row" if argument.each else ""
        text = next(text for known, text, _ in call.kernel.args if known == argument.name)
        given.append(f"{argument.name}: {text}{each}")
    return f"{name}({', '.join(given)})"


def schedule_table(name: str, calls: Sequence[Call], world: World) -> str:
    """Return the whole table, with the reasons for which passes begin."""
    found = passes(calls, world)
    lines = [("pass", "kernel", "over", "reads", "writes")]
    for number, each in enumerate(found, 1):
        lines += [
            (f"{number:4}", call.text, call.over, read_text(call), written_text(call))
            for call in each.calls
        ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    whys = [f"pass {number}: {each.why}" for number, each in enumerate(found, 1) if each.why]
    return "\n".join([schedule_title(name, calls), *rows, *whys]) + "\n"


def read_text(call: Call) -> str:
    """Return what a kernel reads, as it spells it."""
    drawn = ["random"] if call.draws else []
    return ", ".join([*_gathered(call.kernel.program.reads), *drawn])


def written_text(call: Call) -> str:
    """Return what a kernel writes, as it spells it."""
    return ", ".join(_gathered(call.kernel.program.writes))


def _gathered(fields: Iterable[str]) -> list[str]:
    """Fields of one component behind each other: `Body.at speed`."""
    by_holder: dict[str, list[str]] = {}
    for field in fields:
        holder, _, name = field.rpartition(".")
        by_holder.setdefault(holder, []).append(name)
    own = by_holder.pop("", [])
    return [*own, *(f"{holder}.{' '.join(names)}" for holder, names in by_holder.items())]
