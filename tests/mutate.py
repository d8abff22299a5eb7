"""Breaks generated managers in many ways and checks that their generated tests notice.

`python -m tests.mutate` builds the shipped schemas into a temporary folder, applies each mutant to each
place where its pattern matches, runs the generated tests of that module, and prints what was killed and
what survived. It exits with 1 if one survives.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from ecsgen import features, schema
from ecsgen.config import load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.features import Mutant
from ecsgen.model import Project
from ecsgen.render.package import outputs
from tests import mutants

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "generated"
SECONDS = 120
"""A run that takes longer is a kill: an endless loop is noticed, too."""


@dataclass(frozen=True)
class Job:
    """One broken module."""

    file: str
    place: int  # which match of the pattern
    mutant: Mutant
    text: str
    tests: tuple[str, ...]  # files of the tests' folder; none means all

    @property
    def title(self) -> str:
        return f"{self.file:<20} {self.mutant.says} [{self.place}]"


@dataclass(frozen=True)
class Outcome:
    """What the tests said to one broken module."""

    job: Job
    killed_by: str  # empty if it survived
    seconds: float


def build(folder: Path) -> Project:
    """Build the shipped schemas into a folder; the text is left as the templates make it."""
    diagnostics = Diagnostics()
    project = schema.load(ROOT / "schemas", diagnostics)
    options = load_options(schemas=ROOT / "schemas", output=folder, cwd=ROOT)
    if project is None or diagnostics.errors:
        raise SystemExit("the shipped schemas have errors")
    for output in outputs(project, options, diagnostics):
        path = folder / output.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(output.make(), encoding="utf-8")
    return project


def jobs(project: Project, folder: Path) -> Iterator[Job]:
    """Return every way to break the package, one at a time."""
    for component in project.components:
        file = f"{component.module}.py"
        tests = (f"test_{file}", "test_world.py")
        found = [mutant for f in features.active(component) for mutant in f.mutants]
        yield from _broken(folder, file, [*mutants.MANAGER, *found], tests)
    yield from _broken(folder, "entities.py", mutants.ENTITIES, ("test_entities.py",))
    yield from _broken(folder, "world.py", mutants.WORLD, ("test_world.py",))
    yield from _broken(folder, "_runtime.py", mutants.RUNTIME, ())


def _broken(
    folder: Path, file: str, every: Iterable[Mutant], tests: tuple[str, ...]
) -> Iterator[Job]:
    text = (folder / file).read_text(encoding="utf-8")
    for mutant in every:
        for place, match in enumerate(re.finditer(mutant.old, text, re.MULTILINE)):
            new = text[: match.start()] + match.expand(mutant.new) + text[match.end() :]
            if new != text:
                yield Job(file, place, mutant, new, tests)


def run(job: Job, folder: Path) -> Outcome:
    """Run the tests against one broken module, in a folder that nobody else uses meanwhile."""
    path = folder / job.file
    whole = path.read_text(encoding="utf-8")
    path.write_text(job.text, encoding="utf-8")
    start = time.perf_counter()
    try:
        killed_by = _killed_by(job, folder)
    finally:
        path.write_text(whole, encoding="utf-8")
    return Outcome(job, killed_by, time.perf_counter() - start)


def _killed_by(job: Job, folder: Path) -> str:
    tests = [str(folder / "tests" / name) for name in job.tests or ("",)]
    options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    command = [sys.executable, "-B", "-m", "pytest", *options, "--hypothesis-seed=1", *tests]
    try:
        done = subprocess.run(
            command, cwd=folder.parent, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return "time"
    if done.returncode == 0:
        return ""
    named = re.search(r"^(?:FAILED|ERROR) \S*?([^/\s]+\.py\S*)", done.stdout, re.MULTILINE)
    return named.group(1) if named else f"exit status {done.returncode}"


def run_all(todo: list[Job], folder: Path, workers: int) -> Iterator[Outcome]:
    """Run jobs side by side, each worker on a copy of the package; in the order given."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(workers):
        copy = folder.parent / f"worker_{number}" / PACKAGE
        shutil.copytree(folder, copy)
        copies.put(copy)

    def one(job: Job) -> Outcome:
        copy = copies.get()
        try:
            return run(job, copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(one, todo)


def sample(todo: list[Job], count: int) -> list[Job]:
    """Return some jobs, spread over all."""
    return [todo[round(k * len(todo) / count)] for k in range(count)] if count else todo


def mutate(count: int, only: str, workers: int) -> list[Outcome]:
    """Run `count` mutants (0: all) whose title matches a pattern; print as they come."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / PACKAGE
        project = build(folder)
        todo = [job for job in jobs(project, folder) if re.search(only, job.title)]
        outcomes = []
        for outcome in run_all(sample(todo, count), folder, workers):
            outcomes.append(outcome)
            verdict = f"killed by {outcome.killed_by}" if outcome.killed_by else "SURVIVED"
            print(f"{outcome.seconds:5.1f} s  {outcome.job.title:<78} {verdict}", flush=True)
    return outcomes


def report(outcomes: list[Outcome]) -> int:
    """Print kills per module and all survivors; return the exit status."""
    ran = Counter(outcome.job.file for outcome in outcomes)
    killed = Counter(outcome.job.file for outcome in outcomes if outcome.killed_by)
    print(f"\n{'module':<24} {'mutants':>8} {'killed':>8}")
    for file in sorted(ran):
        print(f"{file:<24} {ran[file]:>8} {killed[file]:>8}")
    print(f"{'all':<24} {ran.total():>8} {killed.total():>8}")
    survivors = [outcome for outcome in outcomes if not outcome.killed_by]
    for outcome in survivors:
        print(f"SURVIVED {outcome.job.title}: {outcome.job.mutant.old} -> {outcome.job.mutant.new}")
    return 1 if survivors else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sample", type=int, default=0, help="run only so many, spread over all")
    parser.add_argument("--only", default="", help="run those whose title matches this pattern")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    return report(mutate(given.sample, given.only, given.workers))


if __name__ == "__main__":
    sys.exit(main())
