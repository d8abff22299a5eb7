"""The flock of flock.py, watched: a page with its map, charts, speed and reset.

Needs the inspector: pip install 'ecsgen[inspect]'. Open the URL that is printed, and press Play.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import _path  # noqa: F401  (must come before `generated`)
from flock import Flock

from generated import World


def make(seed: int = 1, count: int = 2000) -> tuple[World, Callable[[], None]]:
    """Return a world of boids and what steps it; the page's Reset calls this."""
    flock = Flock(count, seed)
    return flock.world, flock.step


def main(arguments: Sequence[str] | None = None) -> None:
    from ecsgen.inspector import serve

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000, help="boids")
    parser.add_argument("--port", type=int, default=0, help="by default any free one")
    options = parser.parse_args(arguments)

    world, step = make(count=options.count)
    with serve(world, step=step, make=make, port=options.port) as inspector:
        print(inspector.url, flush=True)
        print("steps:", inspector.run())


if __name__ == "__main__":
    main()
