"""Saving and loading a world, beside writing and reading the same bytes.

    python benchmarks/snapshots.py [--rows N ...] [--folder FOLDER]

Ratios within one run: each saved file is written and read raw as well, turn by turn; the best of
several rounds counts. Files lie in a folder of the system's temporary files, or in the one given;
what the disk does is part of "with fsync" alone. `mmap` is in milliseconds, for opening a file
should not depend on its size.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _arguments import parsed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from generated import World

MAX_STEPS = 7
PLAIN = ("particle", "transform", "position", "velocity")
LINKED = ("status_effect", "scene_node")


def world_of(rows: int, modules: tuple[str, ...]) -> Any:
    """Return a world with so many entities, which have these components."""
    world = World()
    entities = world.entities.create_many(rows)
    rng = np.random.default_rng(1)
    rng.shuffle(entities)
    for module in modules:
        getattr(world, module).create_many(entities)
    return world


def best(*calls: Callable[[], object]) -> list[float]:
    """Return the least seconds of each call, which take turns."""
    least = [float("inf")] * len(calls)
    for _ in range(MAX_STEPS):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            result = call()
            least[k] = min(least[k], time.perf_counter() - start)
            del result
    return least


def raw_write(path: Path, data: bytes, sync: bool) -> None:
    """Write bytes into a new file, as plainly as can be."""
    new = path.with_suffix(".raw")
    with open(new, "wb", buffering=0) as file:
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        if sync:
            os.fsync(file.fileno())
    os.replace(new, path.with_suffix(".other"))


def raw_read(path: Path) -> object:
    """Read a file into new memory."""
    with open(path, "rb", buffering=0) as file:
        data = np.empty(os.fstat(file.fileno()).st_size, np.uint8)
        view = data.data
        while view:
            view = view[file.readinto(view) :]
    return data


def measure(what: str, world: Any, path: Path) -> None:
    """Print the ratios of one world."""
    codecs = {"*": None}
    data = world.to_bytes(codecs=codecs)
    size = len(data) / 2**20
    saved, raw = best(
        lambda: world.save(path, codecs=codecs, sync=False), lambda: raw_write(path, data, False)
    )
    print(f"{what}: {size:.0f} MiB")
    print(f"  save / write            {saved / raw:6.2f}   ({size / saved / 1024:.2f} GiB/s)")
    saved, raw = best(lambda: world.save(path, codecs=codecs), lambda: raw_write(path, data, True))
    print(f"  save / write, fsync     {saved / raw:6.2f}")
    load = World.load
    verified, trusted, raw = best(
        lambda: load(path, codecs=codecs),
        lambda: load(path, codecs=codecs, verify=False),
        lambda: raw_read(path),
    )
    print(f"  load / read             {verified / raw:6.2f}   ({size / verified / 1024:.2f} GiB/s)")
    print(f"  unverified load / read  {trusted / raw:6.2f}")
    opened, empty = best(lambda: load(path, mmap=True, codecs=codecs), World)
    print(f"  opened by mmap          {opened * 1e3:6.2f} ms, a new world {empty * 1e3:.2f} ms")


def main() -> None:
    options = parsed(__doc__, rows=(1_000_000, 10_000_000), folder=Path)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "world.snap"
        for rows in options.rows:
            for modules in (PLAIN, LINKED):
                world = world_of(rows, modules)
                measure(f"{rows:,} rows of {', '.join(modules)}", world, path)
                del world


if __name__ == "__main__":
    main()
