"""Tests that packages bring along, random schemas and the rules of worlds, with methods in C."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.policies.test_combinations import check_package
from tests.support.accelerated_packages import ROOT, built, need_layer
from tests.support.in_process_pytest import failures

FEWER = ("-p", "tests.support.fewer_examples")
PART = "not Archetypes and not kernel and not Chunk"
"""Of generated tests; the others have nothing in C."""

RANDOM = (1, 18)
"""Packages of random schemas."""

RULES = (
    *("world/test_world_machine.py", "world/test_groups.py", "policies/test_few.py"),
    *("policies/test_callbacks.py", "runtime/test_handle_layouts.py"),
    "shards/test_shards_machine.py",
)


@pytest.fixture
def in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make packages that are imported from now on have methods in C."""
    need_layer()
    monkeypatch.setenv("ECSGEN_PURE", "0")


def run_generated(home: Path, *tests: Path, every: int = 1) -> None:
    """Run tests of a package in a folder, of state machines a few examples each."""
    options = (*FEWER, "--every", str(every), "--rootdir", home, "-k", PART)
    assert failures(home, *options, *tests) == []


@pytest.mark.usefixtures("in_c")
@pytest.mark.parametrize("which", ["[a-e]*", "[f-s]*", "[t-z]*"])
def test_generated_tests_of_the_shipped_schemas_pass(which: str, tmp_path: Path) -> None:
    """State machines, and every fourth direct case; `runtime/sanitize` runs them all."""
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "generated", tmp_path / "shipped", ignore=without)
    tests = sorted((tmp_path / "shipped" / "tests").glob(f"test_{which}.py"))
    run_generated(tmp_path, *tests, every=4)


@pytest.mark.usefixtures("in_c")
def test_generated_tests_of_other_policies_pass(tmp_path: Path) -> None:
    run_generated(tmp_path, built(tmp_path) / "tests", every=3)


@pytest.mark.usefixtures("in_c")
@pytest.mark.parametrize("number", RANDOM)
def test_random_schemas_pass(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    check_package(number, tmp_path)


def test_rules_of_worlds_hold() -> None:
    need_layer()
    # Their packages may have been imported here already, without.
    environment = {**os.environ, "ECSGEN_PURE": "0", "PYTHONPATH": str(ROOT)}
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *FEWER]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *(str(ROOT / "tests" / name) for name in RULES)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
