"""Several processes on MPI: the same results on any number of ranks, a kill, a restart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import mpi4py  # noqa: F401  # a missing one is an error, not a reason to leave these out
import pytest

from tests.support.generated_package import build

SCRIPT = Path(__file__).parent / "mpi" / "birds.py"
EXAMPLE = Path(__file__).parents[2] / "examples" / "flock_shards.py"
MPIEXEC = Path(sys.executable).parent / "mpiexec"
LOCAL = {
    "HYDRA_IFACE": "lo",
    "HYDRA_LAUNCHER": "fork",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
DEADLINE = 120
MEMORY = Path("/dev/shm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("mpi")
    (top / "schemas").mkdir()
    text = SCRIPT.with_name("schema.yaml").read_text("utf-8")
    (top / "schemas" / "flock.yaml").write_text(text, encoding="utf-8")
    build(top / "schemas", top / "flock", top / "tests")
    return top


def ranks(n: int, *arguments: str | Path, script: Path = SCRIPT) -> tuple[int, str, float]:
    """Run ranks in a process group of their own; return status, output and seconds."""
    command = [MPIEXEC, "-n", str(n), sys.executable, script, *arguments]
    began = time.monotonic()
    process = subprocess.Popen(
        [*map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **LOCAL},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    sys.stderr.write(err)
    return process.returncode, out.strip(), time.monotonic() - began


@pytest.mark.parametrize("number", [3, 2, 4])
def test_any_number_of_ranks_has_the_same_results(folder: Path, number: int) -> None:
    outputs = {ranks(n, folder, "6")[:2] for n in (1, number)}
    assert len(outputs) == 1
    ((status, text),) = outputs
    assert (status, len(text.split())) == (0, 3)


@pytest.fixture
def _no_shared_memory_stays() -> Iterator[None]:
    """MPI itself takes away what ranks share unless they are killed."""
    before = {*MEMORY.glob("mpich_shm_*")}
    yield
    for left in {*MEMORY.glob("mpich_shm_*")} - before:
        left.unlink(missing_ok=True)


@pytest.mark.usefixtures("_no_shared_memory_stays")
def test_a_killed_rank_ends_the_others(folder: Path) -> None:
    status, text, seconds = ranks(2, folder, "8", "--kill", "3")
    assert (status != 0, "Killed" in text) == (True, True)
    assert seconds < 60


def test_a_restart_goes_on(folder: Path, tmp_path: Path) -> None:
    uninterrupted = ranks(2, folder, "8")[:2]
    saved = str(tmp_path / "saved")
    assert ranks(2, folder, "7", "--save", saved, "--every", "4")[0] == 0
    assert sorted(os.listdir(saved)) == ["4.0.shard", "4.1.shard", "4.complete.json"]
    for n in (2, 3):
        assert ranks(n, folder, "8", "--load", saved)[:2] == uninterrupted


def test_a_flock_of_kernels_has_the_same_results(tmp_path: Path) -> None:
    """On any number of ranks each bird has the same neighbours, some of them beyond the border."""
    build(EXAMPLE.with_suffix(""), tmp_path / "flock", tmp_path / "tests")
    outputs = set()
    for n in (1, 2, 4):
        options = "--count", "300", "--steps", "8", "--check", "--package", tmp_path / "flock"
        picture = tmp_path / f"{n}.svg"
        status, text, _ = ranks(n, *options, "--svg", picture, script=EXAMPLE)
        assert status == 0
        assert f" on {n} ranks" in text
        outputs.add(text.replace(f" on {n} ranks", ""))
        assert picture.read_text("utf-8").count("<path") == n
    assert len(outputs) == 1
