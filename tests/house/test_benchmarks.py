"""Each benchmark runs, on sizes so small that its figures say nothing; none can fail on speed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
CALLS = "--calls 20 --bulk 100 --rounds 1"
SAME = f"{ROOT}/generated"
COMPARED = r"^(EntityManager|KinManager|Archetypes|World\.bodies)"
TINY = {
    "build_scaling.py": "1",
    "changes.py": "--rows 300 --rounds 1 --creations 20",
    "compare.py": f"{SAME} {SAME} --rounds 1 --bulk 10 --only {COMPARED}",
    "accelerator.py": "--live 30 --rounds 1",
    "inspector.py": "--rows 100 --rounds 1 --without-browser",
    "managers.py": f"--backends numpy {CALLS} --live 30",
    "imports.py": "--rounds 1",
    "models.py": "--only life boltzmann --sizes small --steps 2 --rounds 1 --backends numpy",
    "moved.py": "--sizes 20 --steps 1 --rounds 1 --backends numpy",
    "row_objects.py": "--rows 20 --rounds 1",
    "policies.py": CALLS,
    "records.py": "--rows 20 --work 1 --rounds 1 --backends numpy",
    "programs.py": "--sizes 40 --rounds 1",
    "shards_repast.py": "--rows 60 --some 20 --rounds 1",
    "shards.py": "--rows 60 --rounds 1 --backends numpy",
    "shards_flock.py": "--backend numpy --rounds 1 --flock 200 --ticks 1",
    "snapshots.py": "--rows 100",
    "simulate.py": "--rows 10 --work 1 --rounds 1 --without numba",
    "goals.py": "--sizes 200 --links 90 --rounds 1 --backends numpy",
    "turns.py": "--rows 20 --rounds 1 --backends numpy",
    "language.py": "--rounds 1 --backends numpy",
    "systems.py": "--rows 40 --work 1 --rounds 1 --shares 10 100",
}
DRAWING = ("simulate.py", "systems.py")
HOT_FIRST = "records of 128 bytes, hot fields first"
SVG = "{http://www.w3.org/2000/svg}"


def run(script: str, *arguments: str, **environment: str) -> str:
    command = [sys.executable, "-W", "error", str(BENCHMARKS / script), *arguments]
    known = {**os.environ, "PYTHONUTF8": "1", **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=known, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_script_is_here() -> None:
    assert {file.name for file in BENCHMARKS.glob("[!_]*.py")} == set(TINY)


@pytest.mark.parametrize("script", [name for name in TINY if name not in DRAWING])
def test_runs(script: str) -> None:
    assert run(script, *TINY[script].split())


def drawn(script: str, folder: Path, *arguments: str) -> tuple[str, Any, set[str | None]]:
    """Run a script where there is no gcc; return what it says, its figures, and the texts of its
    picture."""
    figures, picture = folder / "figures.json", folder / "picture.svg"
    files = ("--json", str(figures), "--svg", str(picture))
    output = run(script, *TINY[script].split(), *arguments, *files, PATH=str(folder))
    texts = {text.text for text in ET.parse(picture).getroot().iter(f"{SVG}text")}
    return output, json.loads(figures.read_text()), texts


def test_simulate_tells_who_is_left_out_and_draws_the_others(tmp_path: Path) -> None:
    output, results, texts = drawn("simulate.py", tmp_path)
    assert "gcc -O3 -march=native is left out: gcc is not installed" in output
    assert "generated, numba is left out: not asked for" in output
    assert {"generated, numpy", "numpy by hand", "plain objects"} <= results["best"].keys()
    assert {"gcc -O3 -march=native", "generated, numba"} <= results["skipped"].keys()
    assert texts >= results["best"].keys()


def test_systems_arrive_where_they_should_and_are_drawn(tmp_path: Path) -> None:
    without = ("--without", "one component's kernel, numba")
    output, results, texts = drawn("systems.py", tmp_path, *without)
    assert "C is left out: gcc is not installed" in output
    assert "group, kernel / one component's kernel" in output
    ways = {"group", "query, shuffled, kernel", "chunks of 16 KiB, kernel", "pools by hand"}
    assert ways <= results["still"]["best"].keys() & results["changing"]["best"].keys()
    assert texts >= results["still"]["best"].keys()


def test_compare_finds_what_is_slower_and_what_is_broken(tmp_path: Path) -> None:
    worse = tmp_path / "worse"
    shutil.copytree(ROOT / "generated", worse, ignore=shutil.ignore_patterns("tests"))
    with (worse / "spark.py").open("a") as module:
        module.write(
            "_resolve = SparkManager.resolve\n"
            "SparkManager.resolve = lambda self, id: [_resolve(self, id) for _ in range(9)][0]\n"
            "SparkManager.is_active = lambda self, row: 1 / 0\n"
        )
    output = run(
        *("compare.py", str(ROOT / "generated"), str(worse), "--rounds", "2", "--bulk", "10"),
        *("--only", "SparkManager: (resolve$|is_active)"),
    )
    assert "1 operations" in output
    assert ", 1 above 1.05" in output
    assert "SparkManager: resolve (" in output
    assert "BROKEN in the new package: SparkManager: is_active: ZeroDivisionError" in output


def test_cachegrind_tells_what_to_install(tmp_path: Path) -> None:
    output = run("cachegrind/count.py", PATH=str(tmp_path))
    assert output.startswith("valgrind is not installed, nothing counted")


@pytest.mark.skipif(
    not (shutil.which("valgrind") and shutil.which("gcc")), reason="needs valgrind and gcc"
)
def test_cachegrind_counts_lines_of_the_cache() -> None:
    # 40,000 records of 128 bytes, 5 MB, are in the last level and not in the first.
    output = run("cachegrind/count.py", "--rows", "40000", "--only", "struct", HOT_FIRST)
    columns, records, *_ = (line.split("|")[2:4] for line in output.splitlines()[4:])
    assert [float(cell) for cell in columns] == [0.56, 0.0]
    assert [float(cell) for cell in records] == [1.0, 0.0]


@pytest.mark.parametrize("script", DRAWING)
def test_the_plot_shows_the_figures_beside_it(script: str, tmp_path: Path) -> None:
    shown = (ROOT / "docs" / "pictures" / script).with_suffix(".svg")
    picture = tmp_path / shown.name
    run(script, "--again", str(shown.with_suffix(".json")), "--svg", str(picture))
    assert picture.read_text() == shown.read_text(), "run: make bench"
