"""Kernels that read other rows and send to them, beside numpy by hand and C.

    python benchmarks/others.py [--rows N …] [--rounds N] [--without numba]

`strewn` refers to rows in any order, `near` to neighbours. Ratios of best times within one run,
ours / theirs: below 1, ecsgen is faster. All get the same results, which is checked.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from _missing import MissingError
from _native import compiled, pointer_to
from _package import SCHEMAS, built
from _timing import Case, Prepare, always, heading, machine, show
from numpy.typing import NDArray

MASK = np.uint64(0xFFFF_FFFF)
K = 0.25
HERE = Path(__file__).resolve().parent
U64, U32, F32 = (pointer_to(kind) for kind in (np.uint64, np.uint32, np.float32))
FOUND = (ctypes.c_long, ctypes.c_uint64, U32, U64, ctypes.c_long)


class Range:
    """A world with as many seekers, places and springs."""

    def __init__(self, package: Any, count: int, strewn: bool) -> None:
        random = np.random.default_rng(7)
        self.world = world = package.Range()
        es = world.spawn(count, seeker={}, place={}, health={"points": 100})
        near = np.arange(count) + random.integers(-8, 8, count)
        order = random.permutation(count) if strewn else near.clip(0, count - 1)
        world.spring.create_many(count, a=es, b=es[order])
        world.seeker.data.target = es[order]
        world.collect()  # as in a loop of frames: nobody is dead
        for column in (world.seeker.data.at, world.place.data.at, world.seeker.data.damage):
            column[...] = random.random(column.shape, np.float32)

    @property
    def found(self) -> tuple[Any, ...]:
        """What C needs to find places."""
        place = self.world.place
        return place.data.n, int(MASK), place._sparse, place.data._entity_column, place.data.n

    def rows(self, targets: NDArray[np.uint64]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The rows of places, and whether they are there, in numpy by hand."""
        place = self.world.place
        rows = place._sparse.take((targets & MASK).view(np.intp), mode="clip")
        return rows, place.data._entity_column.take(rows, mode="clip") == targets

    def follow(self) -> None:
        data = self.world.seeker.data
        rows, there = self.rows(data.target)
        others = np.where(there[:, None], self.world.place.data.at[rows], np.float32(0))
        data.velocity += (others - data.at) * np.float32(K)

    def strike(self) -> None:
        data = self.world.seeker.data
        rows, there = self.rows(data.target)
        np.subtract.at(self.world.health.data.points, rows[there], data.damage[there])

    def pull(self) -> None:
        place, data = self.world.place.data, self.world.spring.data
        (a, has_a), (b, has_b) = self.rows(data.a), self.rows(data.b)
        zero = np.float32(0)
        f = np.where(has_b[:, None], place.at[b], zero) - np.where(
            has_a[:, None], place.at[a], zero
        )
        f *= np.float32(K)
        np.add.at(place.force, a[has_a], f[has_a])
        np.subtract.at(place.force, b[has_b], f[has_b])


def in_c(folder: Path, kernel: str, range_: Range) -> Prepare:
    """A kernel as a loop in C."""
    seeker, place = range_.world.seeker.data, range_.world.place.data
    if kernel == "follow":
        given: tuple[Any, ...] = (seeker.target, seeker.at, seeker.velocity, place.at, K)
        types: tuple[Any, ...] = (U64, F32, F32, F32, ctypes.c_float)
    elif kernel == "strike":
        given, types = (seeker.target, seeker.damage, range_.world.health.data.points), (
            U64,
            F32,
            F32,
        )
    else:
        spring = range_.world.spring.data
        given = (spring.a, spring.b, place.at, place.force, K)
        types = (U64, U64, F32, F32, ctypes.c_float)
    function = compiled(folder, HERE / f"{kernel}.c", *FOUND, *types)
    return always(lambda: function(*range_.found, *given))


def state(range_: Range) -> list[NDArray[Any]]:
    """What kernels have changed, rounded: sums are in another order by hand."""
    world = range_.world
    columns = (world.seeker.data.velocity, world.health.data.points, world.place.data.force)
    return [np.round(column, 3) for column in columns]


def cases(folder: Path, count: int, backends: list[Any]) -> Iterator[Case]:
    """Each kernel, strewn and near."""
    for kernel in ("follow", "strike", "pull"):
        for strewn in (True, False):
            packages = {b: built(folder, b, SCHEMAS / "others.yaml") for b in backends}
            arguments = () if kernel == "strike" else (K,)
            ranges = {f"ecsgen, {b}": Range(p, count, strewn) for b, p in packages.items()}
            contenders: dict[str, Prepare] = {}
            for name, one in ranges.items():
                contenders[name] = always(partial(getattr(one.world, kernel), *arguments))
            hand = ranges["numpy by hand"] = Range(packages["numpy"], count, strewn)
            contenders["numpy by hand"] = always(getattr(hand, kernel))
            native = Range(packages["numpy"], count, strewn)
            try:
                contenders["C"], ranges["C"] = in_c(folder, kernel, native), native
            except MissingError as reason:
                print(f"C is left out: {reason}")
            for prepare in contenders.values():
                prepare()()
            first, *others = (state(one) for one in ranges.values())
            for other in others:
                assert all(np.allclose(a, b, atol=0.01) for a, b in zip(first, other, strict=True))
            yield Case(f"{kernel}, {'strewn' if strewn else 'near'}", count, contenders)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 100_000])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--without", nargs="*", default=[], choices=["numba"])
    options = parser.parse_args()
    backends = [b for b in ("numpy", "numba") if b not in options.without]
    print(machine())
    ours = [f"ecsgen, {b}" for b in backends]
    print(heading(ours))
    with tempfile.TemporaryDirectory() as folder:
        for count in options.rows:
            for case in cases(Path(folder), count, backends):
                show(case, options.rounds, ours)


if __name__ == "__main__":
    main()
