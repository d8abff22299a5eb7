"""index: rows are sorted by the values of a field, when somebody searches for one."""

from typing import Any, Final

from ecsgen.model import Component, Field, FieldType
from ecsgen.policies.policy import Key, Policy, Refusal
from ecsgen.policies.unique import reject_search


def _reject(component: Any, field: Any, type_: FieldType) -> Refusal | None:
    if field.unique:
        return Refusal("it is unique", "unique", is_of_field=True)
    return reject_search(component, field, type_)


KEY: Final[Key[bool]] = Key(
    name="index",
    of="field",
    annotation=bool,
    default=False,
    off=False,
    help="`rows_of_<field>` and `rows_of_<field>_many` find the rows that have a value. "
    "`data.<field>` is read-only; setters, assignment and kernels write it.",
    adjective="indexed",
    suits_cells=True,
    reject=_reject,
    refusal="E525",
    methods=("rows_of_{x}", "rows_of_{x}_many"),
    method_is="the search for values",
)


def is_sorted(field: Field) -> bool:
    """Return True if rows are found by the value of a field, with or without public methods."""
    return KEY.value(field) or field.is_sorted


def is_indexed(component: Component, name: str) -> bool:
    """Return True if a component keeps an index of the field with a name."""
    return any(field.name == name and is_sorted(field) for field in component.fields)


INDEX = Policy(
    name="index",
    keys=(KEY,),
    applies=lambda c: any(map(is_sorted, c.fields)),
    order=-11,  # before `unique`, whose fields it leaves alone
    manager_base="Indexed",
    rows_base="IndexedRows",
    rows_slots=("_field_indexes",),
    template=True,
    step_code={
        "append_one": "data._note_row(row)",
        "append_many": "data._note_rows(rows)",
        "unlink_one": "data._note_row(row)",
        "update_moved_one": "data._note_row(dst)",
    },
)

POLICIES = (INDEX,)
