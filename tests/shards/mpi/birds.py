"""Birds that steer by their neighbours, are spawned and destroyed: the same on any number of ranks.

mpiexec -n 2 python birds.py PACKAGE_FOLDER TICKS [--save FOLDER --every N] [--load FOLDER]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
from importlib import import_module
from typing import Any

import numpy as np

SIZE, RADIUS, BIRDS = 100.0, 6.0, 300


def begin(package: Any, shards: Any) -> None:
    """Spawn all birds on rank 0."""
    if shards.rank == 0:
        keys = np.arange(1, BIRDS + 1, dtype=np.uint64)
        shards.world.spawn(
            BIRDS,
            agent={"key": keys},
            position={"value": SIZE * package.Draws.uniform(keys, 0, 1, 2)},
            velocity={"value": package.Draws.uniform(keys, 0, 2, 2) - 0.5},
        )


def steer(shards: Any, space: Any) -> None:
    """Turn each bird to the mean of its neighbours, in the order of their keys."""
    w = shards.world
    at = w.position.data.value
    rows, ranks = space.borders(at, RADIUS, shards.rank)
    shards.refresh(w.position.data.entity[rows], ranks)
    near_at, near_v, near_key = (
        w.position.nearby.value,
        w.velocity.nearby.value,
        w.agent.nearby.key,
    )
    order = near_key.argsort()
    near_at, near_v = near_at[order], near_v[order]
    new = w.velocity.data.value.copy()
    for row in range(len(at)):
        away = near_at - at[row]
        away -= SIZE * np.rint(away / SIZE)
        close = (away * away).sum(1) <= RADIUS * RADIUS
        total = np.zeros(2)
        for velocity in near_v[close]:
            total += velocity
        new[row] = 0.5 * (new[row] + total / close.sum())
    w.velocity.data.value = new


def live_and_die(package: Any, shards: Any, tick: int) -> None:
    w, draws = shards.world, package.Draws
    keys = w.agent.data.key.copy()
    chance = draws.uniform(keys, tick, 3)
    parents = (chance < 0.01).nonzero()[0]
    dying = w.agent.data.entity[chance > 0.99].copy()
    if len(parents):
        young = draws.child_keys(keys[parents], tick)
        w.spawn(
            len(parents),
            agent={"key": young},
            position={"value": w.position.data.value[parents].copy()},
            velocity={"value": draws.uniform(young, tick, 4, 2) - 0.5},
        )
    w.destroy_many(dying)
    w.collect()
    w.agent.data.age += 1


def digest(shards: Any) -> str:
    """Return a digest of all birds by key, the same on all ranks."""
    w = shards.world
    if shards.rank:
        shards.migrate(w.entities.live(), 0)
    else:
        shards.migrate()
    order = w.agent.data.key.argsort()
    hashed = hashlib.sha256()
    for column in (
        w.agent.data.key,
        w.agent.data.age,
        w.position.data.value,
        w.velocity.data.value,
    ):
        hashed.update(np.ascontiguousarray(column[order]).tobytes())
    return hashed.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("ticks", type=int)
    parser.add_argument("--save", default="")
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--load", default="")
    parser.add_argument("--kill", type=int, default=-1)
    options = parser.parse_args()
    sys.path.insert(0, options.folder)
    package = import_module("flock")
    loaded = package.Shards.load(options.load, timeout=30) if options.load else None
    with loaded or package.Shards(package.Flock(), timeout=30) as shards:
        if loaded is None:
            begin(package, shards)
        space = package.Blocks((0, 0), (SIZE, SIZE), shards.size, periodic=True)
        w = shards.world
        for tick in range(shards.tick, options.ticks):
            if options.kill == tick and shards.rank == shards.size - 1:
                os.kill(os.getpid(), signal.SIGKILL)
            at = w.position.data
            shards.migrate(at.entity, space.owner(at.value))
            steer(shards, space)
            live_and_die(package, shards, tick)
            w.position.data.value = (w.position.data.value + w.velocity.data.value) % SIZE
            if options.save and (tick + 1) % options.every == 0:
                shards.save(options.save, tick + 1)
        energy = shards.sum((w.velocity.data.value**2).sum(1))
        n = shards.count(len(w.agent))
        checksum = digest(shards)
        if shards.rank == 0:
            print(n, energy.hex(), checksum)


if __name__ == "__main__":
    main()
