"""Compiling all that a package has for numba, so that later processes find it in the cache.

Each kernel is called on a world without rows, and on one with a row of each component: numba
compiles what is called, for the types that it is called with.
"""

from __future__ import annotations

import importlib
import multiprocessing
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ecsgen_runtime.world.world_base import WorldBase

from ecsgen.checked.methods import GeneratedMethod, methods_of, schemas_in
from ecsgen.checked.schema_texts import SchemaTexts


class Warmed(NamedTuple):
    """The needs of one kernel, fused pass, reduction or table."""

    name: str
    compiled: int
    """Number of functions that were compiled."""
    loaded: int
    """Number of functions that were in the cache."""
    error: str
    """Why it could not be called; "" if it could."""


class _Warming:
    """A package, and two worlds of it on which its methods are called."""

    def __init__(self, folder: Path) -> None:
        self.package = importlib.import_module(folder.name)
        self._texts = schemas_in(folder)
        kind = getattr(self.package, self._texts.project.world.name)
        self._worlds: list[WorldBase] = [kind(), kind()]
        _spawn_one_of_each(self._worlds[1], self._texts)
        self._methods = [[*methods_of(world, self._texts)] for world in self._worlds]
        self.names = [method.name for method in self._methods[0]]

    def warm(self, number: int) -> Warmed:
        """Call a method on both worlds."""
        compiled, loaded = self._counts()
        errors = [_call(methods[number]) for methods in self._methods]
        compiled_then, loaded_then = self._counts()
        error = errors[0] if all(errors) else ""  # one row of defaults may be one that it refuses
        return Warmed(self.names[number], compiled_then - compiled, loaded_then - loaded, error)

    def _counts(self) -> tuple[int, int]:
        """Return how many functions were compiled in this process, and how many were loaded."""
        stats = [function.stats for function in _compiled_functions(self.package.__name__)]
        misses = sum(sum(each.cache_misses.values()) for each in stats)
        return misses, sum(sum(each.cache_hits.values()) for each in stats)


def _spawn_one_of_each(world: WorldBase, texts: SchemaTexts) -> None:
    """Spawn, destroy and collect as well: creating rows in bulk is compiled, too."""
    spawn: Callable[..., Any] = world.spawn  # which takes the components of its package
    for component in texts.project.components:
        with suppress(Exception):  # cells of a grid are there; some rows need a place or an owner
            world.destroy_many(spawn(2, **{component.module: {}})[:1])
    with suppress(Exception):
        world.collect()


def _call(method: GeneratedMethod) -> str:
    """Call a method with 1 for each number and zeros else; return why it failed, or ""."""
    arguments: dict[str, Any] = {}
    for kernel in method.kernels:
        for name, field in kernel.args.items():
            shape = ((len(method.owner),) if field.is_each else ()) + field.shape
            is_number = re.fullmatch("[uif][0-9]+", field.type)  # 1, for a radius is above 0
            cell = 1 if is_number else 0 if field.shape else field.initial.one
            cell = field.initial.data if field.initial.kind in "mM" else cell
            arguments[name] = np.full(shape, cell) if shape else cell
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            getattr(method.owner, method.attribute)(**arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _compiled_functions(package: str) -> list[Any]:
    """Return the functions of a package and of the library that numba has compiled, or would."""
    from numba.core.dispatcher import Dispatcher

    by_id: dict[int, Any] = {}
    for name, module in [*sys.modules.items()]:
        if module is not None and name.partition(".")[0] in (package, "ecsgen_runtime"):
            for value in vars(module).values():
                functions = value if isinstance(value, tuple) else (value,)
                by_id |= {id(each): each for each in functions if isinstance(each, Dispatcher)}
    return [*by_id.values()]


@cache
def _warming(folder: Path) -> _Warming:
    sys.path.insert(0, str(folder.parent))
    return _Warming(folder)


def _warm(folder: Path, number: int) -> Warmed:
    return _warming(folder).warm(number)


def method_names(folder: Path) -> Sequence[str]:
    """Import a package, and return the names of all that it compiles. Raises ImportError if it
    cannot be imported, and what `ecsgen.checked` raises for schemas from which it was not built."""
    return _warming(folder).names


def warm(folder: Path, jobs: int) -> Iterator[tuple[int, Warmed]]:
    """Compile a package's methods in processes; yield the number of each and what it needed.

    Then each is called in this process: two processes that compile the same function of the library
    at once leave one of them out of its index.
    """
    numbers = range(len(method_names(folder)))
    context = multiprocessing.get_context("spawn")
    deaf = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(jobs, context, signal.signal, deaf) as pool:
        tasks = {pool.submit(_warm, folder, number): number for number in numbers}
        try:
            for task in as_completed(tasks):
                yield tasks[task], task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for number in numbers:
        _warm(folder, number)
