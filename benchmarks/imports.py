"""How long imports of the shipped package take beside numpy's own, each in a process of its own.

    python benchmarks/imports.py [--package FOLDER] [--rounds N]

The processes of a round come in turns. A package is measured over numpy, which is there already,
and from bytecode. The last cases show what is left when nothing is done: as many files with
nothing in them, the package's bytecode read but not run, and its classes made again.
"""

from __future__ import annotations

import compileall
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from _arguments import parsed
from _timing import machine

GENERATED = Path(__file__).resolve().parents[1] / "generated"
NUMPY = "numpy"
TIMED = """
import sys
sys.path[:0] = {folders!r}
{before}
from time import perf_counter, process_time
began, used = perf_counter(), process_time()
{what}
print(min(perf_counter() - began, process_time() - used))
"""
READ = """
for path in paths:
    with open(path, "rb") as file:
        marshal.loads(file.read()[16:])
"""
KINDS = """
bodies = []
for module in [m for name, m in sys.modules.items() if name.split(".")[0] == {name!r}]:
    for kind in list(vars(module).values()):
        if type(kind) is type and kind.__module__ == module.__name__:
            body = {{k: v for k, v in vars(kind).items() if type(v).__name__ not in SLOTS}}
            bodies.append((kind.__name__, kind.__bases__, body))
"""
SLOTS = ("member_descriptor", "getset_descriptor")


def programs(package: Path, folder: Path) -> dict[str, str]:
    """Return what each case runs; `folder` is for copies."""
    copied, empty, name = folder / "copied", folder / "empty", package.name
    skip = shutil.ignore_patterns("tests", "__pycache__")
    for copy in (copied, empty):
        shutil.copytree(package, copy / name, ignore=skip)
    files = sorted(empty.rglob("*.py"))
    for file in files:
        file.write_text("")
    modules = [".".join(file.relative_to(empty).with_suffix("").parts) for file in files]
    for copy in (copied, empty):
        compileall.compile_dir(copy, quiet=1)
    read = [str(path) for path in copied.rglob("*.pyc")]
    kinds = f"import {name}.world\nSLOTS = {SLOTS!r}{KINDS.format(name=name)}"
    manager = next(path.stem for path in sorted(package.glob("*.py")) if is_manager(path))
    return {
        NUMPY: timed([], "", "import numpy"),
        f"import {name}": timed([copied], "", f"import {name}"),
        f"a manager ({manager})": timed([copied], "", f"import {name}.{manager}"),
        "the world": timed([copied], "", f"from {name} import World"),
        f"{len(files)} empty files": timed(
            [empty],
            "",
            "\n".join(f"import {module.removesuffix('.__init__')}" for module in modules),
        ),
        "bytecode, read only": timed([], f"import marshal\npaths = {read!r}", READ),
        "plain classes, again": timed(
            [copied], kinds, "for name, bases, body in bodies: type(name, bases, body)"
        ),
    }


def is_manager(path: Path) -> bool:
    """Return whether a module is that of a component with a manager."""
    return "ROWS: ClassVar = " in path.read_text(encoding="utf-8")


def timed(folders: list[Path], before: str, what: str) -> str:
    """Return a program that prints the seconds that `what` takes, `before` and numpy done."""
    if what != "import numpy":
        before = f"import numpy\n{before}"
    return TIMED.format(folders=[str(folder) for folder in folders], before=before, what=what)


def measure(cases: Mapping[str, str], rounds: int) -> dict[str, list[float]]:
    """Return the ms of each round by case."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, program in cases.items():
            command = [sys.executable, "-c", program]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            times[name].append(1e3 * float(done.stdout))
    return times


def main() -> None:
    options = parsed(__doc__, package=Path, rounds=20)
    package = (options.package or GENERATED).resolve()
    with tempfile.TemporaryDirectory() as folder:
        times = measure(programs(package, Path(folder)), options.rounds)
    print(f"{package.name}, {machine()}, {options.rounds} rounds\n")
    print("| over numpy | ms: best | median | / numpy |\n| --- | --- | --- | --- |")
    for name, ms in times.items():
        ratio = min(ms) / min(times[NUMPY])
        print(f"| {name} | {min(ms):.1f} | {statistics.median(ms):.1f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
