"""Stand-ins for methods of generated packages: other code in the methods' own functions.

So bound methods that were taken before follow, and nothing is put into classes.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import Any, Final, NamedTuple, TypeAlias

Replacement: TypeAlias = Callable[..., Any]
"""Is called with the object and all arguments, by position."""


class Original(NamedTuple):
    """A method as it was."""

    call: Callable[..., Any]
    """Takes the object and all arguments by position."""
    names: Sequence[str]
    """Of the arguments."""


Wrap: TypeAlias = Callable[[Original], Replacement]
"""Makes what is called instead of a method."""
_lock: Final = threading.RLock()


class _Exchange:
    """A function with other code, and what is called for which object instead."""

    def __init__(self, function: FunctionType) -> None:
        self._function, self._code = function, function.__code__
        count = self._code.co_argcount + self._code.co_kwonlyargcount
        by_position = self._code.replace(
            co_argcount=count, co_kwonlyargcount=0, co_posonlyargcount=0
        )
        self.original = Original(
            FunctionType(by_position, function.__globals__, function.__name__),
            self._code.co_varnames[1:count],
        )
        self.replacements: dict[int, Replacement] = {}
        """By the identity of the object, which its block keeps alive."""
        function.__code__ = _stand_in(self._code, self.replacements.get, self.original.call)

    def undo(self) -> None:
        """Give the function its own code again."""
        self._function.__code__ = self._code


def _stand_in(code: CodeType, replacement_of: object, original: object) -> CodeType:
    """Return code with the same parameters, which calls the replacement or the original."""
    names = [*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
    head = [*names]
    if code.co_kwonlyargcount:
        head.insert(code.co_argcount, "*")
    if code.co_posonlyargcount:
        head.insert(code.co_posonlyargcount, "/")
    known = {"_0": replacement_of, "_1": id, "_2": original}
    text = (
        f"def {code.co_name}({', '.join(head)}):\n"
        "    _replacement_of = '_0'; _id = '_1'; _original = '_2'\n"
        f"    return _replacement_of(_id({names[0]}), _original)({', '.join(names)})\n"
    )
    defined: dict[str, Any] = {}
    exec(compile(text, "<stand-in>", "exec"), defined)
    calling: CodeType = defined[code.co_name].__code__
    return calling.replace(co_consts=tuple(known.get(part, part) for part in calling.co_consts))


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
