"""`ecsgen warm`: what it compiles stays, and what is no package for it is said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_project import Project

SCHEMA = """\
component: Bird
fields: {at: "f32[2]", tired: f32}
kernels:
  look: {args: {reach: f32}, steps: [tired = reach]}
  push: {args: {by: {type: "f32[2]", each: true}}, steps: [at += by]}
reductions:
  most: {max: tired}
"""


def child(folder: Path, *arguments: str) -> tuple[int, list[str], str]:
    """Run this Python in a folder that has the cache of compiled code."""
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
    )
    return ran.returncode, ran.stdout.splitlines(), ran.stderr


def test_all_is_there_the_second_time(project: Project, tmp_path: Path) -> None:
    """And programs wait for nothing that was compiled."""
    pytest.importorskip("numba")
    project.put("schemas/bird.yaml", SCHEMA)
    assert project("build", "--backend", "numba", "-o", "warm_birds").status == 0
    warm = ("-m", "ecsgen", "warm", "warm_birds", "--jobs")
    status, lines, errors = child(tmp_path, *warm, "2")
    assert (status, errors) == (0, "")
    assert {"compiled  Bird.look", "compiled  Bird.push"} <= {*lines}
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nbc")}
    assert written
    run = "from warm_birds import World; w = World(); w.spawn(9, bird={}); w.bird.look(1.0)"
    run += "; import warm_birds.bird as b; print(sum(b._look_kernel.stats.cache_misses.values()))"
    assert child(tmp_path, "-c", run) == (0, ["0"], "")
    status, lines, _ = child(tmp_path, *warm, "1")
    assert (status, lines[:2]) == (0, ["there     Bird.look", "there     Bird.push"])
    assert lines[-1].startswith("warm_birds: 0 compiled, 3 there, ")
    again = (tmp_path / "cache").rglob("*.nbc")
    assert {path: path.stat().st_mtime_ns for path in again} == written


@pytest.mark.parametrize(
    ("backend", "then", "text"),
    [
        ("numpy", "", "was built for numpy, which compiles nothing"),
        ("", "", "there is no package in birds: wanted the folder that `ecsgen build` writes"),
        ("numba", "schemas/bird.yaml", "was not built from these schemas: run `ecsgen build`"),
        ("numba", "birds/__init__.py", "can't import the package in birds: no module of ours"),
    ],
)
def test_what_is_no_package(project: Project, backend: str, then: str, text: str) -> None:
    pytest.importorskip("numba")
    project.put("schemas/bird.yaml", SCHEMA)
    if backend:
        assert project("build", "--backend", backend, "-o", "birds").status == 0
    if then:
        project.put(
            then, 'raise ImportError("no module of ours")\n' if "init" in then else SCHEMA + "#\n"
        )
    status, output, errors = project("warm", "birds")
    assert (status, output) == (2, "")
    assert text in errors
    assert "Traceback" not in errors
