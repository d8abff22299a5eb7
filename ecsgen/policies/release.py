"""release: callbacks see the rows about to go, still readable, on every way out."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="release",
    applies=lambda c: c.release,
    order=90,
    base="Release",
    state=("_released",),
    calls={
        "release_one": """
            if not told and self._released.entries:
                return self._destroy_told(row)
        """,
    },
)
