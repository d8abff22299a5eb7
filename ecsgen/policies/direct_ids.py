"""ids with lookup: direct: rows never move, so an id is the row and its generation."""

from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Policy


def _columns(component: Component) -> tuple[Column, ...]:
    return (Column("id_generation", "u32", doc="The generation of each row.", by_row=False),)


POLICY = Policy(
    name="direct_ids",
    applies=lambda c: c.ids and c.lookup == "direct",
    order=0,
    base="DirectIds",
    sharded_base="ShardedDirectIds",
    rows="DirectIdRows",
    sharded_rows="ShardedDirectIdRows",
    row_state=("_peak",),
    columns=_columns,
    calls={
        "admit_one": """
            if row < data._allocated and {is_worn_out}:
                raise worn_out(data.MANAGER, row)
        """,
        "appended_one": """
            {next_generation}
            if row >= data._peak:
                data._peak = row + 1
        """,
        "appended_many": """
            {next_generations}
            data._peak = max(data._peak, end)
        """,
    },
)
