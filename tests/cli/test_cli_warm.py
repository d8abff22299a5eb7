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


def warm(folder: Path, *arguments: str) -> tuple[int, list[str], str]:
    command = [sys.executable, "-m", "ecsgen", "warm", *arguments]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return ran.returncode, ran.stdout.splitlines(), ran.stderr


def test_programs_wait_for_nothing_that_it_has_compiled(project: Project, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    project.put("schemas/bird.yaml", SCHEMA.partition("reductions")[0])
    assert project("build", "--backend", "numba", "-o", "warm_birds").status == 0
    status, lines, errors = warm(tmp_path, "warm_birds", "--jobs", "1")
    assert (status, errors) == (0, "")
    assert lines[:2] == ["compiled  Bird.look", "compiled  Bird.push"]
    run = "from warm_birds import World; w = World(); w.spawn(9, bird={}); w.bird.look(1.0)"
    run += "; import warm_birds.bird as b; print(sum(b._look_kernel.stats.cache_misses.values()))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", run]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("0\n", "")


def test_all_is_there_the_second_time(project: Project, tmp_path: Path) -> None:
    pytest.importorskip("numba")
    project.put("schemas/bird.yaml", SCHEMA)
    assert project("build", "--backend", "numba", "-o", "warm_birds").status == 0
    status, _, errors = warm(tmp_path, "warm_birds", "--jobs", "2")
    assert (status, errors) == (0, "")
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nbc")}
    assert written
    status, lines, _ = warm(tmp_path, "warm_birds", "--jobs", "1")
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
