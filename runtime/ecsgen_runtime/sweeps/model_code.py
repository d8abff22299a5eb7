"""Code of a model: digests of its functions, of what they use, and of generated packages.

Code is identified by its bytecode, which functions that were typed in have, too, and which is
what runs, whatever has become of the text meanwhile.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable
from contextlib import suppress
from dis import get_instructions
from functools import partial
from hashlib import sha256
from importlib import import_module, resources
from io import BytesIO
from pickle import Pickler
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from ..base.provenance import Provenance, package_digest, versions

_ADDRESS: Final = re.compile(r" at 0x[0-9A-Fa-f]+")
_LIBRARY: Final = __name__.rpartition(".sweeps.")[0]


class _ModelPickler(Pickler):
    """A pickler that writes stand-ins for values of which pickles have too little."""

    def __init__(self, file: BytesIO, stand_in: Callable[[Any], object]) -> None:
        super().__init__(file)
        self.fast = True  # does not depend on which equal values are one object
        self._stand_in = stand_in

    def persistent_id(self, value: Any) -> object:
        """Return the stand-in for a value, None where it needs none."""
        return self._stand_in(value)


def provenance_of(model: Callable[..., Any]) -> Provenance:
    """Return what identifies a model, alike in each process; O(its code)."""
    return {"code": _ModelCode(model).digests, "versions": versions()}


class _ModelCode:
    """The digests of a model and all that it uses: functions, classes, values of modules, packages.

    Followed is what no distribution has installed. Of what surrounds a nested function only what
    cannot change counts, for a list there may be what it notes down.
    """

    def __init__(self, model: Callable[..., Any]) -> None:
        self.digests: dict[str, str] = {}
        self._seen: dict[int, object] = {}
        inner = model
        while isinstance(inner, partial):
            inner = inner.func
        self._root = str(inner.__module__).partition(".")[0]
        self._note("the model", model)

    def _note(self, name: str, value: object) -> None:
        """Add the digest of a named value to those of others with this name, as of lambdas."""
        text = self._bytes(value)  # which may add other values of this name
        before = self.digests.get(name, "").encode()
        self.digests[name] = sha256(before + text).hexdigest()[:16]

    def _bytes(self, value: object) -> bytes:
        """Return bytes that are equal for equal values."""
        file = BytesIO()
        try:
            _ModelPickler(file, self._stand_in).dump(value)
        except Exception:  # it is no value, but a lock, or leads back to itself
            return _ADDRESS.sub("", repr(value)).encode("utf-8", "surrogatepass")
        return file.getvalue()

    def _stand_in(self, value: Any) -> object:
        """Return a stand-in for a value of which pickles have too little, None for others; add
        digests of functions and classes."""
        match value:
            case set() | frozenset():
                return sorted(map(self._bytes, value))
            case CodeType():
                names = value.co_names, value.co_varnames
                return value.co_code, names, value.co_consts
            case property():
                return value.fget, value.fset
            case ModuleType():
                self._is_own(value.__name__)
                return value.__name__
            case FunctionType() | type():
                module, name = str(value.__module__), str(value.__qualname__)
                if not self._is_own(module):
                    return f"{module}.{name}"
                if id(value) not in self._seen:
                    self._seen[id(value)] = value  # or another one may get its number
                    self._note(name, self._content(value))
                return name
        if hasattr(value, "__wrapped__"):  # of a decorator in C, or of numba's
            return [value.__wrapped__]
        kind = type(value)
        return kind.__qualname__ if _package_of(kind.__module__) else None

    def _content(self, value: FunctionType | type) -> object:
        """Return the content of a class or function; add digests of what it refers to by name and
        finds in modules."""
        if isinstance(value, type):
            return value.__bases__, [
                (name, self._bytes(member))
                for name, member in vars(value).items()
                if isinstance(member, FunctionType) or not name.startswith("__")
            ]
        around: list[object] = []
        for cell in value.__closure__ or ():
            with suppress(ValueError):  # nothing yet
                if isinstance(cell.cell_contents, Hashable):
                    around.append(cell.cell_contents)
        names, scopes = sorted(_names(value.__code__)), [value.__globals__]
        for step in get_instructions(value.__code__):
            if step.opname == "IMPORT_NAME":
                with suppress(Exception):  # runs will say why not
                    inner = import_module(step.argval)
                    scopes += [vars(inner)] * self._is_own(inner.__name__)
        for scope in scopes:  # one after the other, as they are found
            for name in filter(scope.__contains__, names):
                used = scope[name]
                if not (isinstance(used, ModuleType) and self._is_own(used.__name__)):
                    self._note(name, used)
                elif all(known is not vars(used) for known in scopes):
                    scopes.append(vars(used))
        return value.__code__, value.__defaults__, value.__kwdefaults__, around

    def _is_own(self, module: str) -> bool:
        """Return True if a module is the user's: of the model, or of no distribution; add the
        generated package that it is of."""
        top, package = module.partition(".")[0], _package_of(module)
        if package:
            if f"package {package}" not in self.digests:
                self.digests[f"package {package}"] = package_digest(resources.files(package))
            return False
        file = getattr(sys.modules.get(module), "__file__", None) or ""
        is_foreign = top in sys.stdlib_module_names or "-packages" in file
        is_foreign |= f"{module}.".startswith(f"{_LIBRARY}.")
        return not is_foreign or top == self._root


def _package_of(module: str) -> str:
    """Return the generated package that has a module, or nothing."""
    while module and not hasattr(sys.modules.get(module), "__ecsgen__"):
        module = module.rpartition(".")[0]
    return module


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes in a function and in all inside it."""
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)
