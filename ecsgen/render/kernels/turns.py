"""In which order the rows of a kernel take turns."""

from __future__ import annotations

from ecsgen.model.programs import ID_SLOT, FieldValue


def order_text(who: FieldValue, holder: str, rows: str) -> str:
    """The expression for rows in the order of their first random words; `rows`: which there are."""
    column = f"{holder}._{who.name}_column{rows}"
    if who.name == ID_SLOT:
        column = f"ids_of({column}, {holder}._id_generation_column)"
    return f"turn_order({column}, _key)"
