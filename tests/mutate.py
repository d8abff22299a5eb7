"""Breaks generated managers in many ways and checks that their generated tests notice.

`python -m tests.mutate` builds the shipped schemas, a few more for policies that those do not have,
and a few that numba compiles, into a temporary folder, applies each mutant where its pattern
matches, runs the generated tests of that module and then, if a file of the library is broken, the
project's own tests of it, and prints what was killed and what survived. It exits with 0 only if
some ran and all of them were killed; a mutant whose pattern matches nowhere, or that makes no
program, is an error, so that none falls silent when what is generated changes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from queue import SimpleQueue

import pytest
from hypothesis import Phase, settings

if sys.platform == "linux":
    import resource

from tests.support.gc_settings import collect_rarely
from tests.support.mutant_jobs import (
    TESTS,
    Job,
    build_all,
    idle,
    jobs,
    library_of,
    senseless,
    spread,
)

LIMITS = sys.platform == "linux"
"""True if the system limits what a process takes."""
SECONDS, SECONDS_PER_FILE = 900, 20
"""A run that takes longer is a kill: an endless loop is noticed, too. At most, and for each file
of tests beside two more for the start; of the processor where the system can tell, else, and ten
times as long for those that only wait, by the clock."""
MEMORY = 2 << 30
"""Bytes that a run may take, where the system can tell: an endless list is noticed, too."""
BY_TIME = "time"
OPTIONS = (
    *("-x", "-q", "--no-header", "--tb=short"),
    *("-p", "no:cacheprovider", "-p", "_hypothesis_pytestplugin"),
    "--hypothesis-profile=mutants",
)
SEEDS = (1, 2, 3)
"""Machines draw other calls with each: a mutant survives if it lives through all of them."""
PROJECT_OPTIONS = (
    *("-x", "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-m", "not hypothesis and not soak and not browser"),
)
# As long as the thorough one; a failure need not be small, nor may it help the next mutant.
settings.register_profile("mutants", max_examples=300, phases=(Phase.explicit, Phase.generate))

# Each run is a fork of a process that has imported what takes long.
FORKS: ForkServerContext | SpawnContext = (
    multiprocessing.get_context("forkserver")
    if os.name == "posix"
    else multiprocessing.get_context("spawn")
)
FORKS.set_forkserver_preload(["__main__", "numpy", "pytest", "hypothesis.stateful"])


@dataclass(frozen=True)
class Outcome:
    """The verdict of tests on one broken module."""

    job: Job
    killed_by: str  # empty if it survived
    seconds: float


def run(job: Job, folder: Path) -> Outcome:
    """Run the tests against one broken module, in a folder that nobody else uses meanwhile."""
    path = folder / job.package / job.file
    content, times = path.read_bytes(), path.stat()
    path.write_text(job.text, encoding="utf-8")
    start = time.perf_counter()
    try:
        killed_by = _killed_by(job, job.tests, folder)
        if not killed_by and job.project_tests:
            killed_by = _killed_by_project(job, folder)
        if not killed_by and job.tests_of_others:
            killed_by = _killed_by(job, job.tests_of_others, folder)
        for seed in SEEDS[1:]:
            killed_by = killed_by or _killed_by(job, job.tests, folder, seed)
    finally:
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # its compiled form is good again
    return Outcome(job, killed_by, time.perf_counter() - start)


def _killed_by_project(job: Job, folder: Path) -> str:
    """Run the project's own tests of a library file with a broken copy of the library."""
    library = library_of(folder)
    path = library / job.file.removeprefix("_runtime/")
    text_before = path.read_bytes()
    path.write_text(job.text, encoding="utf-8")
    try:
        return _run_project_tests(job.project_tests, library)
    finally:
        path.write_bytes(text_before)


def _run_project_tests(files: tuple[str, ...], library: Path) -> str:
    """Return which of the project's tests fails first with a copy of the library; "" if none."""
    paths = [str(TESTS / file) for file in files]
    limit = 5 * SECONDS_PER_FILE * (len(files) + 2)
    command = [sys.executable, "-B", "-m", "pytest", *PROJECT_OPTIONS, *paths]
    environment = {**os.environ, "PYTHONPATH": str(library.parent), "ECSGEN_PURE": "1"}
    try:
        ran = subprocess.run(
            command, cwd=TESTS.parent, env=environment, capture_output=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return BY_TIME
    if ran.returncode == 0:
        return ""
    return _failed(ran.stdout.decode(errors="replace")) or f"exit status {ran.returncode}"


def _killed_by(job: Job, tests: tuple[str, ...], folder: Path, seed: int = SEEDS[0]) -> str:
    limit = _seconds(tests)
    package = folder / job.package
    process, output = _init_empty(package, tests, keeps_compiled=False, limit=limit, seed=seed)
    process.join(10 * limit if LIMITS else limit)
    if process.is_alive():
        process.kill()
        process.join()
        return BY_TIME
    if LIMITS and process.exitcode == -signal.SIGXCPU:
        return BY_TIME
    if process.exitcode == 0:
        return ""
    return _failed(output.read_text(encoding="utf-8")) or f"exit status {process.exitcode}"


def _failed(text: str) -> str:
    """Return the test that an output says has failed."""
    named = re.search(r"^(?:FAILED|ERROR) \S*?([^/\s]+\.py\S*)", text, re.MULTILINE)
    return named.group(1) if named else ""


def _seconds(tests: tuple[str, ...]) -> int:
    """Return how long tests may run; none means all."""
    return min(SECONDS, SECONDS_PER_FILE * (len(tests) + 2)) if tests else SECONDS


def check_whole(todo: list[Job], folder: Path) -> None:
    """Run the tests of the whole package: what fails there must not count as a kill later.

    This also compiles everything, so that later runs need not.
    """
    for package in sorted({job.package for job in todo}):
        concerned = [job for job in todo if job.package == package]
        tests = tuple(
            sorted({name for job in concerned for name in job.tests + job.tests_of_others})
        )
        tests = tests if all(job.tests for job in concerned) else ()
        process, output = _init_empty(folder / package, tests, keeps_compiled=True)
        process.join()
        if process.exitcode != 0:
            raise SystemExit(f"the whole package fails:\n{output.read_text(encoding='utf-8')}")
    files = tuple(dict.fromkeys(chain(*(job.project_tests for job in todo))))
    if files and (failed := _run_project_tests(files, library_of(folder))):
        raise SystemExit(f"the whole library fails: {failed}")


def _init_empty(
    folder: Path,
    tests: tuple[str, ...],
    keeps_compiled: bool,
    limit: int = -1,
    seed: int = SEEDS[0],
) -> tuple[BaseProcess, Path]:
    """Start tests, and return their process and the file that gets its output."""
    output = folder.parent / "output.txt"
    arguments = folder, tests, keeps_compiled, limit, seed, output
    process = FORKS.Process(target=_pytest, args=arguments)
    process.start()
    return process, output


def _pytest(
    folder: Path,
    tests: tuple[str, ...],
    keeps_compiled: bool,
    limit: int,
    seed: int,
    output: Path,
) -> None:
    """Run tests of a folder in this process, file by file, and exit with pytest's status."""
    with output.open("w", encoding="utf-8") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    if LIMITS:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, -1))
    collect_rarely()
    os.chdir(folder.parent)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    os.environ["ECSGEN_PURE"] = "1"  # what is in C would not notice
    sys.dont_write_bytecode = not keeps_compiled
    sys.pycache_prefix = None  # beside the source, where copies take it along
    os.environ["NUMBA_CACHE_DIR"] = str(folder.parent / _compiled_cache(folder))
    for name in tests or ("",):
        status = pytest.main([*OPTIONS, f"--hypothesis-seed={seed}", str(folder / "tests" / name)])
        if status:
            break
    sys.exit(status)


def _compiled_cache(package: Path) -> str:
    """Return a folder's name that changes with the functions that others have compiled into them:
    numba compiles a function again when its own file changes, not when theirs do."""
    folders = [package / "_runtime" / name for name in ("base", "kernels", "shards", "tables")]
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    text = b"".join(path.read_bytes() for path in paths)
    return f"compiled_{zlib.crc32(text):08x}"


def run_all(todo: list[Job], folder: Path, workers: int) -> Iterator[Outcome]:
    """Run jobs side by side, each worker on a copy of the package; in the order given."""
    check_whole(todo, folder)
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(workers):
        copy = folder.parent / f"worker_{number}"
        shutil.copytree(folder, copy)
        copies.put(copy)

    def run_job(job: Job) -> Outcome:
        copy = copies.get()
        try:
            return run(job, copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(run_job, todo)


def mutate(count: int, only: str, workers: int, share: str = "0/1") -> list[Outcome]:
    """Run `count` mutants (0: all) of a share, say the first of four ("0/4"), whose title matches a
    pattern; print as they come."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "whole"
        every = list(jobs(build_all(folder), folder))
        if lost := idle(every):
            raise SystemExit("\n".join(["these mutants match nothing:", *lost]))
        shared = [job for job in every if _is_in(share, job) and re.search(only, job.title)]
        todo = spread(shared, count)
        if not todo:
            raise SystemExit(f"no mutant's title matches {only!r}")
        if flaws := [flaw for job in todo if (flaw := senseless(job))]:
            raise SystemExit("\n".join(["these mutants are no programs:", *flaws]))
        outcomes = []
        for outcome in run_all(todo, folder, workers):
            outcomes.append(outcome)
            verdict = f"killed by {outcome.killed_by}" if outcome.killed_by else "SURVIVED"
            print(f"{outcome.seconds:5.1f} s  {outcome.job.title:<90} {verdict}", flush=True)
    return outcomes


def _is_in(share: str, job: Job) -> bool:
    """Return whether a job is in a share, whatever other jobs there are."""
    number, of = map(int, share.split("/"))
    return zlib.crc32(job.title.encode()) % of == number


def report(outcomes: list[Outcome]) -> int:
    """Print kills per module and all survivors; return the exit status."""
    ran = Counter(outcome.job.where for outcome in outcomes)
    killed = Counter(outcome.job.where for outcome in outcomes if outcome.killed_by)
    print(f"\n{'module':<40} {'mutants':>8} {'killed':>8}")
    for file in sorted(ran):
        print(f"{file:<40} {ran[file]:>8} {killed[file]:>8}")
    print(f"{'all':<40} {ran.total():>8} {killed.total():>8}")
    slow = sum(outcome.killed_by == BY_TIME for outcome in outcomes)
    print(f"{slow} of them ran out of time")
    survivors = [outcome for outcome in outcomes if not outcome.killed_by]
    for outcome in survivors:
        print(f"SURVIVED {outcome.job.title}: {outcome.job.mutant.old} -> {outcome.job.mutant.new}")
    return 1 if survivors else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, default=0, help="run only so many, spread over all")
    parser.add_argument("--share", default="0/1", help="run a part of all: 0/4 … 3/4")
    parser.add_argument("--only", default="", help="run those whose title matches this pattern")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    return report(mutate(options.sample, options.only, options.workers, options.share))


if __name__ == "__main__":
    sys.exit(main())
