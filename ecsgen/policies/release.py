"""release: callbacks see the rows about to go, still readable, on every way out."""

from ecsgen.policies.policy import Policy

GATHERED = """
if not self._dispatch.is_open():
    return self._dispatch.run(self._destroy_rows, gone)
"""

POLICY = Policy(
    name="release",
    applies=lambda c: c.release,
    order=90,
    base="Release",
    state=("_released",),
    calls={
        "gathered": GATHERED,
        "release_one": """
            if not told and self._released.entries:
                return self._destroy_told(row)
        """,
        "release_many": "self._release(gone)",
    },
)
