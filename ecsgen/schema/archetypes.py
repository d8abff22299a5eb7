"""Archetypes: whether rows fit into a chunk, once the components are known."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Component
from ecsgen.model.chunks import chunk_row_bytes, chunk_rows
from ecsgen.schema.drafts import Draft
from ecsgen.schema.language.world import WorldSpec


def check_chunk(
    draft: Draft[WorldSpec], components: Sequence[Component], diagnostics: Diagnostics
) -> None:
    """Report E511: an entity may have all components, so a row with all of them must fit."""
    archetypes = draft.spec.archetypes
    if archetypes is None:
        return
    members = [c for c in components if c.name in archetypes.components]
    if not members or chunk_rows(members, archetypes.chunk):
        return
    whole, largest = chunk_row_bytes(members), max(members, key=lambda c: chunk_row_bytes([c]))
    message = (
        f"a row with all components of the archetypes takes {whole} bytes in a chunk, "
        f"which has {archetypes.chunk}"
    )
    place = largest.marks[""]
    hint = (
        f"the largest is {quote(largest.name)} with {chunk_row_bytes([largest])} bytes "
        f"({place.path}:{place.line}); each column starts on 64 bytes"
    )
    written = "chunk" in archetypes.model_fields_set
    mark = draft.value("archetypes", "chunk") if written else draft.key("archetypes")
    diagnostics.add("E511", message, mark, hint=hint)
