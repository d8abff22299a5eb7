"""Placement of rows: behind the last one, in front of a bound, or at the entity's index."""

from collections.abc import Iterable
from textwrap import dedent
from typing import Any

from ecsgen.policies.policy import (
    A_DEAD_ENTITY,
    Fault,
    Loss,
    Methods,
    Policy,
    StepText,
    eviction,
    is_off,
)

CHECK_ROW = """
    if type(row) is not int or not 0 <= row < data._n:
        row = self._require_row(row)
"""
_AT_THE_END = {
    "check_row": CHECK_ROW,
    "reserve_one": """
        if data._n == data._allocated:
            data._grow(data._n + 1{views})
    """,
    "place_one": """
        row: Instance = data._n  # type: ignore[assignment]  # calling Instance takes time
    """,
    "append_one": "data._n = row + 1",
    "plan_append": """
        n = data._n
        end = n + count
        span = slice(n, end)
        rows = np.arange(n, end)
    """,
    "append_many": "data._n = end",
}
"""New rows are added behind the last one."""


def _close_behind(bound: str, part: str, leave: str = "") -> str:
    """Return the statements that close a hole; one in front of a bound is first moved behind it."""
    return f"""
        if row < data.{bound}:{leave}
            last = Instance(data.{bound} - 1)
            if row != last:
                self._move(last, row)
            data.{bound} = row = last  # the {part} now
        last = Instance(data._n - 1)
        if row != last:
            self._move(last, row)
        data._n = last
        <clear_vacated_one>
    """


PACKED = Policy(
    name="packed",
    applies=lambda c: not (c.grid or c.partition or c.group or c.lookup == "direct"),
    order=0,
    manager_base="Packed",
    step_code={
        **_AT_THE_END,
        "close_hole_one": """
            src, dst = data._n - 1, row
            if src != dst:
                <move_row>
                <update_moved_one>
            data._n = src
            <clear_vacated_one>
        """,
    },
)
"""Packed rows: dense; the last row moves into a hole (Bitsquid's swap-remove)."""


_AT_THE_BOUND = _AT_THE_END | {
    "place_one": """
        row: Instance = data._n_active  # type: ignore[assignment]  # calling Instance takes time
    """,
    "make_room_one": """
        if row != data._n:  # the first inactive row makes room
            self._move(row, Instance(data._n))
    """,
    "append_one": """
        data._n += 1
        data._n_active = row + 1
    """,
    "plan_append": """
        n = data._n
        start = data._n_active
        end = start + count
        src, dst = make_room_moves(start, n, count)
        moves = self._plan_moves(src, dst)
        span = slice(start, end)
        rows = np.arange(start, end)
    """,
    "make_room_many": "self._move_many(src, dst, moves)",
    "append_many": """
        data._n = n + count
        data._n_active = end
    """,
}
"""New rows are active; the first inactive rows make room."""


def _new_row(step: str) -> StepText:
    return lambda c: (_AT_THE_BOUND if c.partition == "active" else _AT_THE_END).get(step, "")


def _faults(spec: Any) -> Iterable[Fault]:
    for kind in ("kernels", "reductions"):
        for name, method in getattr(spec, kind).items():
            if not spec.start and "rows" in method.model_fields_set:
                message = "'rows' without a 'partition': all rows are the same"
                yield Fault("E402", (kind, name, "rows"), message, lacks="partition")


PARTITION = Policy(
    name="partition",
    find_faults=_faults,
    applies=lambda c: bool(c.partition),
    order=0,
    manager_base="Partition",
    rows_base="PartitionedRows",
    rows_slots=("_n_active",),
    template=True,
    note=lambda c: "active" if c.partition == "active" else "inactive",
    losses=(
        Loss("partition", "E904", "it is forgotten which rows are active", is_off("partition")),
    ),
    methods=(
        Methods(
            "partition",
            lambda c: bool(c["partition"]),
            "n_active is_active activate activate_many deactivate deactivate_many data.active",
        ),
    ),
    step_code={
        **{step: _new_row(step) for step in _AT_THE_BOUND},
        "settings": lambda c: "_STARTS_ACTIVE: ClassVar = True" if c.partition == "active" else "",
        "close_hole_one": _close_behind("_n_active", "inactive part has the hole"),
    },
)
"""partition: active rows in front, kept there by swaps; never a flag to test (data locality)."""


GROUPED = Policy(
    name="grouped",
    applies=lambda c: bool(c.group),
    order=0,
    manager_base="GroupMember",
    rows_base="GroupMemberRows",
    manager_slots=("_other_members",),
    rows_slots=("_n_grouped",),
    template=True,
    step_code={
        **_AT_THE_END,
        "settings": lambda c: f'GROUP: ClassVar = "{c.group}"',
        "reposition_one": """
            if self._other_members:
                row = self._join_group(row, entity)
        """,
        "plan_append": dedent(_AT_THE_END["plan_append"])
        + "joining = self._plan_join(entities, rows)",
        "reposition_many": """
            if joining is not None:
                rows = self._join_group_many(joining)
        """,
        "close_hole_one": _close_behind(
            "_n_grouped",
            "hole is behind the group",
            """
            for member in self._other_members:
                member._leave_group(row)""",
        ),
    },
)
"""A member of a world's group: the rows of entities with all members are at the front.

Packed rows with a bound, as with `partition`. Rows cross the bound in all members together, when
their entity gets or loses one of the components.
"""


def _conflicts(spec: Any) -> Iterable[tuple[str, str]]:
    """Yield the keys that order rows, or give an entity several: `lookup: direct` does neither."""
    if spec.lookup != "direct":
        return
    if spec.instances == "many":
        yield "lookup", "instances"
    if spec.start:
        yield "lookup", "partition"
    if spec.orphans:
        yield "lookup", "hierarchy"
    if spec.cold == "indirect":
        yield "lookup", "cold"


DIRECT = Policy(
    name="direct",
    find_conflicts=_conflicts,
    applies=lambda c: c.lookup == "direct",
    order=0,
    manager_base="Direct",
    sharded_overrides={"manager_base": "ShardedDirect"},
    rows_base="DirectRows",
    rows_slots=("_count",),
    raises=("DuplicateInstanceError: the entity has an instance already.",),
    methods=(
        Methods("lookup", lambda c: c["lookup"] != "direct" and "grid" not in c, "sort reorder"),
        Methods("lookup", lambda c: bool(c["lookup"] == "direct"), "data.present"),
    ),
    step_code={
        "check_row": """
            if not (type(row) is int and 0 <= row < data._n and data._entity_cells[row]):
                row = self._require_row(row)
        """,
        "admit_one": """
            row: Instance = _slot  # type: ignore[assignment]  # calling Instance takes time
            _owner = data._entity_cells[row] if row < data._n else NULL_ENTITY
            if _owner == entity:
                raise self._duplicate(entity)
        """,
        "reserve_one": """
            if row >= data._allocated:
                data._grow(row + 1{views})
        """,
        "evict_one": eviction("_owner != NULL_ENTITY", "self._destroy_row, row", A_DEAD_ENTITY),
        "append_one": """
            if row >= data._n:
                data._n = row + 1
            data._count += 1
        """,
        "plan_append": """
            rows = span = self._entities.slots(entities)
            end = self._entities.span(entities)
        """,
        "append_many": """
            data._n = max(data._n, end)
            data._count += count
        """,
        "plan_removal_one": """
            end = data._n
            if row == end - 1:
                end = self._end_below(row)
        """,
        "close_hole_one": """
            data._entity_cells[row] = NULL_ENTITY
            <clear_vacated_one>
            data._n = end
            data._count -= 1
        """,
    },
)
"""lookup: direct: the entity's index is the row. Nothing ever moves; the buffer may have holes."""

POLICIES = (PACKED, PARTITION, GROUPED, DIRECT)
