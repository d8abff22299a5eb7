"""Contenders of benchmarks/simulate.py: all do `v += a * dt; p += v * dt` on equal values."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_float, c_size_t
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from _compile_c import compiled, pointer_to
from _missing_contenders import library
from _package import SCHEMAS, built
from numpy.typing import NDArray

from ecsgen.config import Backend

DT = 1 / 1024
BLOCK = 65_536
"""Elements that "in blocks" works on at a time: of 4,096 … 262,144 the fastest."""


@dataclass(frozen=True, slots=True)
class Start:
    """The beginning for every contender, each column of shape (rows, 3)."""

    position: NDArray[np.float32]
    velocity: NDArray[np.float32]
    acceleration: NDArray[np.float32]

    @classmethod
    def of(cls, rows: int) -> Start:
        draw = np.random.default_rng(0)
        return cls(*(draw.uniform(-1, 1, (rows, 3)).astype(np.float32) for _ in range(3)))

    def after(self, steps: int) -> NDArray[np.float64]:
        """Return the positions after some steps, by the sum that they are, in f64."""
        p, v, a = (x.astype(np.float64) for x in (self.position, self.velocity, self.acceleration))
        moved: NDArray[np.float64] = p + DT * (steps * v + DT * steps * (steps + 1) / 2 * a)
        return moved


@dataclass(frozen=True, slots=True)
class Moving:
    """One contender's data: `run(times)` steps it, `position()` tells where it is by now."""

    run: Callable[[int], object]
    position: Callable[[], Any]


Make: TypeAlias = Callable[[Start], Moving]


def stepped(step: Callable[[], object], position: Callable[[], Any]) -> Moving:
    """Return data that take a call from Python for each step."""

    def run(times: int) -> None:
        for _ in range(times):
            step()

    return Moving(run, position)


def point_masses(folder: Path, backend: Backend, start: Start) -> Any:
    """Return a manager that ecsgen makes of benchmarks/schemas/point_mass.yaml."""
    package = built(folder, backend, SCHEMAS / "point_mass.yaml")
    entities = package.EntityManager()
    manager = package.PointMassManager(entities)
    manager.create_many(
        entities.create_many(len(start.position)),
        position=start.position,
        velocity=start.velocity,
        acceleration=start.acceleration,
    )
    return manager


def generated(folder: Path, backend: Backend) -> Make:
    built(folder, backend, SCHEMAS / "point_mass.yaml")  # says at once what is missing

    def make(start: Start) -> Moving:
        manager = point_masses(folder, backend, start)
        return stepped(lambda: manager.simulate(DT), lambda: manager.data.position)

    return make


def in_c(folder: Path) -> Make:
    """gcc's loop over the columns of a generated manager; the steps are one call."""
    source = Path(__file__).with_name("simulate.c")
    columns = [pointer_to(np.float32)] * 3
    simulate = compiled(folder, source, c_size_t, c_size_t, c_float, *columns)

    def make(start: Start) -> Moving:
        data = point_masses(folder, "numpy", start).data
        arguments = data.position.size, DT, data.acceleration, data.velocity, data.position
        return Moving(lambda times: simulate(times, *arguments), lambda: data.position)

    return make


def in_numba() -> Make:
    """The loop that the numba backend is to generate, called directly on plain arrays."""

    def loop(
        acceleration: NDArray[np.float32],
        velocity: NDArray[np.float32],
        position: NDArray[np.float32],
        dt: np.float32,
    ) -> None:
        for k in range(position.size):
            velocity[k] += acceleration[k] * dt
            position[k] += velocity[k] * dt

    jitted = library("numba").njit(error_model="numpy")(loop)

    def make(start: Start) -> Moving:
        a, v, p = flat_copies(start)
        dt = np.float32(DT)
        return stepped(lambda: jitted(a, v, p, dt), lambda: p.reshape(-1, 3))

    return make


def numpy_by_hand(start: Start) -> Moving:
    a, v, p = flat_copies(start)
    step = partial(advance, a, v, p, np.empty_like(p), np.float32(DT))
    return stepped(step, lambda: p.reshape(-1, 3))


def numpy_in_blocks(start: Start) -> Moving:
    a, v, p = flat_copies(start)
    scratch = np.empty(BLOCK, np.float32)
    dt = np.float32(DT)
    spans = [slice(k, k + BLOCK) for k in range(0, p.size, BLOCK)]
    views = [(a[s], v[s], p[s], scratch[: p[s].size]) for s in spans]

    def step() -> None:
        for columns in views:
            advance(*columns, dt)

    return stepped(step, lambda: p.reshape(-1, 3))


def flat_copies(start: Start) -> tuple[NDArray[np.float32], ...]:
    return start.acceleration.flatten(), start.velocity.flatten(), start.position.flatten()


def advance(
    acceleration: NDArray[np.float32],
    velocity: NDArray[np.float32],
    position: NDArray[np.float32],
    scratch: NDArray[np.float32],
    dt: np.float32,
) -> None:
    np.multiply(acceleration, dt, out=scratch)
    np.add(velocity, scratch, out=velocity)
    np.multiply(velocity, dt, out=scratch)
    np.add(position, scratch, out=position)


RECORD = np.dtype(
    [
        ("entity", np.uint64),
        ("mass", np.float32),
        ("position", np.float32, 3),
        ("velocity", np.float32, 3),
        ("acceleration", np.float32, 3),
        ("label", "S24"),
    ]
)
"""The columns of PointMass as one record of 72 bytes."""


def structured(start: Start) -> Moving:
    records = np.zeros(len(start.position), RECORD)
    for name in ("position", "velocity", "acceleration"):
        records[name] = getattr(start, name)
    a, v, p = records["acceleration"].T, records["velocity"].T, records["position"].T
    scratch = np.empty(len(records), np.float32)
    dt = np.float32(DT)

    def step() -> None:
        for axis in range(3):  # inner loops of three elements would be four times slower
            advance(a[axis], v[axis], p[axis], scratch, dt)

    return stepped(step, lambda: p.T)


class Body:
    """A point mass as an object."""

    __slots__ = ("ax", "ay", "az", "px", "py", "pz", "vx", "vy", "vz")

    def __init__(self, position: list[float], velocity: list[float], acceleration: list[float]):
        self.px, self.py, self.pz = position
        self.vx, self.vy, self.vz = velocity
        self.ax, self.ay, self.az = acceleration

    def advance(self, dt: float) -> None:
        self.vx += self.ax * dt
        self.vy += self.ay * dt
        self.vz += self.az * dt
        self.px += self.vx * dt
        self.py += self.vy * dt
        self.pz += self.vz * dt


def bodies(start: Start) -> list[Body]:
    columns = start.position.tolist(), start.velocity.tolist(), start.acceleration.tolist()
    return [Body(*row) for row in zip(*columns, strict=True)]


def places(those: list[Body]) -> list[tuple[float, float, float]]:
    return [(body.px, body.py, body.pz) for body in those]


def objects(start: Start) -> Moving:
    all_of_them = bodies(start)

    def step() -> None:
        for body in all_of_them:
            body.advance(DT)

    return stepped(step, lambda: places(all_of_them))


def in_esper() -> Make:
    esper = library("esper")

    def make(start: Start) -> Moving:
        esper.clear_database()
        all_of_them = bodies(start)
        for body in all_of_them:
            esper.create_entity(body)

        def step() -> None:
            for _, body in esper.get_component(Body):
                body.advance(DT)

        return stepped(step, lambda: places(all_of_them))

    return make


def in_polars() -> Make:
    """A frame of nine columns; polars works on all cores, and a step makes six new columns."""
    polars = library("polars")
    dt = polars.lit(DT, dtype=polars.Float32)
    v = {f"v{x}": polars.col(f"v{x}") + polars.col(f"a{x}") * dt for x in "xyz"}
    p = {f"p{x}": polars.col(f"p{x}") + polars.col(f"v{x}") * dt for x in "xyz"}

    def make(start: Start) -> Moving:
        fields = {"p": start.position, "v": start.velocity, "a": start.acceleration}
        columns = {f"{name}{x}": f[:, k] for name, f in fields.items() for k, x in enumerate("xyz")}
        frame = polars.DataFrame(columns)

        def step() -> None:
            nonlocal frame
            frame = frame.with_columns(**v).with_columns(**p)

        return stepped(step, lambda: frame.select("px", "py", "pz").to_numpy())

    return make
