"""Runs where somebody else has them done: threads, pools of processes, ranks of MPI, Dask."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mpi4py  # noqa: F401  # a missing one is an error, not a reason to leave these out
import pytest
from ecsgen_runtime import sweep

from tests.shards.test_shards_mpi import LOCAL, MPIEXEC
from tests.support import sweep_models
from tests.support.sweep_models import AtOnce, same, swept

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 180


def spawning(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))


def test_threads_and_processes() -> None:
    parameters = {"x": range(30)}
    expected = swept(sweep_models.line, parameters)
    for executor in (ThreadPoolExecutor(3), spawning(2)):
        with executor:
            s = sweep(sweep_models.line, parameters, executor=executor, progress=False)
            assert same(s, expected)
            assert executor.submit(int, 3).result() == 3  # it is left as it was


def test_threads_take_any_function() -> None:
    def model(seed: int) -> dict[str, str]:
        return {"thread": threading.current_thread().name}

    with ThreadPoolExecutor(2, "mine") as executor:
        s = sweep(model, {}, replicates=2, executor=executor)
    assert {name.partition("_")[0] for name in s.columns["thread"]} == {"mine"}


def test_a_pool_that_breaks_loses_what_is_not_back(tmp_path: Path) -> None:
    """A pool of the standard library breaks as a whole; a second call does the rest."""
    path = tmp_path / "runs.jsonl"
    parameters = {"folder": [str(tmp_path)], "number": range(6)}
    for call in range(10):
        with spawning(1) as executor:
            s = sweep(sweep_models.dies, parameters, executor=executor, path=path, progress=False)
        assert len(s) + len(s.errors) == 6
        assert all("BrokenProcessPool" in error.traceback for error in s.errors)
        assert bool(s.errors) or call > 0
        if not s.errors:
            break
    assert len(s) == 6
    assert same(s, sweep(sweep_models.raises, parameters, path=path, progress=False, stale="keep"))


class Picky(ThreadPoolExecutor):
    """Takes not everything, and counts what it has at a time."""

    def __init__(self) -> None:
        super().__init__(2)
        self.has = self.most = 0

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        if arguments[1].parameters["x"] == 3:
            raise RuntimeError("no room for three")
        future = super().submit(function, *arguments, **named)
        if arguments[1].parameters["x"] == 5:
            future = Future()
            future.cancel()
            future.set_running_or_notify_cancel()
        self.has += 1
        self.most = max(self.most, self.has)
        future.add_done_callback(self._back)
        return future

    def _back(self, future: Future[Any]) -> None:
        self.has -= 1


def test_what_an_executor_raises_is_the_error_of_a_run() -> None:
    def model(seed: int, x: int) -> dict[str, int]:
        time.sleep(0.01)
        return {"y": x}

    with Picky() as executor:
        s = sweep(model, {"x": range(40)}, executor=executor, progress=False)
    assert 2 < executor.most <= 8
    assert [error.parameters["x"] for error in s.errors] == [3, 5]
    assert "RuntimeError: no room for three" in s.errors[0].traceback
    assert CancelledError.__name__ in s.errors[1].traceback
    assert len(s) == 38


def test_an_error_that_several_runs_raise_tells_of_one_each() -> None:
    shared = ValueError("the same")

    def model(seed: int, x: int) -> dict[str, int]:
        raise shared

    class Broken(AtOnce):
        def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(shared)
            return future

    for executor in (AtOnce(), Broken()):
        s = sweep(model, {"x": range(3)}, executor=executor, progress=False)
        for x, error in enumerate(s.errors):
            assert error.traceback.endswith(
                f"in the run with x={x}, replicate=0, seed={error.seed}\n"
            )
            assert error.traceback.count("in the run with") == 1
        assert len({error.traceback.count("\n") for error in s.errors}) == 1


class Stops(AtOnce):
    """Somebody presses Ctrl-C while runs are waiting."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
        if len(self.futures) == 5:
            raise KeyboardInterrupt
        self.futures.append(Future())
        return self.futures[-1]


def test_ctrl_c_cancels_what_waits() -> None:
    executor = Stops()
    with pytest.raises(KeyboardInterrupt):
        sweep(sweep_models.line, {"x": range(9)}, executor=executor, progress=False)
    assert all(future.cancelled() for future in executor.futures)


HEAD = """
import sys
from ecsgen_runtime import sweep
from tests.support import sweep_models
from tests.support.sweep_models import same, swept

def compare(executor, **options):
    parameters = {"x": range(20)}
    found = sweep(sweep_models.line, parameters, replicates=2, executor=executor, **options)
    expected = swept(sweep_models.line, parameters, replicates=2)
    s = sweep(sweep_models.raises, {"number": range(5)}, executor=executor, **options)
    print(same(found, expected), [error.parameters for error in s.errors])
"""
MPI = """
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor() as executor:
        compare(executor)
"""
DASK = """
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster, cluster.get_client() as client:
        compare(client.get_executor(), workers=2)
        compare(client, workers=2)
"""


def printed(tmp_path: Path, text: str, *command: str) -> str:
    """Return what a script that begins with HEAD prints."""
    (tmp_path / "script.py").write_text(HEAD + text)
    done = subprocess.run(
        [*command, str(tmp_path / "script.py")],
        capture_output=True,
        text=True,
        env={**os.environ, **LOCAL, "PYTHONPATH": str(ROOT)},
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


EXPECTED = "True [{'number': 1}, {'number': 4}]\n"


def test_ranks_of_mpi(tmp_path: Path) -> None:
    command = (str(MPIEXEC), "-n", "2", sys.executable, "-m", "mpi4py.futures")
    assert printed(tmp_path, MPI, *command) == EXPECTED


def test_dask(tmp_path: Path) -> None:
    if find_spec("distributed") is None:
        assert not os.environ.get("CI")
        pytest.skip("distributed is not installed")
    assert printed(tmp_path, DASK, sys.executable) == 2 * EXPECTED
