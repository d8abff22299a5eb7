"""What the runs of a model come from: its code, the packages that it uses, and versions.

Code is told by its bytecode, which is there for functions that were typed in, too, and is what
runs, whatever has become of the text meanwhile.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from hashlib import sha256
from importlib import metadata, resources
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, TypeAlias

import numpy as np

from .. import __version__

Provenance: TypeAlias = dict[str, dict[str, str]]
"""Digests of `code` by name, and `versions`."""

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_LIBRARY: Final = __name__.rpartition(".sweeps.")[0]


def provenance_of(model: Callable[..., Any]) -> Provenance:
    """Return what tells a model from others, the same in each process; O(its code)."""
    versions = {"Python": platform.python_version(), "numpy": np.__version__}
    versions |= {"ecsgen-runtime": __version__}
    versions |= {"platform": f"{platform.system()} {platform.machine()}"}
    with suppress(metadata.PackageNotFoundError):
        versions["numba"] = metadata.version("numba")
    return {"code": _ModelCode(model).digests, "versions": versions}


def differences(then: Provenance | None, now: Provenance) -> list[str]:
    """Return in words what differs from what a file says."""
    if then is None:
        return ["it does not say of what model"]
    found = []
    for kind, texts in now.items():
        for name in sorted({*texts, *then[kind]}):
            before, after = then[kind].get(name), texts.get(name)
            if before != after:
                is_version = kind == "versions"
                change = f" {before or 'none'} then, {after or 'none'} now"
                found.append(name + (change if is_version else " is another one"))
    return found


class _ModelCode:
    """The digests of a model and all that it uses: functions, classes, values of modules, packages.

    Followed is what no distribution has installed. Of what surrounds a nested function only what
    cannot change counts, for a list there may be what it notes down.
    """

    def __init__(self, model: Callable[..., Any]) -> None:
        self.digests: dict[str, str] = {}
        self._seen: dict[int, object] = {}
        inner: Any = model
        while isinstance(inner, (partial, MethodType)):
            inner = inner.func if isinstance(inner, partial) else inner.__func__
        self._root = _module_of(inner).partition(".")[0]
        self._note("the model", self._told(model))

    def _note(self, name: str, told: object) -> None:
        """Note what has a name, beside what others of this name are, as of lambdas."""
        text = self.digests.get(name, "") + repr(told)
        digest = sha256(text.encode("utf-8", "surrogatepass"))
        self.digests[name] = digest.hexdigest()[:16]

    def _told(self, value: Any) -> object:
        """Return what `repr` writes alike for values that are alike."""
        match value:
            case Enum():
                return f"{type(value).__qualname__}.{value.name}"
            case tuple() | list():
                return [self._told(one) for one in value]
            case set() | frozenset():
                return sorted(repr(self._told(one)) for one in value)
            case Mapping():
                return [self._told(pair) for pair in value.items()]
            case np.ndarray() if not value.dtype.hasobject:
                return value.dtype.str, value.shape, value.tobytes()
            case CodeType():
                names = value.co_names, value.co_varnames
                return value.co_code, names, self._told(value.co_consts)
            case partial():
                return self._told((value.func, value.args, value.keywords))
            case MethodType():
                return self._told((value.__func__, value.__self__))
            case property():
                return self._told((value.fget, value.fset))
            case ModuleType():
                self._note_package(value.__name__)
                return value.__name__
            case FunctionType() | type():
                return self._followed(value)
        if hasattr(value, "__wrapped__"):  # of a decorator in C, or of numba's
            return self._told(value.__wrapped__)
        kind = type(value)
        if self._note_package(_module_of(kind)):
            return kind.__qualname__
        if self._is_own(_module_of(kind)) and hasattr(value, "__dict__"):
            if id(value) in self._seen:
                return kind.__qualname__
            self._seen[id(value)] = value
            return self._told((kind, vars(value)))
        return _ADDRESS.sub("", repr(value))

    def _followed(self, value: FunctionType | type) -> str:
        """Return what a function or a class is called; note what it does."""
        module, name = _module_of(value), value.__qualname__
        if self._note_package(module) or not self._is_own(module):
            return f"{module}.{name}"
        if id(value) not in self._seen:
            self._seen[id(value)] = value
            parts = self._class(value) if isinstance(value, type) else self._call(value)
            self._note(name, [*map(self._told, parts)])
        return name

    def _class(self, value: type) -> Iterator[object]:
        yield value.__bases__
        for name, member in vars(value).items():
            if isinstance(member, FunctionType) or not name.startswith("__"):
                yield name, member

    def _call(self, value: FunctionType) -> Iterator[object]:
        yield value.__code__, value.__defaults__, value.__kwdefaults__
        for cell in value.__closure__ or ():
            try:
                held = cell.cell_contents
            except ValueError:  # nothing yet
                continue
            if isinstance(held, Hashable):
                yield held
        for code in _codes(value.__code__):
            self._note_used(code, value.__globals__, set())

    def _note_used(
        self, code: CodeType, scope: Mapping[str, Any], modules: set[str]
    ) -> None:
        """Note what code means by names of a module, and of modules that it finds there."""
        for name in code.co_names:
            self._note_package(name)  # imported inside a function
            if name not in scope:
                continue
            used, module = scope[name], _module_of(scope[name])
            if not isinstance(used, (FunctionType, type, ModuleType)):
                self._note(name, self._told(used))
            elif not isinstance(used, ModuleType) or not self._is_own(module):
                self._told(used)
            elif module not in modules:
                self._note_used(code, vars(used), modules | {module})

    def _is_own(self, module: str) -> bool:
        """Return whether a module is no distribution's, unless it is that of the model."""
        top = module.partition(".")[0]
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        is_foreign = top in sys.stdlib_module_names or "-packages" in file
        is_foreign |= (
            f"{module}.".startswith(f"{_LIBRARY}.") or _package_of(module) != ""
        )
        return not is_foreign or top == self._root

    def _note_package(self, module: str) -> bool:
        """Note the generated package that a module is of; return whether it is of one."""
        package = _package_of(module)
        if package and f"package {package}" not in self.digests:
            files = resources.files(package).iterdir()
            texts = {file.name: file for file in files if file.name.endswith(".py")}
            told = [(name, texts[name].read_bytes()) for name in sorted(texts)]
            self._note(f"package {package}", told)
        return package != ""


def _module_of(value: object) -> str:
    if isinstance(value, ModuleType):
        return value.__name__
    return str(getattr(value, "__module__", None))


def _package_of(module: str) -> str:
    """Return the generated package that has a module, or nothing."""
    while module and not hasattr(sys.modules.get(module), "__ecsgen__"):
        module = module.rpartition(".")[0]
    return module


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function and of all that are inside it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)
