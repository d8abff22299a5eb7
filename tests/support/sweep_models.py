"""Models for sweeps: functions of a module, as other processes want them."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future
from datetime import date, datetime
from enum import IntEnum, IntFlag
from pathlib import Path
from typing import Any

import numpy as np
from ecsgen_runtime import Sweep, sweep
from numpy.typing import NDArray


class Mode(IntEnum):
    SLOW = 0
    FAST = 1


class Trait(IntFlag):
    OLD = 1
    ILL = 2


def same(first: Sweep, other: Sweep) -> bool:
    """Return True if two tables are the same to the bit."""
    return [*first.columns] == [*other.columns] and all(
        (
            column.dtype == other.columns[name].dtype
            and column.tolist() == other.columns[name].tolist()
            if column.dtype == object
            else column.tobytes() == other.columns[name].tobytes()
        )
        for name, column in first.columns.items()
    )


class AtOnce:
    """An executor without processes: what is submitted is done."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


def swept(model: Any, parameters: Any, **options: Any) -> Sweep:
    return sweep(model, parameters, executor=AtOnce(), progress=False, **options)


class Lines:
    """Return the contents of a table of `world.records`."""

    def __init__(self, **columns: NDArray[Any]) -> None:
        self.columns = columns
        for column in columns.values():
            column.flags.writeable = False

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


def line(seed: int, **parameters: Any) -> dict[str, Any]:
    """One value of each kind."""
    rng = np.random.default_rng(seed)
    return {
        "number": rng.random(),
        "large": int(rng.integers(2**63, dtype=np.uint64)) + 2**63,
        "is_odd": bool(seed % 2),
        "mode": Mode(seed % 2),
        "trait": Trait(seed % 4),
        "when": datetime(2026, 1, 1 + seed % 28, 12, 30),
        "day": date(2026, 1, 1 + seed % 28),
        "nothing": float("nan") if seed % 3 else float("-inf"),
        "half": np.float32(0.1),
    }


def columns(seed: int, lines: int = 3, **parameters: Any) -> dict[str, Any]:
    """A column of each kind."""
    rng = np.random.default_rng(seed)
    return {
        "tick": np.arange(lines, dtype=np.int32),
        "share": rng.random(lines),
        "small": rng.integers(200, size=lines, dtype=np.uint8),
        "name": [f"n{number}" for number in range(lines)],
    }


def logged(seed: int, folder: str, **parameters: Any) -> dict[str, Any]:
    """Leave a file for each run that ended, named by its seed, with a letter for each time."""
    with (Path(folder) / str(seed)).open("a") as file:
        file.write("x")
    return {"pid": os.getpid()}


def slow(seed: int, folder: str, seconds: float = 0.05, **parameters: Any) -> dict[str, Any]:
    time.sleep(seconds)
    return logged(seed, folder)


def dies(seed: int, folder: str, number: int, every: int = 5) -> dict[str, Any]:
    """Some runs end their process, the first time."""
    here = Path(folder) / f"died-{number}"
    if number % every == 2 and not here.exists():
        here.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return logged(seed, folder)


def ends(seed: int, how: str) -> dict[str, Any]:
    """End the process, or want to."""
    if how == "die":
        os._exit(3)
    sys.exit("had enough")


def raises(seed: int, number: int) -> dict[str, int]:
    if number % 3 == 1:
        raise ArithmeticError(f"{number} is too much")
    return {"twice": 2 * number}


def memory(seed: int, number: int) -> dict[str, int]:
    """KiB that this process has had at most."""
    return {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "pid": os.getpid()}


def heavy(seed: int, weight: str, lines: int) -> dict[str, Any]:
    return {"heavy": np.full(lines, len(weight)), "share": np.linspace(0, 1, lines)}
