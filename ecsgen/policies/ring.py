"""ring: N: at most N instances; the oldest ones make room for new ones."""

from ecsgen.model import Component
from ecsgen.model.columns import Column
from ecsgen.policies.policy import Policy, eviction


def _columns(component: Component) -> tuple[Column, ...]:
    return (
        Column("newer", "u32", doc="The row created next, or NIL.", holds_rows=True),
        Column(
            "older",
            "u32",
            doc="The row created before; the oldest one's is the newest.",
            holds_rows=True,
        ),
    )


RING = Policy(
    name="ring",
    applies=lambda c: bool(c.ring),
    order=15,  # who makes room for the entity itself may have made it already
    base="Ring",
    rows="RingRows",
    row_state=("_oldest",),
    columns=_columns,
    calls={
        "data_settings": lambda c: f"_RING: ClassVar = {c.ring}",
        "evict_one": eviction(
            "data._n == data._RING", "self._drop_oldest, data._oldest", "the oldest goes"
        ),
        "appended_one": "data._add_newest(row)",
        "appended_many": "data._add_newest_rows(rows)",
        "removing_one": "data._drop_row(row)",
        "moved_one": "data._follow_row(src, dst)",
    },
)

POLICIES = (RING,)
