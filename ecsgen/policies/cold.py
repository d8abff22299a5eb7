"""cold: indirect: cold fields live in a second, packed buffer; rows pay four bytes for them."""

from collections.abc import Iterable
from typing import Any

from ecsgen.model import BaseType, Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Fault, Methods, Policy


def _faults(spec: Any) -> Iterable[Fault]:
    if spec.cold == "indirect" and not any(form.is_cold for form in spec.long_fields.values()):
        message = "'cold: indirect' without a field that is tagged cold"
        yield Fault("E402", ("cold",), message, lacks="fields")


def _unlink_one(component: Component) -> str:
    has_objects = any(field.type.base is BaseType.OBJECT for field in component.indirect_fields)
    left = "_left_cold = " if has_objects else ""  # lives until the row is gone
    return f"""
        if data._cold_row_cells[row] != NIL:
            {left}data._drop_cold_row(data._cold_row_cells[row])
    """


INDIRECT = Policy(
    name="indirect",
    find_faults=_faults,
    applies=lambda c: c.cold == "indirect",
    manager_base="Indirect",
    rows_base="IndirectRows",
    rows_slots=("_cold",),
    columns=(Column("cold_row", "u32", doc="The cold row of each row, or NIL for all defaults."),),
    template=True,
    step_code={
        "settings": "LAYOUT_COLD: ClassVar = _COLD_COLUMNS",
        "plan_append": "cold = data._plan_cold_rows(columns, count)",
        "append_many": "data._append_cold_rows(rows, cold)",
        "unlink_one": _unlink_one,
        "update_moved_one": """
            if data._cold_row_cells[dst] != NIL:
                data._cold._row_cells[data._cold_row_cells[dst]] = dst
        """,
    },
    methods=(Methods("cold", lambda c: bool(c["cold"] == "indirect"), "LAYOUT_COLD data.cold"),),
)

POLICIES = (INDIRECT,)
