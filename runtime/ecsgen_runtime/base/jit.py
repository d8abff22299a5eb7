"""Decorators that compile functions, whose cached machine code is never that of other functions.

numba keeps what it compiled beside a function's file and takes it again as long as that file stays
as it is. But compiled loops contain the functions that they call, and the constants of these: those
come from here and a few more modules, and can change while the file of the loop does not.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import update_wrapper
from hashlib import sha256
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, Final, TypeVar

import numpy as np
from numba import config, get_num_threads, njit
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., Any])


def jit(**options: Any) -> Callable[[_Function], _Function]:
    """Return a decorator like `numba.njit`: as numpy divides, with no fusing of operations, and
    cached on disk under a key that changes with the options and the functions of this package.
    """
    if ON_ONE_CORE:  # prange is range then
        options.pop("parallel", None)
    compiled = njit(cache=True, error_model="numpy", **options)

    def decorated(function: Any) -> Any:
        result = compiled(marked := _marked(function, f"{MADE_WITH} {options}"))
        return _in_python(function) if result is marked else result

    return decorated


def jit_for_cores(function: _Function) -> tuple[_Function, _Function]:
    """Return a function compiled for one core, and for all, which `prange` needs several lanes for;
    so `[lanes > 1]` chooses."""
    return jit()(function), jit(parallel=True)(function)


def lane_count() -> int:
    """Return the number of lanes into which loops on all cores cut their rows."""
    return 1 if ON_ONE_CORE else int(get_num_threads())


def intrinsic_of(built: Any) -> Callable[[Any], Any]:
    """Return a decorator of a function that compiled callers replace by the intrinsic `built`."""
    compiled, in_python = intrinsic(built), config.DISABLE_JIT  # type: ignore[attr-defined]
    return lambda function: function if in_python else compiled


def _in_python(function: Any) -> Any:
    """Return the stand-in for a compiled function with NUMBA_DISABLE_JIT: numbers have the types
    that numba gives them, and wrap without a warning; float constants divide as numpy's do.
    """
    constants = function.__code__.co_consts
    floats = (np.float64(c) if type(c) is float else c for c in constants)
    function.__code__ = function.__code__.replace(co_consts=tuple(floats))

    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):
            return function(*map(_typed, arguments))

    return update_wrapper(run, function)


def _typed(value: Any) -> Any:
    kind = type(value)
    if kind in _TYPES:
        return _TYPES[kind](value)
    is_named = isinstance(value, tuple) and hasattr(value, "_fields")
    return kind(*map(_typed, value)) if is_named else value


_TYPES: Final[dict[type, Any]] = {int: np.int64, float: np.float64}


def _marked(function: FunctionType, mark: str) -> FunctionType:
    """Return a function with one more free variable, never read: numba's key has the values of free
    variables, but no options."""
    code = function.__code__
    marked = FunctionType(
        code.replace(co_freevars=(*code.co_freevars, "_made_with")),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        (*(function.__closure__ or ()), CellType(mark)),
    )
    marked.__kwdefaults__ = function.__kwdefaults__
    update_wrapper(marked, function)
    return marked


def _is_one_core_asked() -> bool:
    """Return True if the environment asks for one core; ValueError for what it cannot ask."""
    threads = os.environ.get("ECSGEN_THREADS", "")
    if threads not in ("", "1"):
        raise ValueError(
            f"ECSGEN_THREADS: wanted 1, which runs all kernels on one core, not {threads!r};"
            " NUMBA_NUM_THREADS says how many cores numba uses"
        )
    return threads == "1"


ON_ONE_CORE: Final = _is_one_core_asked()
"""True if no kernel may use several cores."""

CONSTANTS_OF: Final = (
    "kernels/grids/cell_geometry.py",
    "base/handles.py",
    "kernels/random_streams.py",
    "kernels/reductions.py",
    "kernels/arithmetic.py",
    "kernels/loops.py",
    "shards/handle_map.py",
    "kernels/spaces/cell_lists.py",
)
"""Other modules with constants and functions that compiled functions use."""


def _digest() -> str:
    here = Path(__file__)
    library = here.parents[1]
    seen = (library / name for name in CONSTANTS_OF)
    digest = sha256()
    for path in (here, *sorted(library.rglob("compiled_*.py")), *seen):
        if path.exists():  # a vendored copy leaves out unused modules
            digest.update(path.read_bytes())
    return digest.hexdigest()


MADE_WITH: Final = _digest()
"""Digest of the modules whose functions and constants are in compiled loops."""
