"""A member of a world's group: its rows of the entities that have all members come first.

A placement of its own: the packed one with a bound, as `partition`. Rows cross it when their entity
gets or loses one of the components, in all members alike.
"""

from textwrap import dedent

from ecsgen.policies.packed import AT_THE_END, CHECK_ROW, RESERVE_ONE
from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="grouped",
    role="placement",
    applies=lambda c: bool(c.group),
    order=0,
    base="Grouped",
    rows="GroupedRows",
    state=("_others",),
    row_state=("_n_grouped",),
    template=True,
    calls={
        **AT_THE_END,
        "settings": lambda c: f'GROUP: ClassVar = "{c.group}"',
        "check_row": CHECK_ROW,
        "reserve_one": RESERVE_ONE,
        "settled_one": """
            if self._others:
                row = self._join_group(row, entity)
        """,
        "plan_append": dedent(AT_THE_END["plan_append"])
        + "joining = self._plan_join(entities, rows)",
        "settled_many": """
            if joining is not None:
                rows = self._join_group_many(joining)
        """,
        "close_one": """
            if row < data._n_grouped:
                for member in self._others:
                    member._leave_group(row)
                last = Instance(data._n_grouped - 1)
                if row != last:
                    self._move(last, row)
                data._n_grouped = row = last  # the hole is behind the group now
            last = Instance(data._n - 1)
            if row != last:
                self._move(last, row)
            data._n = last
            <vacated_one>
        """,
    },
)
