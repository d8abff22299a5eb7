"""The steps of every structural change, for which policies have code.

In the statements of a step, a line `<name>` stands for those of another step, `<again>` for a
restart of the creation, `<move_row>` for the copy of row `src` over row `dst`, and `{views}` for
the arguments of a creation that may be views.

A step may raise only before the first step that changes something. After that an exception breaks
the manager: every later call raises. Statements of a step can use the names in its description,
those of earlier steps, `self`, `data` (the columns), and the method's parameters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One step, its method, and its purpose."""

    name: str
    method: str
    description: str


STEPS = (
    Step("check_row", "accessors", "make sure that `row` is in use"),
    Step("delegate_one", "create", "leave it to others if more is asked for"),
    Step("delegate_many", "create_many", "leave it to others if more is asked for"),
    Step("admit_one", "create", "refuse what can't have a row; `_slot`: its index"),
    Step("reserve_one", "create", "allocate all that the row needs"),
    Step("evict_one", "create", "remove rows that are in the way"),
    Step("place_one", "create", "choose the new row: `row`"),
    Step("acquire_one", "create", "take what a new row needs, before there is one more"),
    Step("make_room_one", "create", "free the row `row`"),
    Step("append_one", "create", "count the row, fill own columns, tell the map"),
    Step("reposition_one", "create", "bring the row where it belongs"),
    Step("notify_one", "create", "call callbacks of the row `row`, which is there for good"),
    Step("plan_append", "_append_many", "find out where rows come: `rows`, `span`; allocate"),
    Step("acquire_many", "_append_many", "take what new rows need, before there are more"),
    Step("make_room_many", "_append_many", "free the rows of `span`"),
    Step("append_many", "_append_many", "count the rows, fill own columns, tell the map"),
    Step("reposition_many", "_append_many", "bring the rows where they belong"),
    Step("expand_one", "_destroy_row", "let others go with the row"),
    Step("release_one", "_destroy_row", "call callbacks; `notified`: they have been called"),
    Step("plan_removal_one", "_destroy_row", "find out what is left; allocate"),
    Step("unlink_one", "_destroy_row", "forget the row, which is still readable"),
    Step("close_hole_one", "_destroy_row", "close the hole"),
    Step(
        "update_moved_one",
        "_destroy_row",
        "tell that row `src` is at `dst` now; columns have moved",
    ),
    Step("clear_vacated_one", "_destroy_row", "empty what is behind the last row now"),
    Step("save_spare_row", "_swap_via_spare", "keep what the spare row holds"),
    Step("restore_spare_row", "_swap_via_spare", "give the spare row back what it held"),
)

TEMPLATE_BLOCKS = (
    Step("constants", "module", "constants"),
    Step("classes", "module", "classes and functions"),
    Step("settings", "manager", "attributes of the class"),
    Step("data_settings", "data", "attributes of the class of the columns"),
    Step("data_methods", "data", "methods of the columns"),
    Step("create_views", "_bind_columns", "further views of the columns in a new buffer"),
    Step("methods", "manager", "methods"),
)
"""Blocks of a policy's template that are not steps of a change."""
