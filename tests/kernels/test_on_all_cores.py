"""Kernels on all cores give the bits that they give on one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
from numba import prange, threading_layer
from ecsgen_runtime.base.jit import jit

@jit(parallel=True)
def halves(out):
    for i in prange(len(out)):
        out[i] = i / 2.0

import numpy as np
out = np.empty(5)
halves(out)
try:
    threading_layer()
    print("several", *out)
except ValueError:  # no threads were ever started
    print("one", *out)
"""


def run(file: Path, threads: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "ECSGEN_THREADS": threads}
    return subprocess.run([sys.executable, str(file)], env=env, capture_output=True, text=True)


def test_the_environment_keeps_kernels_on_one_core(tmp_path: Path) -> None:
    """Also if those for several cores are kept on disk, and the other way round."""
    pytest.importorskip("numba")
    file = tmp_path / "halves.py"
    file.write_text(PROGRAM)
    for threads, cores in (("", "several"), ("1", "one"), ("", "several"), ("1", "one")):
        assert run(file, threads).stdout == f"{cores} 0.0 0.5 1.0 1.5 2.0\n"


def test_the_environment_asks_for_no_other_number_of_cores(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    file = tmp_path / "halves.py"
    file.write_text(PROGRAM)
    for threads in ("0", "2", "all"):
        last = run(file, threads).stderr.splitlines()[-1]
        assert last.startswith("ValueError: ECSGEN_THREADS: wanted 1, which runs all kernels on")
        assert f"not '{threads}'" in last
