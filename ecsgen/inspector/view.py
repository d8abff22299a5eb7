"""Views: what the page opens with, and what pictures and films show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

from ecsgen.diagnostics import did_you_mean
from ecsgen.inspector.json_values import Json
from ecsgen.inspector.points import LINKS, ROLES, Layer, Points
from ecsgen.inspector.series import Series, Value
from ecsgen.inspector.tick_queue import RequestError


@dataclass(frozen=True, kw_only=True)
class View:
    """Choice of what is looked at first; what is left out, the page chooses by itself."""

    map: str | None = None
    """Component, query or grid on the map."""
    color: str | None = None
    """Field of the map's rows: a number, enum or bool."""
    color_range: Sequence[float] | None = None
    """Least and largest number of the scale; None for those of the moment."""
    size: str | None = None
    direction: str | None = None
    """Field of a vector."""
    links: str | None = None
    """Network whose links are lines between points; "" for none."""
    layer: int = 0
    """Of a grid with three axes, from below."""
    charts: Sequence[Sequence[str]] = ()
    """Names of the lines of each chart."""
    controls: Sequence[str] = ()
    """Settings, arguments of the step and parameters of `make` that the page shows as fields."""
    label: str | None = None
    """Field of text that labels entities."""

    def __post_init__(self) -> None:
        for name in ("map", *ROLES, LINKS, "label"):
            value = getattr(self, name)
            if not isinstance(value, str | None):
                raise TypeError(f"{name}: wanted a name, not {value!r}")
        if not isinstance(self.layer, int) or self.layer < 0:
            raise TypeError(f"layer: wanted a whole number from 0, not {self.layer!r}")
        if self.color_range is not None and not _are_ends(self.color_range):
            raise TypeError(
                f"color_range: wanted two numbers, the lower first, not {self.color_range!r}"
            )
        _check_names("controls", self.controls)
        if isinstance(self.charts, str) or not isinstance(self.charts, Sequence):
            raise TypeError(f"charts: wanted a list of lists, not {self.charts!r}")
        for chart in self.charts:
            _check_names("charts", chart, 'a list of lists, as [["sheep", "wolves"], ["grass"]]')


class Scene(NamedTuple):
    """Columns and values that a view shows at one moment."""

    time: dict[str, Json]
    """Number of the step, and the world's tick where it has one."""
    points: Layer | None
    cells: Layer | None
    """Cells of a grid, alone or behind points."""
    values: list[Value]
    """Of each line of the charts."""


class Camera:
    """Takes scenes of a world, as a view has chosen."""

    def __init__(self, view: View, points: Points, series: Series) -> None:
        """Choose what is to be seen. ValueError for a name that there is not, with the nearest."""
        self._points, self._series = points, series
        self._maps: dict[str, Json] = {each["name"]: each for each in points.maps_json()}
        self.lines = [name for chart in view.charts for name in chart]
        """Names of the lines of all charts."""
        if view.map is not None:
            require_name("map", view.map, self._maps)
        for line in self.lines:
            require_name("series", line, series.sources)
        self.map: Json = (
            self._maps.get(view.map) if view.map else next(iter(self._maps.values()), None)
        )
        """The map, None if nothing has a place."""
        chosen = {role: name for role in ROLES if (name := getattr(view, role)) is not None}
        self._layer, self._color_range = view.layer, view.color_range
        if self.map is None:
            if chosen or view.links:
                raise ValueError("view: nothing has a place, so there is no map to colour")
            return
        for name in chosen.values():
            shown = self.map["name"]
            require_name(f"field of {shown}", name, points.fields_by_name(shown))
        if "color" not in chosen and self.map["color"] is not None:
            chosen["color"] = self.map["color"]
        if view.layer >= max(1, self.map["layers"]):
            raise ValueError(f"view: there is no layer {view.layer} of {self.map['layers']}")
        networks = self.map["networks"]
        if view.links:
            require_name("network", view.links, networks)
        if view.links != "" and networks:
            chosen[LINKS] = view.links or networks[0]
        self.roles = chosen
        try:
            points.check(self.map["name"], chosen)
        except RequestError as error:  # a field of another type
            raise ValueError(f"view: {error.message}") from None

    def take(self, time: dict[str, Json]) -> Scene:
        """Return what is to be seen now; called on the world's thread."""
        values = [self._series.sources[name]() for name in self.lines]
        if self.map is None:
            return Scene(time, None, None, values)
        shown = self._points.layer(self.map["name"], self.roles, {}, layer=self._layer)
        if self._color_range is not None and "color_range" in shown.head:
            shown.head["color_range"] = self._color_range
        if self.map["is_grid"]:
            return Scene(time, None, shown, values)
        behind = None
        if self.map["grid_color"] is not None:
            grid, colour = self.map["grid"], {"color": self.map["grid_color"]}
            behind = self._points.layer(grid, colour, {}, layer=self._layer)
        return Scene(time, shown, behind, values)


def _are_ends(ends: Any) -> bool:
    """Return True for two finite numbers of which the first is lower."""
    is_list = isinstance(ends, Sequence) and all(isinstance(end, int | float) for end in ends)
    return is_list and len(ends) == 2 and -inf < ends[0] < ends[1] < inf


def _check_names(what: str, names: Any, wanted: str = "a list of names") -> None:
    """Raise TypeError for what is no list of names."""
    is_list = isinstance(names, Sequence) and not isinstance(names, str)
    if not is_list or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{what}: wanted {wanted}, not {names!r}")


def require_name(what: str, name: str, known: Iterable[str]) -> None:
    """Raise ValueError for an unknown name; it says the nearest, or else all there are."""
    names = [*known]
    if name not in names:
        hint = did_you_mean(name, names) or f"there are {', '.join(names) or 'none'}"
        raise ValueError(f"view: there is no {what} {name!r}: {hint}")
