"""The file of a sweep: a line of JSON for each run that ended, so that none need be repeated.

A line is written at once and as a whole. What a kill left of one is no line; after a full disk or
an interrupt it is taken away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from .results import COLUMN_TYPES, TYPE_NAMES, Column, Result
from .runs import Outcome, Run, RunKey, json_text, seed_of

_BEGINS: Final = b'{"parameters": '
_INFINITE: Final = re.compile(r'("(?:[^"\\]|\\.)*")|Infinity')
"""What stands for no finite number in a text of JSON, and not within quotes."""


class Journal:
    """Where the lines of runs that end go."""

    def __init__(self, path: Path) -> None:
        """Begin after what is in the file, which is made if it is not there."""
        self.path = path
        self._file: IO[bytes] = path.open("ab", buffering=0)
        self._end = self._file.tell()

    def close(self) -> None:
        self._file.close()

    def cut(self, end: int) -> None:
        """Take away what stands behind the last whole line, if there is something."""
        if end != self._end:
            self._file.truncate(end)
            self._end = end

    def write(self, run: Run, outcome: Outcome) -> None:
        """Write the line of a run. OSError if it does not fit, and then it is not there."""
        line = _line(run, outcome).encode() + b"\n"
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:
            with suppress(OSError):  # a device has no end
                self._file.truncate(self._end)
            if isinstance(error, OSError):
                problem = (
                    f"{error.strerror}; the runs before are in the file, call again"
                )
                raise OSError(error.errno, problem, str(self.path)) from error
            raise
        self._end += len(line)


def opened_journal(
    path: Path,
    wanted: Collection[RunKey],
    taken: Collection[str],
    seed: int,
    common: bool,
) -> tuple[Journal, dict[RunKey, Result]]:
    """Open the file of a sweep, and return what it has of runs; O(its size).

    A run that raised is not there, nor one whose results have names that are taken by now.

    Raises:
        ValueError: it is of another seed, or no such file; nothing has changed then.
    """
    found: dict[RunKey, Result] = {}
    end = 0
    if path.is_file():
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n") and _BEGINS.startswith(
                    line[: len(_BEGINS)]
                ):
                    break
                key, result = _entry(line, f"{path}, line {number}", seed, common)
                end += len(line)
                if key in wanted and result and not result.columns.keys() & taken:
                    found[key] = result
    journal = Journal(path)
    journal.cut(end)
    return journal, found


def _entry(
    line: bytes, where: str, seed: int, common: bool
) -> tuple[RunKey, Result | None]:
    """Return which run a line is of, and what it gave, unless it raised; ValueError for others'."""
    try:
        entry = json.loads(line)
        key = json_text(entry["parameters"]), int(entry["replicate"])
        is_ours = seed_of(seed, *key, common) == entry["seed"]
        result = None if "error" in entry else _result(entry)
    except Exception as error:
        raise ValueError(f"{where} is no line of a sweep: {error!r}") from None
    if not is_ours:
        raise ValueError(
            f"{where} is of a sweep with another seed or common_seeds than {seed} and {common}: "
            "give those, or another path"
        )
    return key, result


def _line(run: Run, outcome: Outcome) -> str:
    """Return the line of a run, which any reader of JSON understands: it has no NaN, which becomes
    null, and no infinity, which is a number that is too large."""
    parts = {
        "parameters": _INFINITE.sub(lambda found: found[1] or "1e999", run.text),
        "replicate": str(run.replicate),
        "seed": str(run.seed),
    }
    if isinstance(outcome, str):
        parts["error"] = json.dumps(outcome)
    else:
        types = {
            name: TYPE_NAMES[one.dtype.kind] for name, one in outcome.columns.items()
        }
        cells = {name: _column_text(one) for name, one in outcome.columns.items()}
        if outcome.is_scalars:
            cells = {name: text[1:-1] for name, text in cells.items()}
        parts["types"] = json.dumps(types)
        parts["result"] = _mapping_text(cells)
    return _mapping_text(parts)


def _mapping_text(parts: Mapping[str, str]) -> str:
    return (
        "{"
        + ", ".join(f"{json.dumps(name)}: {text}" for name, text in parts.items())
        + "}"
    )


def _column_text(column: Column) -> str:
    """Return a column as a list."""
    text = json.dumps(column.tolist())
    if column.dtype.kind != "f" or np.isfinite(column).all():
        return text
    return text.replace("NaN", "null").replace("Infinity", "1e999")


def _result(entry: Mapping[str, Any]) -> Result:
    """Return what a line says of a run that ended."""
    cells, types = entry["result"], entry["types"]
    is_scalars = not any(isinstance(one, list) for one in cells.values())
    columns = {
        name: np.array([one] if is_scalars else one, COLUMN_TYPES[types[name]])
        for name, one in cells.items()
    }
    lines = 1 if is_scalars else max(map(len, columns.values()))
    return Result(lines, is_scalars, columns)
