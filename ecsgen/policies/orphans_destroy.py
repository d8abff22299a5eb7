"""hierarchy: {orphans: destroy}: the descendants of rows that go, go with them."""

from ecsgen.policies.policy import Policy

WITH_ITS_DESCENDANTS = """
    if data._first_child_cells[row] != NIL:
        return self._destroy_rows(np.array([row]))
"""

POLICY = Policy(
    name="orphans_destroy",
    applies=lambda c: c.hierarchy == "destroy",
    order=26,
    base="OrphansDestroy",
    calls={"expand_one": WITH_ITS_DESCENDANTS},
)
