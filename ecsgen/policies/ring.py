"""ring: N: at most N instances; new ones replace the oldest ones."""

from collections.abc import Iterable
from typing import Annotated, Any, Final

from pydantic import Field

from ecsgen.model.columns import Column, round_to_cache_lines
from ecsgen.policies.policy import MAX_ROWS, Document, Key, Loss, Methods, Policy, eviction, is_off

KEY: Final[Key[int]] = Key(
    name="ring",
    annotation=Annotated[int, Field(ge=1, le=MAX_ROWS)] | None,
    default=None,
    off=0,
    help="The most instances: creating more removes the oldest first, as any removal does. "
    "Creating more than that at once: `CapacityError`.",
)


_NEWER = "The row created next, or NIL."
_OLDER = "The row created before; the oldest one's is the newest."


def _conflicts(spec: Any) -> Iterable[tuple[str, str]]:
    """Yield keys about memory that a ring contradicts: it bounds instances, not indices."""
    if spec.ring is None:
        return
    if spec.lookup == "direct":
        yield "lookup", "ring"
    if 0 < spec.reserve < spec.ring:
        yield "ring", "growth"
    if spec.capacity > round_to_cache_lines(spec.ring):
        yield "capacity", "ring"


def _is_tighter(old: Document, new: Document) -> bool:
    most = new.get("ring", 0)
    return bool(most) and not 0 < old.get("ring", 0) <= most


RING = Policy(
    name="ring",
    keys=(KEY,),
    find_conflicts=_conflicts,
    applies=lambda c: bool(KEY.value(c)),
    max_rows=KEY.value,
    order=15,  # after evictions of the entity's own row, which make room as well
    manager_base="Ring",
    rows_base="RingRows",
    rows_slots=("_oldest",),
    columns=(
        Column("newer", "u32", doc=_NEWER, holds_rows=True),
        Column("older", "u32", doc=_OLDER, holds_rows=True),
    ),
    step_code={
        "data_settings": lambda c: f"MAX_ROWS: ClassVar = {KEY.value(c)}",
        "evict_one": eviction(
            "data._n == data.MAX_ROWS", "self._drop_oldest, data._oldest", "the oldest goes"
        ),
        "append_one": "data._add_newest(row)",
        "append_many": "data._add_newest_rows(rows)",
        "unlink_one": "data._unlink_from_ring(row)",
        "update_moved_one": "data._relink_in_ring(src, dst)",
    },
    losses=(
        Loss("ring", "E902", "there may be more saved ones", _is_tighter),
        Loss("ring", "E904", "it is forgotten which rows are the oldest", is_off("ring")),
    ),
    methods=(Methods("ring", lambda c: bool(c.get("ring")), "by_age"),),
)

POLICIES = (RING,)
