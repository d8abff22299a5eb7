"""Tests that packages bring along, random schemas and the rules of worlds, with methods in C."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fast_packages import ROOT, built, need_layer

PART = "not Archetypes and not kernel and not Chunk"
"""Of generated tests; the others have nothing in C."""

RANDOM = "1:34:17"
"""Packages of random schemas, as `ECSGEN_COMBINATIONS` has them."""

TINY = "component: Solo\nfields: {x: f32}\n---\nworld: Tiny\n"

RULES = ("test_world_machine.py", "test_groups_machine.py", "test_few.py", "test_callbacks.py")


def run_tests(home: Path, *arguments: str) -> None:
    """Run tests with methods in C, of state machines a few examples each."""
    need_layer()
    paths = os.pathsep.join([str(home), str(ROOT)])
    environment = {**os.environ, "ECSGEN_FAST": "1", "PYTHONPATH": paths}
    environment["ECSGEN_COMBINATIONS"] = RANDOM
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.fewer_examples"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]


def test_generated_tests_of_the_shipped_schemas_pass() -> None:
    """State machines, and every fourth direct case; `fast/sanitize` runs them all."""
    run_tests(ROOT, "--every", "4", "-k", PART, str(ROOT / "generated" / "tests"))


def test_generated_tests_of_other_policies_pass(tmp_path: Path) -> None:
    run_tests(tmp_path, "-k", PART, str(built(tmp_path) / "tests"))


def test_random_schemas_pass() -> None:
    run_tests(ROOT, "-k", "every_combination", str(ROOT / "tests" / "test_combinations.py"))


def test_rules_of_worlds_hold() -> None:
    run_tests(ROOT, *(str(ROOT / "tests" / name) for name in RULES))


def test_a_package_with_its_own_sources(tmp_path: Path) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    made = tmp_path / "made"
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "tiny.yaml").write_text(TINY, encoding="utf-8")
    build = [sys.executable, "-m", "ecsgen", "build", str(tmp_path / "schemas"), "-o", str(made)]
    ran = subprocess.run([*build, "--compiled"], check=True, capture_output=True, text=True)
    assert f"to compile: python {made / '_fast/compile.py'}" in ran.stdout
    subprocess.run([sys.executable, str(made / "_fast" / "compile.py")], check=True)
    code = "import made, sys; print('ecsgen_fast' in sys.modules, type(made.Tiny.spawn).__name__)"
    environment = {**os.environ, "ECSGEN_FAST": "1", "PYTHONPATH": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (ran.stdout, ran.stderr) == ("False Method\n", "")
