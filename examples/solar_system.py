"""The Sun, the eight planets and the Moon as entities, moved by their gravity for a year and more.

Starts from the published elements in `data/planets_j2000.csv` and integrates with the leapfrog
(kick, drift, kick; symplectic, so the energy does not creep) through the manager's columns: one
step moves all bodies at once, in place. A first year in steps of an hour resolves the Moon and the
inner planets; the years after it, in steps of a day, give the outer planets time to go round.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import _path  # noqa: F401  (must come before `generated`)
import numpy as np
from orbit_picture import picture
from orbits import DAY, Body, Vector, mean_longitude, read_bodies, state

from generated import CelestialBodyManager, World

HERE = Path(__file__).resolve().parent
TABLE = HERE / "data" / "planets_j2000.csv"
YEAR = 365.25 * DAY
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Track:
    """Samples of a run: seconds since J2000 (s,), places and velocities (s, n, 3), energy (s,)."""

    times: Vector
    positions: Vector
    velocities: Vector
    energies: Vector


def jacobi(table: Sequence[Body]) -> tuple[Vector, Vector]:
    """Return the matrix (n, n) from places to Jacobi coordinates, and what pulls there, gm (n,).

    A published ellipse tells where a planet, together with its moons, is as seen from the centre of
    mass of everything inside its orbit; a moon is seen from its planet. Row 0 is the centre of mass
    of all.
    """
    gm = np.array([body.gm for body in table])
    names = [body.name for body in table]
    matrix = np.zeros((len(table), len(table)))
    matrix[0] = gm / gm.sum()
    pull = np.full(len(table), gm.sum())
    for k, body in enumerate(table[1:], 1):
        own = [k, *(j for j, moon in enumerate(table) if moon.centre == body.name)]
        centre = names.index(body.centre)
        inside = [centre] if centre else [j for j in range(k) if j not in own]
        matrix[k, own] = gm[own] / gm[own].sum()
        matrix[k, inside] = -gm[inside] / gm[inside].sum()
        pull[k] = gm[own].sum() + gm[inside].sum()
    return matrix, pull


def spawn(world: World, table: Sequence[Body]) -> None:
    """Give every line of the table an entity with a CelestialBody, in the table's order."""
    matrix, pull = jacobi(table)
    ellipses = np.zeros((2, len(table), 3))
    for k, body in enumerate(table):
        if body.elements is not None:
            ellipses[:, k] = state(body.elements, pull[k])
    places, velocities = np.linalg.solve(matrix, ellipses)
    world.spawn(
        len(table),
        celestial_body={
            "gm": [body.gm for body in table],
            "position": places,
            "velocity": velocities,
            "radius": [body.radius for body in table],
            "name": [body.name for body in table],
        },
    )


class Gravity:
    """The pull of all bodies on all others, with the memory that one evaluation needs."""

    def __init__(self, gm: Vector) -> None:
        n = len(gm)
        self.gm = gm
        self.offsets = np.empty((n, n, 3))
        self.distances = np.empty((n, n))
        self.weights = np.empty((n, n))

    def measure(self, position: Vector) -> None:
        """Set `offsets` and `distances` of all pairs; O(n^2). Nobody pulls itself: inf."""
        np.subtract(position, position[:, None], out=self.offsets)
        np.einsum("ijk,ijk->ij", self.offsets, self.offsets, out=self.distances)
        np.sqrt(self.distances, out=self.distances)
        np.fill_diagonal(self.distances, np.inf)

    def accelerate(self, position: Vector, acceleration: Vector) -> None:
        """Fill `acceleration` (n, 3) in place."""
        self.measure(position)
        np.power(self.distances, -3, out=self.weights)
        self.weights *= self.gm
        np.einsum("ij,ijk->ik", self.weights, self.offsets, out=acceleration)

    def energy(self, position: Vector, velocity: Vector) -> float:
        """Return kinetic plus potential energy, times the constant of gravitation."""
        self.measure(position)
        kinetic = 0.5 * self.gm @ np.einsum("ij,ij->i", velocity, velocity)
        return float(kinetic - 0.5 * self.gm @ (1.0 / self.distances) @ self.gm)


def integrate(
    bodies: CelestialBodyManager, start: float, step: float, per_sample: int, samples: int
) -> Track:
    """Move all bodies by `samples * per_sample` steps of `step` seconds; sample now and then."""
    data = bodies.data
    gravity = Gravity(data.gm)
    track = Track(
        start + step * per_sample * np.arange(samples + 1.0),
        np.empty((samples + 1, data.n, 3)),
        np.empty((samples + 1, data.n, 3)),
        np.empty(samples + 1),
    )
    with bodies.locked():  # no row comes or goes, so the columns' views stay good
        position, velocity, acceleration = data.position, data.velocity, data.acceleration
        gravity.accelerate(position, acceleration)
        for sample in range(samples + 1):
            track.positions[sample] = position
            track.velocities[sample] = velocity
            track.energies[sample] = gravity.energy(position, velocity)
            for _ in range(per_sample if sample < samples else 0):
                bodies.kick(0.5 * step)
                bodies.drift(step)
                gravity.accelerate(position, acceleration)
                bodies.kick(0.5 * step)
    return track


def period(track: Track, table: Sequence[Body], k: int) -> float:
    """Return the mean sidereal period of body k: how fast its mean longitude advances."""
    matrix, pull = jacobi(table)
    places, velocities = matrix[k] @ track.positions, matrix[k] @ track.velocities
    longitudes = np.unwrap(mean_longitude(places, velocities, pull[k]))
    elapsed = track.times[-1] - track.times[0]
    return float(2.0 * np.pi * elapsed / (longitudes[-1] - longitudes[0]))


def drift(track: Track) -> float:
    """Return the largest relative change of the energy over a track."""
    return float(np.abs(track.energies / track.energies[0] - 1.0).max())


def report(table: Sequence[Body], year: Track, long: Track) -> None:
    """Print each period against the published one; the slow planets' from the long run."""
    print("\nbody      measured over   period, days     published       error")
    for k, body in enumerate(table[1:], 1):
        track = year if body.period < 2 * YEAR else long
        measured = period(track, table, k)
        years = round((track.times[-1] - track.times[0]) / YEAR)
        over = f"{years} year" + "s" * (years > 1)
        print(
            f"{body.name:8} {over:>14} {measured / DAY:14.4f} {body.period / DAY:13.4f}"
            f" {100 * (measured / body.period - 1):+10.4f} %"
        )
    print("\nLargest relative change of the energy:", end=" ")
    print(f"{drift(year):.1e} in the first year, {drift(long):.1e} in the years after it")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--years", type=int, default=165, help="in steps of a day, after the first")
    parser.add_argument("--svg", type=Path, default=HERE / "solar_system.svg", help="the picture")
    options = parser.parse_args(arguments)
    if options.years < 1:
        parser.error("--years must be at least 1")

    world = World()
    table = read_bodies(TABLE)
    spawn(world, table)
    bodies = world.celestial_body
    print(f"{len(bodies)} bodies, {bodies.nbytes} bytes, started from {TABLE.name}")

    began = time.perf_counter()
    days = 6  # between samples of the long run: often enough to follow the planets from Mars on
    year = integrate(bodies, 0.0, HOUR, per_sample=6, samples=1461)
    long = integrate(bodies, year.times[-1], DAY, days, round(options.years * YEAR / DAY / days))
    seconds = time.perf_counter() - began
    steps = 6 * 1461 + days * (len(long.times) - 1)
    print(f"{steps} steps in {seconds:.2f} s: {1e6 * seconds / steps:.0f} µs per step")

    report(table, year, long)
    options.svg.write_text(picture(table, year.positions, long.positions), encoding="utf-8")
    print(f"The orbits are drawn in {options.svg}")


if __name__ == "__main__":
    main()
