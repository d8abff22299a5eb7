"""The entity manager for any layout of handles, as a package of that layout has it."""

from __future__ import annotations

from functools import cache
from typing import Any

from ecsgen_runtime.base.errors import StructureLockedError
from ecsgen_runtime.base.handles import HandleLayout
from ecsgen_runtime.entities.entity_manager import EntityManagerBase


@cache
def entity_manager(
    index_bits: int = 32, generation_bits: int = 32, min_free: int = 1024
) -> type[EntityManagerBase]:
    """Return the manager's class with these bits, which pickles find here."""
    layout = HandleLayout(index_bits, generation_bits, min_free)
    name = f"EntityManager{index_bits}x{generation_bits}x{min_free}"
    kind = type(
        name,
        (EntityManagerBase,),
        {"HANDLE_LAYOUT": layout, "__slots__": (), "__module__": __name__},
    )
    globals()[name] = kind
    return kind


class DespawnListener:
    """Does what a manager with `destroy: callback` does when entities die, but for the rows."""

    def __init__(self, entities: EntityManagerBase | None = None) -> None:
        self.dead: list[int] = []
        self._locks = 0
        if entities is not None:
            entities.add_listener(self, DespawnListener.remove)

    def _check_can_despawn(self) -> None:
        if self._locks:
            raise StructureLockedError("locked")

    def _on_despawn(self, entities: Any) -> None:
        self.dead += entities.tolist()

    def remove(self, entity: int) -> None:
        """Hear of one death."""
        self.dead.append(entity)
