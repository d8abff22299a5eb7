"""Runs in processes of this machine, or by an executor.

Both yield outcomes as runs end. Processes are spawned, for a fork copies its parent's threads
half-way through their work.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import traceback
from collections import deque
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, Final, Protocol, TypeAlias

from .runs import Call, Model, Outcome, Run, RunKey, error_text, run_model

_AHEAD: Final = 4
"""Runs that an executor has for each worker, the running one included."""
_STARTS: Final = 3
"""Number of processes killed before they begin after which the sweep ends."""


Outcomes: TypeAlias = Generator[tuple[Run, Outcome], None, None]


class RunExecutor(Protocol):
    """An executor of `concurrent.futures`, or whatever else has its `submit`."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any: ...


def in_executor(
    executor: RunExecutor, model: Model, runs: Sequence[Run], taken: Collection[str], workers: int
) -> Outcomes:
    """Yield what each run gave, as they end; what an executor raises is the error of a run."""
    ended: SimpleQueue[tuple[Run, Any]] = SimpleQueue()
    todo = deque(runs)
    out: dict[RunKey, Any] = {}
    try:
        while todo or out:
            while todo and len(out) < _AHEAD * workers:
                run = todo.popleft()
                try:
                    future = executor.submit(run_model, model, run.call, taken)
                except Exception as error:
                    yield run, error_text(error, run.call)
                    continue
                out[run.key] = future
                future.add_done_callback(lambda future, run=run: ended.put((run, future)))
            if out:
                run, future = ended.get()
                del out[run.key]
                yield run, _outcome(run, future)
    finally:
        for future in out.values():
            future.cancel()


def _outcome(run: Run, future: Any) -> Outcome:
    try:
        outcome: Outcome = future.result()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # asyncio's of what was cancelled is no Exception
        return error_text(error, run.call)
    return outcome


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Block Ctrl-C for processes that are started inside, which would end with a traceback while
    they import; this process gets it afterwards. Not on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


class _Worker:
    """A process, and the run that it is doing."""

    def __init__(self, pickled: bytes, taken: Collection[str]) -> None:
        spawned = multiprocessing.get_context("spawn")
        self.pipe, child_pipe = spawned.Pipe()
        self.run: Run | None = None
        self.is_ready = False
        self.process = spawned.Process(target=_work, args=(child_pipe, pickled, taken))
        try:
            with deaf_to_interrupts():
                self.process.start()
        finally:
            child_pipe.close()

    def begin(self, run: Run) -> None:
        """Hand out a run to the process, which has none."""
        self.run = run
        with suppress(OSError):  # the process has ended, which is noticed soon
            self.pipe.send(tuple(run.call))

    def end(self, at_once: bool) -> None:
        """Close the pipe, so that the process ends after its run; with `at_once` terminate it."""
        if at_once:
            self.process.terminate()
        self.pipe.close()

    def close(self) -> None:
        """Wait until the process has ended; kill it after 5 s."""
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


class _Pool:
    """Processes that do runs; dead ones are replaced."""

    def __init__(
        self, model: Model, runs: Sequence[Run], taken: Collection[str], count: int
    ) -> None:
        self._pickled, self._taken, self._count = _pickled(model), taken, count
        self._todo = deque(runs)
        self._workers: list[_Worker] = []
        self._killed = 0

    def outcomes(self) -> Outcomes:
        is_done = False
        try:
            while self._todo or any(worker.run for worker in self._workers):
                self._hand_out()
                ready = wait([worker.pipe for worker in self._workers], timeout=1)
                for worker in self._workers[:]:
                    if worker.pipe in ready or not worker.process.is_alive():
                        yield from self._receive(worker)
            is_done = True
        finally:
            for worker in self._workers:
                worker.end(at_once=not is_done)
            for worker in self._workers:
                worker.close()

    def _hand_out(self) -> None:
        """Give a run to each worker that has none."""
        wanted = min(self._count, len(self._todo) + sum(bool(w.run) for w in self._workers))
        while len(self._workers) < wanted:
            self._workers.append(_Worker(self._pickled, self._taken))
        for worker in self._workers:
            if self._todo and worker.run is None:
                worker.begin(self._todo.popleft())

    def _receive(self, worker: _Worker) -> Iterator[tuple[Run, Outcome]]:
        """Yield the outcome that a process sends; of a dead one, that its run is lost."""
        try:
            if not worker.pipe.poll():
                raise EOFError
            message = worker.pipe.recv()
        except (EOFError, OSError):
            yield from self._replace(worker)
            return
        if worker.is_ready:
            run, worker.run = worker.run, None
            assert run is not None
            yield run, message
        elif message:
            raise TypeError(f"the model could not be loaded in another process:\n{message}")
        else:
            worker.is_ready, self._killed = True, 0

    def _replace(self, worker: _Worker) -> Iterator[tuple[Run, Outcome]]:
        """Yield the error of a dead process's run, or queue the run again if it had not begun."""
        self._workers.remove(worker)
        worker.process.join(5)
        status = worker.process.exitcode
        worker.end(at_once=True)
        worker.close()
        if not worker.is_ready:
            self._killed += 1
            if not status or status > 0 or self._killed >= _STARTS:
                raise RuntimeError(
                    f"a process ended before its first run, with exit status {status}: what it "
                    'wrote says why. A script calls sweep below `if __name__ == "__main__":`'
                )
            self._todo.extendleft([worker.run] if worker.run else [])
        elif worker.run:
            error = RuntimeError(f"the process of this run died, with exit status {status}")
            yield worker.run, error_text(error, worker.run.call)


def in_processes(model: Model, runs: Sequence[Run], taken: Collection[str], count: int) -> Outcomes:
    """Return an iterator over the outcomes of runs, as they end. A process that dies loses the run
    that it was doing.

    Raises:
        TypeError: the model cannot be had in another process.
        RuntimeError: processes end before they begin.
    """
    return _Pool(model, runs, taken, count).outcomes()


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pickled(model: Model) -> bytes:
    """Return a model as other processes get it; TypeError for one that they cannot have."""
    hint = (
        "let it be a function at the top of a module, or give an executor of threads: "
        "concurrent.futures.ThreadPoolExecutor()"
    )
    try:
        pickled = pickle.dumps(model)
    except Exception as error:
        raise TypeError(f"other processes cannot have this model ({error}): {hint}") from error
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if getattr(main, "__spec__", None) is None:
        if file is None and b"__main__" in pickled:
            raise TypeError(f"other processes cannot have a model that was typed in: {hint}")
        if file is not None and not os.path.exists(file):
            raise RuntimeError(
                f"other processes cannot read the program {file!r}: let it be a file"
            )
    return pickled


def _work(pipe: Connection[Any, Any], pickled: bytes, taken: Collection[str]) -> None:
    """Do runs, in a process of its own, until there are no more."""
    # The parent process gets Ctrl-C, too, and ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(EOFError, OSError):
        try:
            model: Model = pickle.loads(pickled)
        except Exception:
            pipe.send(traceback.format_exc())
            return
        pipe.send("")
        while True:
            pipe.send(run_model(model, Call(*pipe.recv()), taken))
