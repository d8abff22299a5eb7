"""unique: no two rows have equal values of a field, and a dict maps each value to its row."""

from typing import Any, Final

from ecsgen.model import BaseType, FieldType
from ecsgen.policies.policy import FieldLoss, Key, Policy, Refusal


def reject_search(component: Any, field: Any, type_: FieldType) -> Refusal | None:
    """Return why no row can be found by a field's value."""
    if type_.shape or type_.base is BaseType.OBJECT:
        return Refusal(f"it is of type {type_.text}", "type", is_of_field=True)
    if component.cold == "indirect" and field.is_cold:
        return Refusal("it is in the second buffer by 'cold: indirect'", "cold", is_of_field=False)
    return None


KEY: Final[Key[bool]] = Key(
    name="unique",
    of="field",
    annotation=bool,
    default=False,
    off=False,
    help="No two instances have equal values, and `find_<field>` and `find_<field>_many` find them "
    "by value. `data.<field>` is read-only, kernels only read it.",
    reject=reject_search,
    refusal="E113",
    methods=("find_{x}", "find_{x}_many"),
    method_is="the search for values",
)


UNIQUE = Policy(
    name="unique",
    keys=(KEY,),
    applies=lambda c: any(KEY.value(field) for field in c.fields),
    order=-10,  # rejects values before anything is allocated
    manager_base="Unique",
    rows_base="UniqueRows",
    rows_slots=("_indexes",),
    raises=("DuplicateValueError: another row has the value of a unique field.",),
    template=True,
    step_code={
        "append_one": "data._index_row(row)",
        "append_many": "data._index_rows(rows)",
        "unlink_one": "data._unindex_row(row)",
        "update_moved_one": "data._index_row(dst)",
    },
    field_losses=(
        FieldLoss(
            "E902",
            # NaN equals nothing
            lambda old, new: old is None and bool(new.get("unique")) and new["default"] != "NaN",
            "{field} is new and unique: all saved rows would have its default",
            "set different values in `migrate`",
        ),
        FieldLoss(
            "E902",
            lambda old, new: old is not None and bool(new.get("unique")) and not old.get("unique"),
            "{field} is unique, and saved values may be equal",
            "make them different in `migrate`",
        ),
        FieldLoss(
            "E953",
            lambda old, new: old is not None and bool(old.get("unique")) and not new.get("unique"),
            "{field} is not unique: find_{name} and find_{name}_many are gone",
            "write 'unique: true', or change the code",
        ),
    ),
)

POLICIES = (UNIQUE,)
