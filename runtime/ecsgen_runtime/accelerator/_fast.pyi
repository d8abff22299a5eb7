"""The extension: plans of classes, and methods that stand before generated ones."""

from collections.abc import Callable
from typing import Any, final

@final
class Entities:
    """What the layer knows of a class of entity managers."""

    def __new__(cls, spec: dict[str, Any], /) -> Entities: ...
    def seal(self) -> None:
        """Remember what the class is like: the layer holds from now on."""

@final
class Component:
    """What the layer knows of a class of managers."""

    def __new__(cls, spec: dict[str, Any], /) -> Component: ...
    def seal(self) -> None:
        """Remember what the class is like: the layer holds from now on."""

@final
class World:
    """What the layer knows of a class of worlds."""

    def __new__(cls, spec: dict[str, Any], /) -> World: ...
    def seal(self) -> None:
        """Remember what the class is like: the layer holds from now on."""

@final
class Proxy:
    """What the layer knows of a class of proxies."""

    def __new__(cls, spec: dict[str, Any], /) -> Proxy: ...
    def seal(self) -> None:
        """Remember what the class is like: the layer holds from now on."""

@final
class Join:
    """What the layer knows of the class that joins the components of queries."""

    def __new__(cls, spec: dict[str, Any], /) -> Join: ...
    def seal(self) -> None:
        """Remember what the class is like: the layer holds from now on."""

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

    plan: Entities | Component | World | Proxy | Join
    field: int
    __wrapped__: Callable[..., Any]

    def __new__(
        cls,
        plan: Entities | Component | World | Proxy | Join,
        wrapped: Callable[..., Any],
        function: str,
        field: int = 0,
        /,
    ) -> Method: ...
    def __call__(self, *args: Any, **named: Any) -> Any: ...
