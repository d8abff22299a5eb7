"""The flock of flock.py, watched: a page with its map, charts, speed and reset.

    make view MODEL=flock

Needs the inspector: pip install 'ecsgen[film]'. Open the URL that is printed, and press Play.
"""

from __future__ import annotations

from collections.abc import Callable

import _path  # noqa: F401  (must come before `generated`)
from _watched import watch
from flock import Flock

from ecsgen.inspector import View
from generated import World

VIEW = View(map="boid", direction="heading")


def make(seed: int = 1, count: int = 2000) -> tuple[World, Callable[[], None]]:
    """Return a world of boids and what steps it; the page's Reset calls this."""
    flock = Flock(count, seed)
    return flock.world, flock.step


if __name__ == "__main__":
    watch(__doc__, make, VIEW)
