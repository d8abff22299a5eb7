"""The entity manager for any layout of handles, as a package of that layout has it."""

from __future__ import annotations

from functools import cache

from ecsgen_runtime.base.handles import HandleLayout
from ecsgen_runtime.entities.entity_manager import EntityManagerBase


@cache
def entity_manager(
    index_bits: int = 32, generation_bits: int = 32, min_free: int = 1024
) -> type[EntityManagerBase]:
    """Return the manager's class with these bits, which pickles find here."""
    layout = HandleLayout(index_bits, generation_bits, min_free)
    name = f"EntityManager{index_bits}x{generation_bits}x{min_free}"
    found = type(
        name,
        (EntityManagerBase,),
        {"HANDLE_LAYOUT": layout, "__slots__": (), "__module__": __name__},
    )
    globals()[name] = found
    return found
