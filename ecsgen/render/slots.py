"""How generated methods find rows by entity: by its index, or with `shards` by its slot.

Both are what `{…}` stands for in the statements of policies. The index of an entity that was made
elsewhere is another's here, so the entity manager tells its slot; and ids have a shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ecsgen.model import Component

_BY_INDEX: Final = {
    "slot_of_row": "data._entity_cells[row] & INDEX_MASK",
    "slot_of_dst": "data._entity_cells[dst] & INDEX_MASK",
    "slots_of_entities": "indices(entities, INDEX_MASK)",
    "slots_of_gone": "indices(data._entity_column[gone], INDEX_MASK)",
    "slots_of_dst": "indices(data._entity_column[dst], INDEX_MASK)",
    "span_of_entities": "rows_spanned(entities, INDEX_MASK)",
    "is_worn_out": "data._id_generation_cells[row] == WORN_OUT",
    "next_generation": "data._id_generation_cells[row] += 1",
    "next_generations": "data._id_generation_column[rows] += 1",
}
_BY_SLOT: Final = {
    "slot_of_row": "self._entities._slot(data._entity_cells[row])",
    "slot_of_dst": "self._entities._slot(data._entity_cells[dst])",
    "slots_of_entities": "self._entities._slots(entities)",
    "slots_of_gone": "self._entities._slots_of(data._entity_column, gone)",
    "slots_of_dst": "self._entities._slots(data._entity_column[dst])",
    "span_of_entities": "self._entities._span(entities)",
    "is_worn_out": "data._is_worn(row)",
    "next_generation": "data._next_generation(row)",
    "next_generations": "data._next_generations(rows)",
}


def slot_words(component: Component) -> Mapping[str, str]:
    """Return what stands for the words, by word."""
    return _BY_SLOT if component.sharded else _BY_INDEX


def refusal_line(component: Component) -> str:
    """Return the statement of `create` where an entity does not live in the slot of its index."""
    if component.sharded:
        return "_slot = self._entities._slot_of(entity)  # raises StaleEntityError"
    return "self._entities.require(entity)  # raises StaleEntityError"
