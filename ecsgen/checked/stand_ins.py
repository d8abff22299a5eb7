"""Stand-ins for methods of generated packages: other code in the methods' own functions.

So bound methods that were taken before follow, and nothing is put into classes.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeAlias

Method: TypeAlias = Callable[..., Any]
Replacement: TypeAlias = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]
"""Is called with the object, the arguments by position and those by name."""
Wrap: TypeAlias = Callable[[Method], Replacement]
"""Makes what is called instead of a function, which it gets."""

_REPLACEMENT_OF: Final = "what replaces the method of an object"
_ORIGINAL: Final = "the function itself"
_lock: Final = threading.RLock()


class _Exchange:
    """A function with other code, and what is called for which object instead."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._code, self._defaults = function.__code__, function.__defaults__
        self._keyword_defaults = function.__kwdefaults__
        self.original: Any = FunctionType(
            self._code, function.__globals__, function.__name__, self._defaults
        )
        self.original.__kwdefaults__ = self._keyword_defaults
        self.replacements: dict[int, Replacement] = {}
        """By the identity of the object, which its block keeps alive."""
        known = {_REPLACEMENT_OF: self.replacements.get, _ORIGINAL: self.original}
        code = _stand_in.__code__
        constants = tuple(known.get(part, part) for part in code.co_consts)
        function.__code__ = code.replace(co_consts=constants, co_name=function.__name__)
        function.__defaults__, function.__kwdefaults__ = None, {}

    def undo(self) -> None:
        """Give the function its own code again."""
        function = self._function
        function.__code__, function.__defaults__ = self._code, self._defaults
        function.__kwdefaults__ = self._keyword_defaults


def _stand_in(self: Any, *args: Any, **kwargs: Any) -> Any:
    replacement_of: Any = "what replaces the method of an object"
    replacement = replacement_of(id(self))
    if replacement is not None:
        return replacement(self, args, kwargs)
    original: Any = "the function itself"
    return original(self, *args, **kwargs)


_exchanges: Final[dict[FunctionType, _Exchange]] = {}
"""Functions that have other code now."""


class StandIns:
    """Methods of some objects that are replaced until `end`."""

    def __init__(self) -> None:
        self._replaced: list[tuple[FunctionType, Any]] = []

    def replace(self, owner: Any, name: str, wrap: Wrap) -> None:
        """Replace a method of one object: the generated one, under any wrapper."""
        kinds = [kind for kind in type(owner).__mro__ if name in vars(kind)]
        function = inspect.unwrap(vars(kinds[-1])[name])
        assert isinstance(function, FunctionType)
        with _lock:
            if function not in _exchanges:
                _exchanges[function] = _Exchange(function)
            exchange = _exchanges[function]
            exchange.replacements[id(owner)] = wrap(exchange.original)
            self._replaced.append((function, owner))

    def end(self) -> None:
        """Give all methods their own code again."""
        with _lock:
            for function, owner in self._replaced:
                exchange = _exchanges[function]
                del exchange.replacements[id(owner)]
                if not exchange.replacements:
                    _exchanges.pop(function).undo()
            self._replaced.clear()
