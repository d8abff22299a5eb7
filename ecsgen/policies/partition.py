"""partition: active rows in front, kept there by swaps; never a flag to test (data locality)."""

from collections.abc import Mapping

from ecsgen.model import Component
from ecsgen.policies.packed import AT_THE_END, CHECK_ROW, RESERVE_ONE
from ecsgen.policies.policy import Policy, Text

_AT_THE_BOUND = {
    "place_one": """
        row: Instance = data._n_active  # type: ignore[assignment]  # calling Instance takes time
    """,
    "room_one": """
        if row != data._n:  # the first inactive row makes room
            self._move(row, Instance(data._n))
    """,
    "appended_one": """
        data._n += 1
        data._n_active = row + 1
    """,
    "plan_append": """
        n = data._n
        start = data._n_active
        end = start + count
        src, dst = room_at(start, n, count)
        moves = self._plan_moves(src, dst)
        span = slice(start, end)
        rows = np.arange(start, end)
    """,
    "place_many": "self._move_many(src, dst, moves)",
    "appended_many": """
        data._n = n + count
        data._n_active = end
    """,
}
"""New rows are active: the first inactive ones make room."""


def _new_rows() -> Mapping[str, Text]:
    def text(step: str) -> Text:
        def of(component: Component) -> str:
            rows = _AT_THE_BOUND if component.partition == "active" else AT_THE_END
            return rows.get(step, "")

        return of

    return {step: text(step) for step in _AT_THE_BOUND}


POLICY = Policy(
    name="partition",
    role="placement",
    applies=lambda c: bool(c.partition),
    order=0,
    base="Partition",
    rows="PartitionedRows",
    row_state=("_n_active",),
    template=True,
    note=lambda c: "active" if c.partition == "active" else "inactive",
    calls={
        **_new_rows(),
        "settings": lambda c: "_STARTS_ACTIVE: ClassVar = True" if c.partition == "active" else "",
        "check_row": CHECK_ROW,
        "reserve_one": RESERVE_ONE,
        "close_one": """
            if row < data._n_active:
                last = Instance(data._n_active - 1)
                if row != last:
                    self._move(last, row)
                data._n_active = row = last  # the inactive part has the hole now
            last = Instance(data._n - 1)
            if row != last:
                self._move(last, row)
            data._n = last
            <vacated_one>
        """,
    },
)
