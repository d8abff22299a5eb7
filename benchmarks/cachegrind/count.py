"""Counts the cache misses of one update over several memory layouts, and of the generated kernels.

    python benchmarks/cachegrind/count.py [--rows ROWS] [--only NAME ...]

Runs records.c and kernel.py under `valgrind --tool=cachegrind`, which simulates a cache, the same
one on every machine: 32 KiB and 8 ways at the first level, 8 MiB and 16 ways at the last, lines of
64 bytes. Each runs twice, with few and with more steps; the difference is what the steps cost, the
start of the program and the making of the rows left out. The time, of the processor, is the best
of some runs without valgrind. "position only" is `position += velocity * dt`, 24 of the 36 bytes.
What is not installed is named. `--only` takes beginnings of names in the table.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from _arguments import parsed
from _missing_contenders import MissingError
from _package import SCHEMAS, built

from ecsgen.config import BACKENDS, Backend

HERE = Path(__file__).resolve().parent
CACHE = ("--D1=32768,8,64", "--LL=8388608,16,64")
LAYOUTS = {
    "columns": "struct of arrays",
    "hot": "records of the 36 hot bytes",
    "sorted": "records of 128 bytes, hot fields first",
    "mixed": "records of 128 bytes, hot and cold mixed",
    "objects": "the same, through pointers in random order",
}
SMALL_BATCH, MORE = 1, 5
TIMED = 20
RUNS = 5
# The same machine code on every machine, which cachegrind understands, and the same dicts.
ENVIRONMENT = {**os.environ, "NUMBA_CPU_NAME": "generic", "PYTHONHASHSEED": "0"}


@dataclass(frozen=True, slots=True)
class Program:
    """Something that takes rows and steps as last arguments and prints its ns per row and step."""

    command: tuple[str, ...]

    def run(self, rows: int, steps: int, before: tuple[str, ...] = ()) -> float:
        command = [*before, *self.command, str(rows), str(steps)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{self.command} failed:\n{done.stderr[-2000:]}")
        return float(done.stdout)


@dataclass(frozen=True, slots=True)
class Misses:
    """Reads that the first and the last level of the cache did not have."""

    first: int
    last: int


def misses(program: Program, rows: int, steps: int, folder: Path) -> Misses:
    out = folder / "cachegrind.out"
    tool = ("valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHE)
    program.run(rows, steps, (*tool, f"--cachegrind-out-file={out}"))
    lines = out.read_text(encoding="utf-8").splitlines()
    events = next(line for line in lines if line.startswith("events:")).split()[1:]
    counts = next(line for line in lines if line.startswith("summary:")).split()[1:]
    counts_by_event = dict(zip(events, map(int, counts), strict=True))
    return Misses(counts_by_event["D1mr"], counts_by_event["DLmr"])


def programs(folder: Path) -> Iterator[tuple[str, Callable[[], Program]]]:
    """Name everything to be measured, and make it when asked for."""
    for word, name in LAYOUTS.items():
        yield name, partial(layout, folder, word)
    for backend in BACKENDS:
        yield f"generated kernel, {backend}", partial(kernel, folder, backend)
    for word, name in LAYOUTS.items():
        yield f"position only: {name}", partial(layout, folder, word, "-DPOSITION_ONLY")


def layout(folder: Path, word: str, *flags: str) -> Program:
    """Compile records.c, without the newest instructions, which cachegrind may not know."""
    binary = folder / f"records{len(flags)}"
    if not binary.exists():
        command = ["gcc", "-O2", *flags, "-o", str(binary), str(HERE / "records.c")]
        subprocess.run(command, check=True)
    return Program((str(binary), word))


def kernel(folder: Path, backend: Backend) -> Program:
    """Build a package and let it run once: numba keeps what it compiles on the disk."""
    package = built(folder, backend, SCHEMAS / "point_mass.yaml")
    home = Path(package.__file__).parent
    program = Program((sys.executable, str(HERE / "kernel.py"), str(home.parent), home.name))
    program.run(64, 1)
    return program


def cells(program: Program, rows: int, folder: Path) -> str:
    """Return the table's figures, each per row and step."""
    few, more = (misses(program, rows, steps, folder) for steps in (SMALL_BATCH, MORE))
    row_steps = rows * (MORE - SMALL_BATCH)
    first, last = (more.first - few.first) / row_steps, (more.last - few.last) / row_steps
    ns = min(program.run(rows, TIMED) for _ in range(RUNS))
    return f"{first:.2f} | {last:.2f} | {64 * last:.0f} | {ns:.2f}"


def main() -> None:
    options = parsed(__doc__, rows=1_000_000, only=())
    for tool in ("valgrind", "gcc"):
        if shutil.which(tool) is None:
            print(f"{tool} is not installed, nothing counted (on Debian: apt install {tool})")
            return
    with TemporaryDirectory() as name:
        folder = Path(name)
        wanted = tuple(options.only) or ""
        print(f"{options.rows:,} rows; per row and step\n")
        print("| | D1 read misses | LL read misses | bytes from memory | ns |")
        print("| --- | --- | --- | --- | --- |")
        for title, make in programs(folder):
            if title.startswith(wanted):
                try:
                    print(f"| {title} | {cells(make(), options.rows, folder)} |", flush=True)
                except MissingError as reason:
                    print(f"| {title} | left out: {reason} | | | |")


if __name__ == "__main__":
    main()
