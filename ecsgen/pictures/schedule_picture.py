"""A schedule as a picture: a band per pass, a box per kernel, arrows from writes to reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ecsgen.layout.layout_tables import effects, schedule_title
from ecsgen.model import World
from ecsgen.model.schedules import ScheduledCall, passes
from ecsgen.pictures.svg_drawing import Drawing, text_width

_LEFT, _TOP, _GAP = 24, 84, 12
_HEAD, _LINE = 28, 15
"""The heights of a kernel's name, and of each line below it."""
_LANE = 18
"""Distance of two arrows side by side."""
_BAND, _COLOURS = "#f3f5f9", ("#dbe7fb", "#e6f3e0")


class Box(NamedTuple):
    """Top and bottom of a kernel's box."""

    top: float
    bottom: float


class Flow(NamedTuple):
    """Fields that one kernel writes and another reads, with their indices in the schedule."""

    start: int
    end: int
    fields: tuple[str, ...]


def schedule_picture(name: str, calls: Sequence[ScheduledCall], world: World) -> str:
    """Return a schedule as SVG."""
    drawing = Drawing()
    drawing.text(_LEFT, 40, name, "strong", 20)
    drawing.text(_LEFT, 62, schedule_title(name, calls), "muted")
    lines = [text_width(line, 12) for call in calls for line in _lines(call)]
    width = max([*lines, *(text_width(call.text) for call in calls)]) + 2 * _GAP
    top, boxes = float(_TOP), list[Box]()
    for number, fused in enumerate(passes(calls, world), 1):
        height = 30 + sum(_height(call) + _GAP for call in fused.calls)
        drawing.box(_LEFT, top, width + 2 * _GAP, height, _BAND, is_panel=True)
        drawing.text(_LEFT + _GAP, top + 20, f"pass {number}: {fused.calls[0].over}", "muted", 12)
        y = top + 30
        for call in fused.calls:
            boxes.append(Box(y, y + _height(call)))
            _kernel(drawing, call, boxes[-1], width, _COLOURS[number % 2])
            y = boxes[-1].bottom + _GAP
        top += height + _GAP
    _arrows(drawing, [*_flows(calls)], boxes, _LEFT + _GAP + width)
    return drawing.svg()


def _lines(call: ScheduledCall) -> list[str]:
    times = [f"at ticks {call.when.ticks}"] if call.when.ticks else []
    times += [call.when.repeats] if call.when.repeats else []
    return [*times, *(f"{how} {fields}" for how, fields in effects(call).items() if fields)]


def _height(call: ScheduledCall) -> float:
    return _HEAD + _LINE * len(_lines(call))


def _kernel(drawing: Drawing, call: ScheduledCall, box: Box, width: float, colour: str) -> None:
    left = _LEFT + _GAP
    drawing.box(left, box.top, width, box.bottom - box.top, colour)
    drawing.text(left + _GAP, box.top + 19, call.text, "strong")
    for number, line in enumerate(_lines(call)):
        drawing.text(left + _GAP, box.top + 36 + number * _LINE, line, "muted", 12)


def _flows(calls: Sequence[ScheduledCall]) -> Iterator[Flow]:
    """Yield the flows of fields, from the last kernel that wrote them."""
    last: dict[str, int] = {}
    for index, call in enumerate(calls):
        fields_from: dict[int, list[str]] = {}
        reads = (field.replace(".parent.", ".") for field in call.reads)
        for field in dict.fromkeys((*reads, *call.reads_of_others)):
            if field in last:
                fields_from.setdefault(last[field], []).append(field)
        for start, fields in fields_from.items():
            yield Flow(start, index, tuple(fields))
        last |= dict.fromkeys((*call.writes, *call.kernel.program.effects.sends), index)


def _arrows(drawing: Drawing, flows: list[Flow], boxes: list[Box], x: float) -> None:
    """Draw each flow in a lane of its own beside the boxes; short ones are nearest."""
    lanes: list[list[Flow]] = []
    for flow in sorted(flows, key=lambda flow: (flow.end - flow.start, flow.start)):
        free = (k for k, lane in enumerate(lanes) if all(_apart(flow, other) for other in lane))
        number = next(free, len(lanes))
        if number == len(lanes):
            lanes.append([])
        lanes[number].append(flow)
    beside = x + _GAP + _LANE * (len(lanes) + 1)
    for number, lane in enumerate(lanes, 1):
        for flow in lane:
            start, end = boxes[flow.start].bottom - 14, boxes[flow.end].top + 14
            drawing.arrow([(x, start), (x + number * _LANE, start), (x + number * _LANE, end)], x)
    arriving: dict[int, list[str]] = {}
    for flow in flows:
        arriving.setdefault(flow.end, []).extend(flow.fields)
    for index, fields in arriving.items():
        drawing.text(beside, boxes[index].top + 18, ", ".join(fields), "muted", 12)


def _apart(flow: Flow, other: Flow) -> bool:
    """Return whether two arrows fit into one lane."""
    return flow.end <= other.start or other.end <= flow.start
