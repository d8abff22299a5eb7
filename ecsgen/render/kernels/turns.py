"""In which order the rows of a kernel take turns."""

from __future__ import annotations

from ecsgen.model import Kernel
from ecsgen.model.programs import ID_SLOT, FieldValue
from ecsgen.render.kernels.sources import Source


def order_lines(kernel: Kernel, source: Source) -> list[str]:
    """The statements that find out whose turn it is when: `_order`."""
    rows = f"np.arange({source.count})"
    if not source.is_world:
        rows = f"{rows} if _chosen is None else _chosen.rows"
    if kernel.turns == "rows":
        return [f"_order = {rows}"]
    who = kernel.program.who
    assert who is not None  # that tells rows apart where their order is drawn
    holder = source.holder(who.owner)
    if not source.is_world:
        return [f"_rows = {rows}", f"_order = _rows[{order_text(who, holder, '[_rows]')}]"]
    return [f"_order = {order_text(who, holder, source.picked(who.owner))}"]


def order_text(who: FieldValue, holder: str, rows: str) -> str:
    """The expression for rows in the order of their first random words; `rows`: which there are."""
    column = f"{holder}._{who.name}_column{rows}"
    if who.name == ID_SLOT:
        column = f"ids_of({column}, {holder}._id_generation_column)"
    return f"turn_order({column}, _key)"
