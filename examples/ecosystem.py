"""Grazers, the grass they eat, and their hunters: two populations that chase each other.

All animals that move are the world's group `bodies`, whose columns are plain slices. Two queries
tell grazers from hunters. The young follow their mothers through the hierarchy of `Kin`, as long as
both live. The same seed gives the same years and the same picture, in one go or with pauses: with
`--save` the land is written into a file at the end, and `--resume` goes on from one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import _path  # noqa: F401  (must come before `generated`)
import numpy as np
from numpy.typing import NDArray
from population_picture import picture

from generated import NIL, EntityArray, World
from generated.world import GrazersQuery, HuntersQuery

SIDE = 96.0  # of the land, which has no edge: what leaves it comes back on the other side
CELLS = 48  # along a side; animals meet in a cell
GROWTH = 0.008  # of the grass in a cell, per tick
BITE = 0.06  # of grass, at most, per tick
LUCK = 0.15  # of a hunter that meets a grazer, per tick
TURN = 0.5  # radians that an animal turns per tick, about
CHILDHOOD = 40  # ticks that the young follow their mothers

CODECS = {
    "world.grass": (np.ndarray.tobytes, lambda data: np.frombuffer(data, np.float32).copy()),
    "*": None,
}
"""How the grass goes into a file; other attributes of the land are JSON, and the columns of Python
objects that other components have stay out."""

Floats: TypeAlias = NDArray[np.float32]
Cells: TypeAlias = NDArray[np.intp]


class Kind:
    """What grazers and hunters differ in."""

    def __init__(self, speed: float, cost: float, enough: float, meal: float) -> None:
        self.speed = speed  # per tick
        self.cost = cost  # of living a tick
        self.enough = enough  # to have young
        self.meal = meal  # what a grazer gives, or so much grass as fills a cell


GRAZER = Kind(speed=0.5, cost=0.022, enough=2.0, meal=3.0)
HUNTER = Kind(speed=0.9, cost=0.025, enough=2.5, meal=1.0)


class Land(World):
    """A world with grass, which is saved with it, and so is whatever else is an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.tick = 0
        self.grass = np.full(CELLS * CELLS, 0.5, np.float32)
        self.dice: dict[str, Any] = {}  # the state of the random numbers, while it is saved


class Ecosystem:
    """A world of animals on a land of grass."""

    def __init__(self, world: Land, rng: np.random.Generator) -> None:
        self.world = world
        self.rng = rng

    @classmethod
    def settled(cls, grazers: int, hunters: int, seed: int = 1) -> Self:
        """Return a land on which animals have just arrived."""
        ecosystem = cls(Land(), np.random.default_rng(seed))
        ecosystem._settle(GRAZER, grazers)
        ecosystem._settle(HUNTER, hunters)
        return ecosystem

    @classmethod
    def resumed(cls, path: Path) -> Self:
        """Return a land that was saved: it goes on as if it had never stopped."""
        ecosystem = cls(Land.load(path, codecs=CODECS), np.random.default_rng())
        ecosystem.rng.bit_generator.state = ecosystem.world.dice
        return ecosystem

    def save(self, path: Path) -> None:
        """Write the land into a file."""
        self.world.dice = dict(self.rng.bit_generator.state)
        self.world.save(path, codecs=CODECS)

    def _settle(self, kind: Kind, count: int) -> None:
        place = self.rng.uniform(0.0, SIDE, (count, 3))
        place[:, 2] = 0.0
        angle = self.rng.uniform(0.0, 2.0 * np.pi, count)
        heading = kind.speed * np.stack([np.cos(angle), np.sin(angle), np.zeros(count)], axis=1)
        self.world.spawn(
            count,
            position={"value": place},
            velocity={"value": heading},
            energy={"stored": self.rng.uniform(0.5, 1.5, count)},
            kin={},
            predator={} if kind is HUNTER else None,
        )

    def step(self) -> None:
        """Let a tick pass."""
        self.world.tick += 1
        self.world.grass += GROWTH * (1.0 - self.world.grass)
        self._follow_mothers()
        self._move()
        self._graze()
        self._hunt()
        self._starve()
        self._apply_spawns()
        self.world.collect()

    def _kinds(self) -> tuple[tuple[GrazersQuery, Kind], tuple[HuntersQuery, Kind]]:
        return (self.world.grazers, GRAZER), (self.world.hunters, HUNTER)

    def _follow_mothers(self) -> None:
        """Turn the young to where their mothers are."""
        kin, position = self.world.kin.data, self.world.position
        young = np.flatnonzero((kin.parent != NIL) & (kin.born > self.world.tick - CHILDHOOD))
        mothers = position.lookup_many(kin.entity[kin.parent[young]])
        children = position.lookup_many(kin.entity[young])
        place = position.data.value
        way = place[mothers] - place[children]
        way -= np.float32(SIDE) * np.round(way / np.float32(SIDE))  # the shorter way round
        moving = self.world.velocity.lookup_many(kin.entity[young])
        self.world.velocity.data.value[moving] += 0.2 * way

    def _move(self) -> None:
        """Turn everyone a little, and take a step: on slices of the group's columns."""
        for query, kind in self._kinds():
            heading = query.velocity.value
            speed = np.linalg.norm(heading, axis=1, keepdims=True)
            query.velocity.value = heading * (kind.speed / np.maximum(speed, 1e-6))
        bodies = self.world.bodies
        place, heading = bodies.position.value, bodies.velocity.value
        turn = self.rng.normal(0.0, TURN, bodies.n).astype(np.float32)
        x, y = heading[:, 0].copy(), heading[:, 1].copy()
        heading[:, 0] = np.cos(turn) * x - np.sin(turn) * y
        heading[:, 1] = np.sin(turn) * x + np.cos(turn) * y
        place += heading
        place %= SIDE

    def _graze(self) -> None:
        """Let those in a cell share its grass."""
        query = self.world.grazers
        cells = cells_of(query.position.value)
        grass = self.world.grass
        eaters = np.bincount(cells, minlength=len(grass))
        share = np.minimum(grass / np.maximum(eaters, 1), BITE).astype(np.float32)
        grass -= share * eaters
        query.energy.stored += GRAZER.meal * share[cells] - GRAZER.cost

    def _hunt(self) -> None:
        """Let each hungry hunter with luck take a grazer of its cell, if there are enough."""
        hunters, grazers = self.world.hunters, self.world.grazers
        reserve = hunters.energy.stored - HUNTER.cost
        lucky = self.rng.random(len(reserve)) < LUCK
        hungry = np.flatnonzero(lucky & (reserve < HUNTER.enough))
        here = cells_of(hunters.position.value)[hungry]
        caught, by = pairs(cells_of(grazers.position.value), here)
        reserve[hungry[by]] += HUNTER.meal
        hunters.energy.stored = reserve
        self.world.destroy_many(grazers.rows().entity[caught])

    def _starve(self) -> None:
        for query, _ in self._kinds():
            self.world.destroy_many(query.rows().entity[query.energy.stored <= 0.0])

    def _apply_spawns(self) -> None:
        """Let those with enough give half of it to a child."""
        for query, kind in self._kinds():
            reserve = query.energy.stored
            bearing = reserve > kind.enough
            if not bearing.any():
                continue
            mothers = query.rows().entity[bearing]
            place, heading = query.position.value[bearing], query.velocity.value[bearing]
            half = reserve[bearing] / 2
            query.energy.stored = np.where(bearing, reserve / 2, reserve)
            children = self.world.spawn(
                len(mothers),
                position={"value": place},
                velocity={"value": -heading},
                energy={"stored": half},
                kin={"born": self.world.tick},
                predator={} if kind is HUNTER else None,
            )
            self._attach(children, mothers)

    def _attach(self, children: EntityArray, mothers: EntityArray) -> None:
        kin = self.world.kin
        kin.set_parent_many(kin.require_many(children), kin.require_many(mothers))

    def counts(self) -> tuple[int, int]:
        """Return how many grazers and hunters are alive."""
        return len(self.world.grazers), len(self.world.hunters)


def cells_of(place: Floats) -> Cells:
    """Return the cell of each place, shape (k,)."""
    cell = (place[:, :2] * (CELLS / SIDE)).astype(np.intp) % CELLS
    return cell[:, 1] * CELLS + cell[:, 0]


def pairs(prey: Cells, hunters: Cells) -> tuple[Cells, Cells]:
    """Pair the k-th hunter in a cell with the k-th prey there: positions in the two arrays."""
    order, rank = ranked(prey)
    hunting, turn = ranked(hunters)
    # One number for cell and rank, so that a pair is an equal number in both.
    width = max(len(prey), len(hunters), 1)
    _, caught, by = np.intersect1d(
        prey[order] * width + rank, hunters[hunting] * width + turn, return_indices=True
    )
    return order[caught], hunting[by]


def ranked(cells: Cells) -> tuple[Cells, Cells]:
    """Return an order by cells, and for each in it how many of its cell came before."""
    order = np.argsort(cells, kind="stable")
    first = np.searchsorted(cells[order], cells[order])
    return order, np.arange(len(cells)) - first


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ticks", type=int, default=4000)
    parser.add_argument("--grazers", type=int, default=2000, help="at the beginning")
    parser.add_argument("--hunters", type=int, default=150, help="at the beginning")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--svg", type=Path, default=Path(__file__).parent / "ecosystem.svg")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the land at the end")
    parser.add_argument("--resume", type=Path, metavar="FILE", help="go on from a saved land")
    options = parser.parse_args(arguments)
    if min(options.ticks, options.grazers, options.hunters) < 1:
        parser.error("--ticks, --grazers and --hunters must be at least 1")

    if options.resume:
        ecosystem = Ecosystem.resumed(options.resume)
    else:
        ecosystem = Ecosystem.settled(options.grazers, options.hunters, options.seed)
    counts = [ecosystem.counts()]
    began = time.perf_counter()
    for _ in range(options.ticks):
        ecosystem.step()
        counts.append(ecosystem.counts())
    taken = time.perf_counter() - began

    history = np.array(counts)
    for name, column in zip(("grazers", "hunters"), history.T, strict=True):
        low, high = column.min(), column.max()
        print(f"{name:8} {column[-1]:6,} alive, {low:,} to {high:,} in {options.ticks:,} ticks")
    levels = len(ecosystem.world.kin.levels())
    print(f"families of up to {levels} generations, {1e3 * taken / options.ticks:.2f} ms per tick")
    if options.save:
        ecosystem.save(options.save)
        print(f"saved {options.save}")
    options.svg.write_text(picture(history), encoding="utf-8")
    print(f"wrote {options.svg}")


if __name__ == "__main__":
    main()
