"""A schedule as a table: its kernels in order, what each does with fields, and the passes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress

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
    said = [[*effects(call).values()] for call in calls]
    shown = [*map(any, zip(*said, strict=True))]  # a column that says nothing is left out
    numbers = [number for number, each in enumerate(found, 1) for _ in each.calls]
    lines = [("pass", "kernel", "over", *compress(effects(calls[0]), shown))]
    lines += [
        (f"{number:4}", call.text, call.over, *compress(cells, shown))
        for number, call, cells in zip(numbers, calls, said, strict=True)
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
    whys = [f"pass {number}: {each.why}" for number, each in enumerate(found, 1) if each.why]
    return "\n".join([schedule_title(name, calls), *rows, *whys]) + "\n"


def effects(call: Call) -> dict[str, str]:
    """Return what a kernel does with fields, as it spells them: in words, which fields."""
    program = call.kernel.program
    drawn = ["random"] if call.draws else []
    return {
        "reads": ", ".join([*_gathered(program.effects.reads), *drawn]),
        "of others": ", ".join(_gathered(call.reads_of_others)),
        "writes": ", ".join(_gathered(program.effects.writes)),
        "sends to": ", ".join(_gathered(call.sends)),
    }


def _gathered(fields: Iterable[str]) -> list[str]:
    """Fields of one component behind each other: `Body.at speed`."""
    by_holder: dict[str, list[str]] = {}
    for field in fields:
        holder, _, name = field.rpartition(".")
        by_holder.setdefault(holder, []).append(name)
    own = by_holder.pop("", [])
    return [*own, *(f"{holder}.{' '.join(names)}" for holder, names in by_holder.items())]
