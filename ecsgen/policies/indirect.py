"""cold: indirect: cold fields live in a second, packed buffer; rows pay four bytes for them."""

from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Policy


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("cold_row", "u32", doc="The cold row of each row, or NIL for all defaults."),)


POLICY = Policy(
    name="indirect",
    applies=lambda c: c.cold == "indirect",
    base="Indirect",
    rows="IndirectRows",
    row_state=("_cold",),
    columns=_columns,
    template=True,
    calls={
        "settings": "LAYOUT_COLD: ClassVar = COLD_COLUMNS",
        "plan_append": "cold = data._plan_cold_rows(columns, count)",
        "appended_many": "data._append_cold_rows(rows, cold)",
        "plan_again": "cold = data._plan_removal(gone)",
        "removing_one": """
            if data._cold_row_cells[row] != NIL:
                data._drop_cold_row(data._cold_row_cells[row])
        """,
        "removing_many": "data._drop_cold_rows(cold)",
        "moved_one": """
            if data._cold_row_cells[dst] != NIL:
                data._cold._row_cells[data._cold_row_cells[dst]] = dst
        """,
        "moved_many": "data._follow_cold_rows(dst)",
    },
)
