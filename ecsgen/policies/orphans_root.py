"""hierarchy: {orphans: root}: the children of rows that go become roots (Crown's scene graph)."""

from ecsgen.policies.policy import Policy

POLICY = Policy(
    name="orphans_root",
    applies=lambda c: c.hierarchy == "root",
    order=26,
    base="OrphansRoot",
    calls={
        "removing_one": """
            if data._first_child_cells[row] != NIL:
                self._release_children(row)
        """,
    },
)
