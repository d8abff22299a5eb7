"""`sweep`, which runs a model many times, and `Sweep`, the table that comes out."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib import import_module
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..base.errors import short_repr
from ..base.fast_typing import NamedTuple
from ..base.text import format_count, format_list
from ..values.interchange import require_pyarrow
from .model_code import provenance_of
from .processes import RunExecutor, available_cores, in_executor, in_processes
from .results import Column, Result, concatenate_columns
from .runs import OF_RUNS, Journal, Model, Outcome, Parameters, Run, RunKey, Stale, all_runs

_WORKERS: Final = 32
"""Workers of an executor that does not say how many it has."""


class RunError(NamedTuple):
    """A run that raised, or was lost."""

    parameters: dict[str, Any]
    replicate: int
    seed: int
    traceback: str


class Sweep:
    """Results of all runs of a sweep, as one table, and the runs that failed.

    `columns`: by name the parameters, `replicate`, `seed`, then results, shape (n,), of i64, u64,
    f64, bool or text; a line for each that a run gave, in the order of parameters and replicates.
    `errors`: of the other runs, in that order too.
    """

    def __init__(self, columns: dict[str, Column], errors: list[RunError]) -> None:
        self.columns = columns
        self.errors = errors

    def __len__(self) -> int:
        return len(self.columns["seed"])

    def __repr__(self) -> str:
        lines = format_count(len(self), "line")
        errors = format_count(len(self.errors), "error")
        return f"<Sweep: {lines} of {format_list(self.columns)}; {errors}>"

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table; ImportError if there is no pyarrow. O(n)."""
        pa = require_pyarrow()
        texts = [name for name, column in self.columns.items() if column.dtype == np.object_]
        text_columns = {name: pa.array(self.columns[name], pa.string()) for name in texts}
        return pa.table({**self.columns, **text_columns})

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame; ImportError if there is no pandas. O(n)."""
        return import_module("pandas").DataFrame(self.columns)


def sweep(
    model: Model,
    parameters: Parameters,
    *,
    replicates: int = 1,
    seed: int = 0,
    common_seeds: bool = False,
    executor: RunExecutor | None = None,
    workers: int | None = None,
    path: str | PathLike[str] | None = None,
    progress: bool = True,
    stale: Stale = None,
) -> Sweep:
    """Call `model(seed=…, **one)` for all parameters, `replicates` times each; return one table.

    `model`: returns a mapping of numbers, bools or texts, which is a line of the table, or of
    columns of one length, or a table of `world.records`. `parameters`: a mapping of names to
    values, of which there are all combinations, the last name fastest; or an iterable of mappings.
    `seed`: 0 to 2^64 - 1; the seeds of runs come from it, from their own parameters, unless
    `common_seeds`, and from the replicate, so that no run depends on the others.
    `executor`: where runs are done, by default `workers` processes of this machine, as many as it
    has cores; of an executor, `workers` says how many runs it does at the same time.
    `path`: a file that gets a line of JSON for each run that ended; called again, runs that stand
    there are not repeated, those that raised are. `stale`: what becomes of runs there that come
    from another model, package, version or platform: "keep" takes them all the same, "again" begins
    a new file and keeps the old one beside it. `progress`: a bar if tqdm is installed; where the
    output is no terminal one line.

    A run that raises, returns what is no line, or whose process dies is in `errors`; the others go
    on. An interrupt ends the sweep and leaves the file whole.

    Raises:
        TypeError: parameters that JSON cannot hold, a model that other processes cannot have.
        ValueError: a number out of bounds, a parameter called `seed` or `replicate`, a file of
            another `seed` or `common_seeds`, or with runs of another model, without `stale`.
        BlockingIOError: another sweep writes the file; it names the process.
        OverflowError: a parameter that does not fit into 64 bits.
        OSError: the file cannot be written; the runs before are in it.
        RuntimeError: processes end before their first run.
    """
    if not callable(model):
        raise TypeError(f"a model is a function, not {short_repr(model)}")
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"an executor has submit, which {short_repr(executor)} has not")
    replicates = _checked_number(replicates, "replicates", 1)
    seed = _checked_number(seed, "seed", 0)
    if workers is not None:
        workers = _checked_number(workers, "workers", 1)
    if stale not in (None, "keep", "again"):
        raise ValueError(f'stale is "keep" or "again", not {short_repr(stale)}')
    runs = all_runs(parameters, replicates, seed, common_seeds)
    names = dict.fromkeys(parameters if isinstance(parameters, Mapping) else ())
    names |= dict.fromkeys(name for run in runs for name in run.cells)
    taken = frozenset((*names, *OF_RUNS))
    wanted = {run.key: run for run in runs}
    results: dict[RunKey, Result] = {}
    errors: dict[RunKey, str] = {}
    journal = None
    if path is not None:
        now = provenance_of(model)
        journal = Journal(Path(path), wanted, taken, seed, common_seeds, now, stale)
        results = journal.found
    todo = [run for key, run in wanted.items() if key not in results]
    with ExitStack() as stack:
        if journal is not None:
            stack.callback(journal.close)
        watched = stack.enter_context(_progress(progress, len(wanted), len(results)))
        if executor is None:
            ended = in_processes(model, todo, taken, workers or available_cores())
        else:
            ended = in_executor(executor, model, todo, taken, workers or _workers_of(executor))
        for run, outcome in stack.enter_context(closing(ended)):
            if journal is not None:
                journal.write(run, outcome)
            if isinstance(outcome, str):
                errors[run.key] = outcome
            else:
                results[run.key] = outcome
            watched(outcome)
    failed = [run for run in wanted.values() if run.key in errors]
    lost = [RunError(*run.call, errors[run.key]) for run in failed]
    return Sweep(_table(names, runs, results), lost)


def _table(
    names: Iterable[str], runs: Sequence[Run], results: Mapping[RunKey, Result]
) -> dict[str, Column]:
    ended = [results[run.key] for run in runs if run.key in results]
    # those that failed have no lines, but a say in the types of parameters
    counts = [results[run.key].lines if run.key in results else 0 for run in runs]
    ones = [1] * len(runs)
    of_runs = {p: concatenate_columns([run.cells.get(p) for run in runs], ones) for p in names}
    of_runs["replicate"] = np.array([run.call.replicate for run in runs], np.int64)
    of_runs["seed"] = np.array([run.call.seed for run in runs], np.uint64)
    columns = {name: np.repeat(column, counts) for name, column in of_runs.items()}
    lines = [result.lines for result in ended]
    for name in dict.fromkeys(name for result in ended for name in result.columns):
        columns[name] = concatenate_columns([result.columns.get(name) for result in ended], lines)
    return columns


def _checked_number(value: object, name: str, low: int) -> int:
    """Return an integer from `low` to 2^64 - 1; TypeError or ValueError for other values."""
    number = index(value)  # type: ignore[arg-type]  # that is what it checks
    if isinstance(value, bool) or not low <= number < 2**64:
        bounds = f"from {low} to {2**64 - 1}"
        raise ValueError(f"{name} is a number {bounds}, not {short_repr(value)}")
    return number


def _workers_of(executor: RunExecutor) -> int:
    """Return the number of runs that an executor does at the same time, or a guess."""
    for name in ("_max_workers", "num_workers"):  # of concurrent.futures, of mpi4py
        number = getattr(executor, name, None)
        if isinstance(number, int):
            return number
    return _WORKERS


@contextmanager
def _progress(is_shown: bool, total: int, known: int) -> Iterator[Callable[[Outcome], None]]:
    """Show a bar, or print the number of runs at the end; yields a function to call per run."""
    ended, errors, began = known, 0, time.monotonic()
    is_shown = is_shown and sys.stderr is not None  # as under pythonw
    bar: Any = None
    if is_shown and sys.stderr.isatty():
        with suppress(ImportError):
            bar = import_module("tqdm").tqdm(total=total, initial=known, unit=" runs")

    def watched(outcome: Outcome) -> None:
        nonlocal ended, errors
        ended, errors = ended + 1, errors + isinstance(outcome, str)
        if bar is not None:
            bar.update()

    try:
        yield watched
    finally:
        if bar is not None:
            bar.close()
        elif is_shown:
            before = f", {known} of them before" if known else ""
            failed, seconds = format_count(errors, "error"), time.monotonic() - began
            print(
                f"{ended} of {format_count(total, 'run')}{before}, {failed}, {seconds:.1f} s",
                file=sys.stderr,
            )
