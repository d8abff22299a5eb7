"""Kills processes while they save, and looks at what is left: `python -m tests.kill_during_save
500`."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ecsgen_runtime.snapshots.reading import read_snapshot

_WRITER = """
import sys
import numpy as np
from hashlib import sha256
from ecsgen_runtime.base.files import replace_file
from ecsgen_runtime.snapshots.writing import FilePlan, single

metadata = {"fingerprint": sha256(b"{}").hexdigest(), "schema": "{}", "state": "{}"}
for number in range(int(sys.argv[2]), 2**31):
    parts = [single("body.number", np.full(1_000_000, number))]
    with replace_file(sys.argv[1]) as file:
        FilePlan(sys.argv[1], metadata, parts).write_into(file)
    print(number, flush=True)
"""


@dataclass
class Outcome:
    """Counts of files after many kills."""

    kills: int = 0
    saves: int = 0
    left_over: int = 0
    """Kills that left an unfinished file beside the old one."""
    damaged: int = 0
    """Kills after which the file was neither the last one that was done nor the next."""


def kill_many(path: Path, count: int, seed: int) -> Outcome:
    """Kill `count` processes at random moments while each writes one file after another."""
    moments = random.Random(seed)
    outcome = Outcome()
    number = 0
    for _ in range(count):
        number = _kill_one(path, number, moments.uniform(0, 0.1), outcome)
    return outcome


def _kill_one(path: Path, first: int, wait: float, outcome: Outcome) -> int:
    command = [sys.executable, "-c", _WRITER, str(path), str(first)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        done = int(writer.stdout.readline())
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        done = max(done, *map(int, writer.stdout.read().split()), 0)
    snapshot = read_snapshot(path)
    snapshot.verify()
    numbers = snapshot.arrays["body.number"]
    number = int(numbers[0])
    is_whole = len(numbers) == 1_000_000 and bool((numbers == number).all())
    left = list(path.parent.glob(f".{path.name}.*.new"))
    outcome.kills += 1
    outcome.saves += done - first + 1
    outcome.left_over += bool(left)
    outcome.damaged += not (is_whole and done <= number <= done + 1 and len(left) <= 1)
    return number + 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(kill_many(Path(folder, "town.snap"), int(sys.argv[1]), seed=0))
