"""A schedule as a picture: a band per pass, a box per kernel, an arrow from who writes a field to
who reads it next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ecsgen.layout.schedules import read_text, schedule_title, written_text
from ecsgen.model import World
from ecsgen.model.schedules import Call, passes
from ecsgen.pictures.drawing import Drawing, text_width

_LEFT, _TOP, _GAP = 24, 84, 12
_BOX = 58
"""The height of a kernel's box."""
_LANE = 18
"""Between two arrows side by side."""
_BAND, _COLOURS = "#f3f5f9", ("#dbe7fb", "#e6f3e0")


class Flow(NamedTuple):
    """Fields that go from one kernel to another: their places in the schedule."""

    start: int
    end: int
    fields: tuple[str, ...]


def schedule_picture(name: str, calls: Sequence[Call], world: World) -> str:
    """Return a schedule as SVG."""
    drawing = Drawing()
    drawing.text(_LEFT, 40, name, "strong", 20)
    drawing.text(_LEFT, 62, schedule_title(name, calls), "muted")
    width = max(_width(call) for call in calls) + 2 * _GAP
    top, places = float(_TOP), []
    for number, found in enumerate(passes(calls, world), 1):
        height = 30 + len(found.calls) * (_BOX + _GAP)
        drawing.panel(_LEFT, top, width + 2 * _GAP, height, _BAND)
        title = f"pass {number}: {found.calls[0].over}"
        drawing.text(_LEFT + _GAP, top + 20, title, "muted", 12)
        for place, call in enumerate(found.calls):
            y = top + 30 + place * (_BOX + _GAP)
            _kernel(drawing, call, _LEFT + _GAP, y, width, _COLOURS[number % 2])
            places.append(y)
        top += height + _GAP
    _arrows(drawing, [*_flows(calls)], places, _LEFT + _GAP + width)
    return drawing.svg()


def _width(call: Call) -> float:
    lines = (f"reads {read_text(call)}", f"writes {written_text(call)}")
    return max(text_width(call.text), *(text_width(line, 12) for line in lines))


def _kernel(drawing: Drawing, call: Call, x: float, y: float, width: float, colour: str) -> None:
    drawing.box(x, y, width, _BOX, colour)
    drawing.text(x + _GAP, y + 19, call.text, "strong")
    drawing.text(x + _GAP, y + 36, f"reads {read_text(call)}", "muted", 12)
    drawing.text(x + _GAP, y + 51, f"writes {written_text(call)}", "muted", 12)


def _flows(calls: Sequence[Call]) -> Iterator[Flow]:
    """Yield from where to where fields go: from who wrote them last."""
    last: dict[str, int] = {}
    for place, call in enumerate(calls):
        found: dict[int, list[str]] = {}
        for field in dict.fromkeys(map(_plain, call.reads)):
            if field in last:
                found.setdefault(last[field], []).append(field)
        for start, fields in found.items():
            yield Flow(start, place, tuple(fields))
        last |= dict.fromkeys(call.writes, place)


def _plain(field: str) -> str:
    """A field without the word that says that it is the parent's."""
    return field.replace(".parent.", ".")


def _arrows(drawing: Drawing, flows: list[Flow], places: list[float], x: float) -> None:
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
            start, end = places[flow.start] + _BOX - 14, places[flow.end] + 14
            drawing.arrow([(x, start), (x + number * _LANE, start), (x + number * _LANE, end)], x)
    arriving: dict[int, list[str]] = {}
    for flow in flows:
        arriving.setdefault(flow.end, []).extend(flow.fields)
    for place, fields in arriving.items():
        drawing.text(beside, places[place] + 18, ", ".join(fields), "muted", 12)


def _apart(one: Flow, other: Flow) -> bool:
    """Whether two arrows can go in one lane."""
    return one.end <= other.start or other.end <= one.start
