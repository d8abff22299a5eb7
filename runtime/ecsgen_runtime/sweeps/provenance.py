"""What the runs of a model come from: its code, the packages that it uses, and versions.

Code is told by its bytecode, which is there for functions that were typed in, too, and is what
runs, whatever has become of the text meanwhile.
"""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Hashable, Mapping
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
_PARTS: Final = (
    (CodeType, "co_code co_names co_varnames co_consts"),
    (partial, "func args keywords"),
    (MethodType, "__func__ __self__"),
    (property, "fget fset"),
)
"""What tells apart those of a type."""


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
    changes = {"code": "{} is another one", "versions": "{} {} then, {} now"}
    return [
        text.format(name, then[kind].get(name, "none"), now[kind].get(name, "none"))
        for kind, text in changes.items()
        for name in sorted(then[kind] | now[kind])
        if then[kind].get(name) != now[kind].get(name)
    ]


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
            case ModuleType():
                self._is_own(value.__name__)
                return value.__name__
            case FunctionType():
                return self._followed(value, self._function)
            case type():
                return self._followed(value, self._class)
        for kind, names in _PARTS:
            if isinstance(value, kind):
                return [self._told(getattr(value, name)) for name in names.split()]
        if hasattr(value, "__wrapped__"):  # of a decorator in C, or of numba's
            return self._told(value.__wrapped__)
        kind, module = type(value), _module_of(type(value))
        if self._is_own(module) and hasattr(value, "__dict__") and self._is_new(value):
            return self._told((kind, vars(value)))
        is_known = id(value) in self._seen or _package_of(module)
        return kind.__qualname__ if is_known else _ADDRESS.sub("", repr(value))

    def _followed(self, value: Any, tell: Callable[[Any], object]) -> str:
        """Return what a function or a class is called; note what it does."""
        module, name = _module_of(value), str(value.__qualname__)
        if not self._is_own(module):
            return f"{module}.{name}"
        if self._is_new(value):
            self._note(name, tell(value))
        return name

    def _class(self, value: type) -> object:
        members = vars(value).items()
        own = [
            (name, member)
            for name, member in members
            if isinstance(member, FunctionType) or not name.startswith("__")
        ]
        return self._told((value.__bases__, own))

    def _function(self, value: FunctionType) -> object:
        """Return what a function is; note what it means by names, and finds in modules."""
        around: list[object] = []
        for cell in value.__closure__ or ():
            with suppress(ValueError):  # nothing yet
                if isinstance(cell.cell_contents, Hashable):
                    around.append(cell.cell_contents)
        names, scopes = sorted(_names(value.__code__)), [value.__globals__]
        for name in names:
            self._is_own(name)  # imported inside
        for scope in scopes:  # one after the other, as they are found
            for name in filter(scope.__contains__, names):
                used = scope[name]
                if isinstance(used, ModuleType) and self._is_own(used.__name__):
                    if all(one is not vars(used) for one in scopes):
                        scopes.append(vars(used))
                elif isinstance(used, (FunctionType, type, ModuleType)):
                    self._told(used)
                else:
                    self._note(name, self._told(used))
        defaults = value.__defaults__, value.__kwdefaults__
        return self._told((value.__code__, defaults, around))

    def _is_new(self, value: object) -> bool:
        is_new = id(value) not in self._seen
        self._seen[id(value)] = value  # or another one may get its number
        return is_new

    def _is_own(self, module: str) -> bool:
        """Return whether a module is no distribution's, unless it is that of the model; note the
        generated package that it is of."""
        top, package = module.partition(".")[0], _package_of(module)
        if package:
            if f"package {package}" not in self.digests:
                files = sorted(resources.files(package).iterdir(), key=lambda f: f.name)
                texts = {
                    f.name: f.read_bytes() for f in files if f.name.endswith(".py")
                }
                self._note(f"package {package}", texts)
            return False
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        is_foreign = top in sys.stdlib_module_names or "-packages" in file
        is_foreign |= f"{module}.".startswith(f"{_LIBRARY}.")
        return not is_foreign or top == self._root


def _module_of(value: object) -> str:
    return str(getattr(value, "__module__", None))


def _package_of(module: str) -> str:
    """Return the generated package that has a module, or nothing."""
    while module and not hasattr(sys.modules.get(module), "__ecsgen__"):
        module = module.rpartition(".")[0]
    return module


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in a function and in all inside it."""
    inner = (_names(one) for one in code.co_consts if isinstance(one, CodeType))
    return set(code.co_names).union(*inner)
