"""With NUMBA_DISABLE_JIT=1 Python runs what numba compiles otherwise, with the same bits: so tests
pass that compare what compiled kernels give with what plain ones do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = (
    "grids/test_cells.py::test_what_is_asked_of_all_cells_around",
    "grids/test_cells.py::test_cells_of_all_kinds_are_heard",
    "grids/test_commands_both_ways.py::test_many_generations",
    "grids/test_time.py",
    "reference/test_random_lives.py",
    "kernels/test_chunk_kernels.py::test_after_any_change",
    "kernels/test_distributions.py::test_both_backends_give_the_same_bits",
    "kernels/test_kernels_edges.py",
    "kernels/test_neighbours.py::test_rows_in_any_order",
    "kernels/test_reductions.py",
)


@pytest.mark.parametrize("tests", TESTS)
def test_python_runs_kernels_as_numba_does(tests: str) -> None:
    """Every warning is an error there, but those of what is not a number: it is asked for."""
    pytest.importorskip("numba")
    arguments = [f"tests/{tests}", "-q", "-n", "0", "-p", "no:cacheprovider"]
    arguments += ["-k", "not numpy and not loops"]  # which never compile
    quiet = ["-W", "ignore:invalid value:RuntimeWarning"]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, *quiet],
        cwd=ROOT,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "ECSGEN_COMPILED": ""},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_literals_divide_as_numba_divides(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    program = """
from ecsgen_runtime.base.jit import jit
@jit()
def share(is_none):
    return 1.0 / (0.0 if is_none else 2.0)
print(share(True), share(False))
"""
    file = tmp_path / "share.py"  # what is compiled is kept beside a file
    file.write_text(program)
    for switch in ("0", "1"):
        env = {**os.environ, "NUMBA_DISABLE_JIT": switch}
        command = [sys.executable, "-W", "ignore", str(file)]
        ran = subprocess.run(command, env=env, capture_output=True, text=True)
        assert ran.stdout == "inf 0.5\n", ran.stderr
