"""The extension: plans of classes, and methods that stand before generated ones."""

from collections.abc import Callable
from typing import Any, Self, final

class _Plan:
    def __new__(cls, spec: dict[str, Any], /) -> Self: ...
    def seal(self) -> None:
        """Remember what the class is like: the layer holds from now on."""

@final
class Entities(_Plan):
    """What the layer knows of a class of entity managers."""

@final
class Component(_Plan):
    """What the layer knows of a class of managers."""

@final
class World(_Plan):
    """What the layer knows of a class of worlds."""

@final
class Proxy(_Plan):
    """What the layer knows of a class of proxies."""

@final
class Join(_Plan):
    """What the layer knows of the class that joins the components of queries."""

@final
class Property:
    """A property of proxies, the usual case of which is in C."""

    __wrapped__: property

    def __new__(
        cls, plan: Proxy, wrapped: property, name: str, field: int, reads: bool, writes: bool, /
    ) -> Property: ...

@final
class Rows:
    """What iterates over the rows of a manager."""

@final
class Method:
    """A generated method, the usual case of which is in C."""

    plan: _Plan
    field: int
    __wrapped__: Callable[..., Any]

    def __new__(
        cls,
        plan: _Plan,
        wrapped: Callable[..., Any],
        function: str,
        field: int = 0,
        /,
    ) -> Method: ...
    def __call__(self, *args: Any, **named: Any) -> Any: ...
