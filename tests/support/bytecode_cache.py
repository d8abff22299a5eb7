"""An import hook for packages that tests generate: most of each is the same in all of them, and to
compile it anew, with pytest's rewriting of asserts, takes several times as long as to run it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, update_wrapper
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from os.path import isdir, isfile, join, realpath
from pathlib import Path
from pkgutil import walk_packages
from tempfile import gettempdir
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import pytest

TEMPORARY = join(realpath(gettempdir()), "")
OURS = join(realpath(Path(__file__).parents[2]), "")


@contextmanager
def uncompiled() -> Iterator[None]:
    """Leave the loops of packages that are imported meanwhile to Python: numba takes 20 s for some.

    So is what they call of the library, for numbers that it returns compiled have lost their type.
    """
    compiled, plain = _library_modules()
    with _without_jit():
        try:
            sys.modules.update(plain)
            yield
        finally:
            sys.modules.update(compiled)


@cache
def _library_modules() -> tuple[dict[str, ModuleType], dict[str, ModuleType]]:
    """Return the library's modules for compiled kernels, and the same left to Python, by name."""
    pytest.importorskip("numba")
    library = import_module("ecsgen_runtime.kernels")
    names = [module.name for module in walk_packages(library.__path__, f"{library.__name__}.")]
    compiled = {name: import_module(name) for name in names if ".compiled_" in name}
    for name in compiled:
        del sys.modules[name]
    with _without_jit():
        plain = {name: import_module(name) for name in compiled}
    sys.modules.update(compiled)
    for name, module in compiled.items():
        parent, _, last = name.rpartition(".")
        vars(sys.modules[parent])[last] = module
    return compiled, plain


@contextmanager
def _without_jit() -> Iterator[None]:
    """Have functions that are to be compiled meanwhile stay Python's."""
    config, jit = import_module("numba").config, import_module("ecsgen_runtime.base.jit")
    before, config.DISABLE_JIT = config.DISABLE_JIT, True
    in_python, vars(jit)["_in_python"] = jit._in_python, lambda f: _quiet(in_python(f))
    try:
        yield
    finally:
        config.DISABLE_JIT, vars(jit)["_in_python"] = before, in_python


class _Within(threading.local):
    """State of a thread: is it in a loop that is left to Python?"""

    a_loop = False


_WITHIN = _Within()


def _quiet(function: Any) -> Callable[..., Any]:
    """Return a loop that warns of what is not a number as little as a compiled one.

    What a loop calls has numpy's settings from it: to make them again takes longer than most calls.
    """
    typed, inner = import_module("ecsgen_runtime.base.jit")._typed, function.__wrapped__

    def run(*arguments: Any) -> Any:
        if _WITHIN.a_loop:
            return inner(*map(typed, arguments))
        _WITHIN.a_loop = True
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return inner(*map(typed, arguments))
        finally:
            _WITHIN.a_loop = False

    return update_wrapper(run, function)


@cache
def keep_no_machine_code() -> None:
    """Have numba write nothing beside modules in temporary folders: no other process has them."""
    kind = import_module("numba.core.dispatcher").Dispatcher
    enable = kind.enable_caching

    def enable_elsewhere(dispatcher: Any) -> None:
        if not dispatcher.py_func.__code__.co_filename.startswith(TEMPORARY):
            enable(dispatcher)

    kind.enable_caching = enable_elsewhere


def install() -> None:
    """Put the hook before that of pytest."""
    sys.meta_path.insert(0, TemporaryModules())


class TemporaryModules:
    """Finds modules in temporary folders."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        for folder in sys.path if path is None else path:
            stem_path = join(folder, name.rpartition(".")[2])
            if not stem_path.startswith(TEMPORARY) or stem_path.startswith(OURS):
                continue
            if isdir(stem_path) and isfile(package := join(stem_path, "__init__.py")):
                return _spec(name, package, within=[stem_path])
            if isfile(module := f"{stem_path}.py"):
                return _spec(name, module)
        return None


def _spec(name: str, path: str, within: list[str] | None = None) -> ModuleSpec | None:
    loader = _Loader(name, path)
    return spec_from_file_location(name, path, loader=loader, submodule_search_locations=within)


class _Loader(SourceFileLoader):
    """Compiles each text once, wherever it stands, and leaves nothing on the disk."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        text = self.get_data(path)
        if text not in _COMPILED:
            _COMPILED[text] = self.source_to_code(text, path)
        return _moved(_COMPILED[text], path)

    def exec_module(self, module: ModuleType) -> None:
        """Make packages share functions that compiled kernels call and that know nothing of a
        package."""
        text = self.get_data(self.path)
        alone = b"from .." not in text.replace(b"from ..base.jit", b"")
        key = text, "numba" in sys.modules and bool(sys.modules["numba"].config.DISABLE_JIT)
        if ".compiled_" not in module.__name__ or not alone:
            super().exec_module(module)
        elif key in _SHARED:
            vars(module).update(vars(_SHARED[key]))
        else:
            super().exec_module(module)
            _SHARED[key] = module


_COMPILED: dict[bytes, CodeType] = {}
_SHARED: dict[tuple[bytes, bool], ModuleType] = {}
"""By text, and whether Python runs it."""


def _moved(code: CodeType, path: str) -> CodeType:
    """Return the code of a text that was compiled in another place."""
    if code.co_filename == path:
        return code
    parts = (_moved(part, path) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=path, co_consts=tuple(parts))
