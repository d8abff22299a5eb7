"""How a build grows: 1,000 components cold, unchanged, and with one schema changed.

    python benchmarks/build_scaling.py [COMPONENTS]

Prints seconds of whole processes, on the wall and of all cores together, and the latter as a share
of the cold build: on a busy machine the wall says little.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCALARS = ("f32", "f64", "i32", "u8", "bool", "f32[3]", "str[16]", "entity")
LOOKUPS = ("sparse", "hash", "direct")
DESTROYS = ("gc", "callback", "manual")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schemas").mkdir()
        for number in range(count):
            file = folder / "schemas" / f"component_{number}.yaml"
            file.write_text(component(number), encoding="utf-8")
        cold = measure(folder, f"{count} components, cold", None)
        measure(folder, "unchanged", cold)
        changed = folder / "schemas" / f"component_{count // 2}.yaml"
        changed.write_text(component(count // 2, "Changed. "), encoding="utf-8")
        measure(folder, "one schema changed", cold)
        measure(folder, "check, unchanged", cold, "check")
        files = [path for path in (folder / "generated").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(f"{len(files)} files, {size / 1e6:.1f} MB")


def component(number: int, doc: str = "") -> str:
    """A schema of some variety: one to eight fields, every lookup and every way of destroying."""
    fields = [
        f'  field_{i}: {{type: "{SCALARS[(number + i) % len(SCALARS)]}", doc: Field {i}.}}'
        for i in range(1 + number % 8)
    ]
    head = [
        f"component: Component{number}",
        f"doc: {doc}Component {number} of many.",
        f"lookup: {LOOKUPS[number % 3]}",
        f"destroy: {DESTROYS[number // 3 % 3]}",
        "fields:",
    ]
    return "\n".join([*head, *fields]) + "\n"


def measure(folder: Path, what: str, cold: float | None, command: str = "build") -> float:
    start, used = time.perf_counter(), cpu()
    subprocess.run(
        [sys.executable, "-m", "ecsgen", command], cwd=folder, check=True, stdout=subprocess.PIPE
    )
    taken, used = time.perf_counter() - start, cpu() - used
    share = "" if cold is None else f"  {used / cold:6.1%} of cold"
    print(f"{what:30} {taken:7.2f} s  {used:7.2f} s of cores{share}", flush=True)
    return used


def cpu() -> float:
    """Seconds that finished child processes have used so far."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
