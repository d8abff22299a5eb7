"""Finished files from outputs: each is rendered, then formatted with black if that is needed.

With enough to do, several processes share the work; each has to import jinja2 and to compile the
templates, so small builds stay in this one.
"""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from ecsgen.render.output_file import Output
from ecsgen.render.text.black_style import Style

Batch: TypeAlias = list[tuple[str, bytes]]
"""Paths and bytes of some files."""
Progress = Callable[[int, int], None]
"""Called with how many outputs are done, and of how many."""

# A process takes about as long to start as this many files take to make.
_WORTH_A_PROCESS = 40
_BATCH = 8


def render_files(
    outputs: Sequence[Output], style: Style, jobs: int, progress: Progress
) -> dict[str, bytes]:
    """Return the finished bytes of each output by path, in no particular order."""
    jobs = min(jobs, len(outputs) // _WORTH_A_PROCESS)
    batches: Iterator[Batch] = (_make([output], style) for output in outputs)
    if jobs > 1:
        batches = _in_processes(outputs, style, jobs)
    contents: dict[str, bytes] = {}
    for batch in batches:
        contents.update(batch)
        progress(len(contents), len(outputs))
    return contents


def with_header(path: str, content: bytes, header: str) -> bytes:
    """Return a file with comment lines at its top; unchanged without a header."""
    if not header or not path.endswith(".py"):
        return content
    lines = (f"# {line}".rstrip() for line in header.rstrip("\n").split("\n"))
    return "".join(f"{line}\n" for line in lines).encode("utf-8") + content


def _make(outputs: Sequence[Output], style: Style) -> Batch:
    # black's trees are full of cycles: collecting after each batch saves a third of the time.
    gc.disable()
    try:
        return [(output.path, _finished(output, style)) for output in outputs]
    finally:
        gc.enable()


def _finished(output: Output, style: Style) -> bytes:
    text = output.render().encode("utf-8")
    if not output.path.endswith(".py") or style.is_formatted(text):
        return text
    try:
        return style.apply(text)
    except ValueError as error:  # black.InvalidInput: a template made something that is not Python
        raise RuntimeError(f"{output.path}: {error}") from error


def _in_processes(outputs: Sequence[Output], style: Style, jobs: int) -> Iterator[Batch]:
    import multiprocessing  # these take 60 ms, and small builds do without
    from concurrent.futures import ProcessPoolExecutor, as_completed

    from ecsgen_runtime.sweeps.processes import deaf_to_interrupts

    # Spawned on every system: a fork would copy whatever threads the caller has running.
    context = multiprocessing.get_context("spawn")
    work = partial(_make, style=style)
    size = max(1, min(_BATCH, len(outputs) // (4 * jobs)))
    batches = [outputs[i : i + size] for i in range(0, len(outputs), size)]
    # Ctrl-C is for this process, which then stops the others.
    deaf = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(jobs, context, signal.signal, deaf) as pool:
        try:
            with deaf_to_interrupts():
                futures = [pool.submit(work, batch) for batch in batches]
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
