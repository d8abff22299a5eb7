"""Compiled kernels hold nothing of their arguments once they return, the first time included.

Where numba fails to type something and goes on, what it caught holds the frames of all callers, and
with them the columns, until Python collects garbage: a buffer that moves then is said to be looked
at. So compiled code says nothing that numba tries in vain, such as an array put into a row of one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.generated_package import build

SCHEMA = """\
component: Bird
fields: {at: "f32[2]", friend: entity, tired: f32}
lookup: hash
space: {field: at}
kernels:
  settle:
    turns: random
    near: 2
    where: count() < 50
    steps:
      - at += nearest(offset) * 0.5
      - friend = nearest(other.entity)
      - friend.Bird.at -= 0.5
      - tired = friend.Bird.tired + f32(random())
  look:
    near: 2
    steps: ["tired = mean(distance)", "friend = nearest(other.entity)"]
"""
CALLS = """\
import gc, sys, warnings
import numpy as np
gc.disable()
from flown import World
w = World()
w.spawn(40, bird={"at": np.random.default_rng(1).random((40, 2))})
warnings.simplefilter("error")
for kernel in sys.argv[1:]:
    getattr(w.bird, kernel)()
    w.bird.reserve(w.bird.data.allocated + 64)
"""


def test_views_are_dropped(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.yaml").write_text(SCHEMA, encoding="utf-8")
    build(tmp_path / "schemas", tmp_path / "flown", backend="numba")
    ran = subprocess.run(
        [sys.executable, "-c", CALLS, "settle", "look"],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
