"""Protocol of the worlds that can be inspected."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol


class InspectedWorld(Protocol):
    """A world of a generated package, which may have a copy of the library."""

    MANAGERS: ClassVar[tuple[str, ...]]
    QUERIES: ClassVar[tuple[str, ...]]
    GROUPS: ClassVar[tuple[str, ...]]

    @property
    def entities(self) -> Any: ...
    def destroy(self, entity: Any, /) -> None: ...
