"""Stand-ins for methods of generated packages: other code in the methods' own functions.

So bound methods that were taken before follow, and nothing is put into classes.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any, Final, NamedTuple, TypeAlias

Method: TypeAlias = Callable[..., Any]
Replacement: TypeAlias = Callable[[Method, tuple[Any, ...], dict[str, Any]], Any]
"""Is called with the method itself, bound, and the arguments of a call."""


class _Replaced(NamedTuple):
    function: Any
    code: CodeType
    defaults: tuple[Any, ...] | None
    keyword_defaults: dict[str, Any] | None
    original: FunctionType


_MARKER: Final = "key of the function"
_lock: Final = threading.RLock()
_replaced: Final[dict[str, _Replaced]] = {}
"""Functions with other code, by their keys."""
_replacements: Final[dict[tuple[str, int], tuple[Any, Replacement]]] = {}
"""Replacements and their objects, by a function's key and the object's identity."""


def function_of(owner: Any, name: str) -> FunctionType:
    """Return the function of a method of a generated class, under any wrapper."""
    kinds = [kind for kind in type(owner).__mro__ if name in vars(kind)]
    function = inspect.unwrap(vars(kinds[-1])[name])
    assert isinstance(function, FunctionType)
    return function


class StandIns:
    """Methods of some objects that are replaced until `end`."""

    def __init__(self) -> None:
        self._keys: list[tuple[str, int]] = []

    def replace(self, owner: Any, name: str, replacement: Replacement) -> None:
        """Replace a method of one object."""
        function = function_of(owner, name)
        key = f"{function.__module__}.{function.__qualname__}"
        with _lock:
            if key not in _replaced:
                _replaced[key] = _exchange(function, key)
            _replacements[key, id(owner)] = owner, replacement
            self._keys.append((key, id(owner)))

    def end(self) -> None:
        """Give all methods their own code again."""
        with _lock:
            for key, identity in self._keys:
                del _replacements[key, identity]
                if not any(other == key for other, _ in _replacements):
                    _restore(_replaced.pop(key))
            self._keys.clear()


def _exchange(function: Any, key: str) -> _Replaced:
    code, original = function.__code__, FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    original.__kwdefaults__ = function.__kwdefaults__
    replaced = _Replaced(function, code, function.__defaults__, function.__kwdefaults__, original)
    stand_in = _stand_in.__code__
    constants = tuple(key if c == _MARKER else c for c in stand_in.co_consts)
    function.__code__ = stand_in.replace(co_consts=constants, co_name=function.__name__)
    function.__defaults__, function.__kwdefaults__ = None, {}
    return replaced


def _restore(replaced: _Replaced) -> None:
    function = replaced.function
    function.__code__, function.__defaults__ = replaced.code, replaced.defaults
    function.__kwdefaults__ = replaced.keyword_defaults


def _stand_in(self: Any, *args: Any, **kwargs: Any) -> Any:
    from ecsgen.checked.stand_ins import call_replaced

    return call_replaced("key of the function", self, args, kwargs)


def call_replaced(key: str, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call what replaces a method for an object, the method itself for all others."""
    replaced = _replaced.get(key)
    if replaced is None:  # the block has ended while the call began
        return getattr(owner, key.rpartition(".")[2])(*args, **kwargs)
    method = MethodType(replaced.original, owner)
    known = _replacements.get((key, id(owner)))
    if known is None:
        return method(*args, **kwargs)
    return known[1](method, args, kwargs)
