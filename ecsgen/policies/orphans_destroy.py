"""hierarchy: {orphans: destroy}: the descendants of rows that go, go with them."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="orphans_destroy",
    applies=lambda c: c.hierarchy == "destroy",
    order=26,
    calls={
        "settings": "_BY_ROW: ClassVar = False",
        "expand_one": """
            if data._first_child_cells[row] != NIL:
                return self._destroy_rows(np.array([row]))
        """,
        "expand_many": "gone = self._with_descendants(gone)",
    },
)
