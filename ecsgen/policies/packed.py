"""Packed rows: dense; the last row moves into a hole (Bitsquid's swap-remove)."""

from ecsgen.policies.policy import Policy

CHECK_ROW = """
    if type(row) is not int or not 0 <= row < data._n:
        row = self._row(row)
"""
RESERVE_ONE = """
    if data._n == data._allocated:
        data._grow(data._n + 1{views})
"""
AT_THE_END = {
    "place_one": """
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
    """,
    "appended_one": "data._n = row + 1",
    "plan_append": """
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
    """,
    "appended_many": "data._n = end",
}
"""New rows come behind the last one."""

POLICY = Policy(
    name="packed",
    role="placement",
    is_default=True,
    applies=lambda c: True,
    order=0,
    base="Packed",
    calls={
        **AT_THE_END,
        "check_row": CHECK_ROW,
        "reserve_one": RESERVE_ONE,
        "close_one": """
            src, dst = data._n - 1, row
            if src != dst:
                <move_row>
                <moved_one>
            data._n = src
            <vacated_one>
        """,
    },
)
