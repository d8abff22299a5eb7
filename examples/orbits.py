"""Kepler's ellipses: orbital elements to positions and velocities, and back to a mean longitude.

All arrays are f64; angles in radians, lengths in m, gravitational parameters `gm` in m^3/s^2.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

AU = 149_597_870_700.0
DAY = 86_400.0

Vector: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Elements:
    """An ellipse around a centre, as it was at J2000."""

    a: float
    e: float
    inclination: float
    mean_longitude: float
    perihelion: float
    node: float


@dataclass(frozen=True, slots=True)
class Body:
    """One line of the table. The Sun has neither elements nor a period."""

    name: str
    centre: str
    elements: Elements | None
    gm: float
    radius: float
    period: float


def read_bodies(path: Path) -> list[Body]:
    """Read the table of orbital elements; lines that start with # are its sources."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = (line for line in file if not line.startswith("#"))
        return [_body(row) for row in csv.DictReader(lines)]


def _body(row: dict[str, str]) -> Body:
    angles = ("inclination", "mean_longitude", "perihelion", "node")
    elements = None
    if row["centre"]:
        radians = (float(np.radians(float(row[angle]))) for angle in angles)
        elements = Elements(float(row["a"]) * AU, float(row["e"]), *radians)
    return Body(
        row["name"],
        row["centre"],
        elements,
        gm=float(row["gm"]) * 1e9,
        radius=float(row["radius"]) * 1e3,
        period=float(row["period"] or "nan") * DAY,
    )


def state(elements: Elements, gm: float) -> tuple[Vector, Vector]:
    """Return position and velocity, shape (3,) each, about a centre; `gm` is that of both."""
    o = elements
    mean = o.mean_longitude - o.perihelion
    anomaly = mean + o.e * np.sin(mean)
    for _ in range(8):  # Newton on Kepler's equation; e < 0.3 converges in four steps
        slope = 1.0 - o.e * np.cos(anomaly)
        anomaly -= (anomaly - o.e * np.sin(anomaly) - mean) / slope
    cos, sin, minor = np.cos(anomaly), np.sin(anomaly), o.a * np.sqrt(1.0 - o.e**2)
    rate = np.sqrt(gm / o.a**3) / (1.0 - o.e * cos)
    to_perihelion, ahead = _axes(o.perihelion - o.node, o.node, o.inclination)
    position: Vector = o.a * (cos - o.e) * to_perihelion + minor * sin * ahead
    velocity: Vector = rate * (minor * cos * ahead - o.a * sin * to_perihelion)
    return position, velocity


def _axes(argument: float, node: float, inclination: float) -> tuple[Vector, Vector]:
    """Return the unit vectors towards perihelion and, in the orbit's plane, 90 degrees ahead."""
    along = np.array([np.cos(node), np.sin(node), 0.0])
    up = np.array([-np.sin(node), np.cos(node), 0.0]) * np.cos(inclination)
    up[2] = np.sin(inclination)
    cos, sin = np.cos(argument), np.sin(argument)
    return cos * along + sin * up, cos * up - sin * along


def mean_longitude(position: Vector, velocity: Vector, gm: float) -> Vector:
    """Return where bodies are on their osculating ellipses, as if each moved evenly along it.

    Positions and velocities have shape (k, 3); the result, in radians, has shape (k,).
    """
    distance = np.linalg.norm(position, axis=1, keepdims=True)
    normal = np.cross(position, velocity)
    perihelion = np.cross(velocity, normal) / gm - position / distance
    e = np.linalg.norm(perihelion, axis=1)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    node = np.arctan2(normal[:, 0], -normal[:, 1])
    along = np.stack([np.cos(node), np.sin(node), np.zeros_like(node)], axis=1)
    argument = _angle(perihelion, along, normal)
    true = _angle(position, along, normal) - argument
    anomaly = np.arctan2(np.sqrt(1.0 - e**2) * np.sin(true), e + np.cos(true))
    longitude: Vector = anomaly - e * np.sin(anomaly) + argument + node
    return longitude


def _angle(vectors: Vector, along: Vector, normal: Vector) -> Vector:
    """Return the angles, shape (k,), from `along` to vectors in the plane of a unit normal."""
    ahead = np.cross(normal, along)
    angle: Vector = np.arctan2((vectors * ahead).sum(axis=1), (vectors * along).sum(axis=1))
    return angle
