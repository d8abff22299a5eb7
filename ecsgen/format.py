"""Outputs to finished files: each is rendered, then formatted with black.

With enough to do, several processes share the work; each has to import jinja2 and to compile the
templates, so small builds stay in this one.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from ecsgen import stable_pieces
from ecsgen.pieces import Format, PieceFormatter
from ecsgen.render.output import Output

Progress = Callable[[int, int], None]
"""Called with how many outputs are done, and of how many."""

# A process takes about as long to start as this many files take to make.
_WORTH_A_PROCESS = 40
_BATCH = 8


class Job(NamedTuple):
    """An output, and its file of the last build if that is still as black left it."""

    output: Output
    earlier: Path | None = None


def make_all(
    outputs: Sequence[Output],
    line_length: int,
    jobs: int,
    progress: Progress,
    earlier: Mapping[str, Path] | None = None,
) -> dict[str, bytes]:
    """The finished bytes of each output by path, in no particular order.

    `earlier` are files, by output path, that black has been through with this line length.
    """
    todo = [Job(output, (earlier or {}).get(output.path)) for output in outputs]
    jobs = min(jobs, len(outputs) // _WORTH_A_PROCESS)
    batches = _here(todo, line_length)
    if jobs > 1:
        batches = _in_processes(todo, line_length, jobs)
    made: dict[str, bytes] = {}
    for batch in batches:
        made.update(batch)
        progress(len(made), len(outputs))
    return made


def format_text(text: str, line_length: int, earlier: Path | None = None) -> str:
    """Python source as black writes it; `earlier` is a file of much the same that black wrote."""
    read = partial(earlier.read_text, encoding="utf-8") if earlier else None
    return _formatter(line_length)(text, read)


@cache
def _formatter(line_length: int) -> PieceFormatter:
    known = stable_pieces.known(line_length)
    return PieceFormatter(black_of(line_length), line_length, known)


def black_of(line_length: int) -> Format:
    """black itself, as a function. It is imported when it is first called, not before."""

    def format(source: str) -> str:
        # Only when something must be formatted: the import takes longer than a whole check.
        from black import format_str
        from black.mode import Mode, TargetVersion

        mode = Mode(line_length=line_length, target_versions={TargetVersion.PY311})
        return format_str(source, mode=mode)

    return format


def _make(todo: Sequence[Job], line_length: int) -> list[tuple[str, bytes]]:
    # black's trees are full of cycles: collecting after each batch saves a third of the time.
    gc.disable()
    try:
        return [(job.output.path, _finished(job, line_length).encode("utf-8")) for job in todo]
    finally:
        gc.enable()


def _finished(job: Job, line_length: int) -> str:
    output = job.output
    text = output.make()
    if not output.path.endswith((".py", ".pyi")):
        return text
    try:
        return format_text(text, line_length, job.earlier)
    except ValueError as error:  # black.InvalidInput: a template made something that is not Python
        raise RuntimeError(f"{output.path}: {error}") from error


def _here(todo: Sequence[Job], line_length: int) -> Iterator[list[tuple[str, bytes]]]:
    for job in todo:
        yield _make([job], line_length)


def _in_processes(
    todo: Sequence[Job], line_length: int, jobs: int
) -> Iterator[list[tuple[str, bytes]]]:
    import multiprocessing  # these take 60 ms, and small builds do without
    from concurrent.futures import ProcessPoolExecutor, as_completed

    # Spawned on every system: a fork would copy whatever threads the caller has running.
    context = multiprocessing.get_context("spawn")
    work = partial(_make, line_length=line_length)
    size = max(1, min(_BATCH, len(todo) // (4 * jobs)))
    batches = [todo[i : i + size] for i in range(0, len(todo), size)]
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_ignore_interrupts) as pool:
        try:
            for future in as_completed([pool.submit(work, batch) for batch in batches]):
                yield future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _ignore_interrupts() -> None:
    """Ctrl-C is for the parent, which then stops its processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
