"""Owners of rows: entities, or none."""

from collections.abc import Iterable
from typing import Any

from ecsgen.model.columns import Column
from ecsgen.policies.policy import Fault, Loss, Methods, Policy, is_owned

OWNED = Policy(
    name="owned",
    applies=lambda c: c.owner == "entity" and c.grid is None,
    order=5,
    manager_base="Owned",
    rows_base="OwnedRows",
    manager_slots=("_entities",),
    columns=(Column("entity", "u64", doc="The owner of each row."),),
    raises=("StaleEntityError: the entity is dead.",),
    losses=(
        Loss(
            "owner",
            "E903",
            "saved rows have no owners",
            lambda old, new: is_owned(new) and not is_owned(old),
            is_all=True,
        ),
        Loss(
            "owner",
            "E904",
            "saved owners are refused, or forgotten with `drop`",
            lambda old, new: is_owned(old) and not is_owned(new),
        ),
    ),
    methods=(
        Methods(
            "owner",
            is_owned,
            "ensure entity has has_many lookup lookup_many remove remove_many require "
            "require_many data.entity",
        ),
    ),
)
"""owner: entity: every row belongs to an entity, which is alive or dead."""


def _conflicts(spec: Any) -> Iterable[tuple[str, str]]:
    """Yield the keys about entities, which unowned rows do not have."""
    if spec.owner != "none":
        return
    if spec.instances == "many":
        yield "owner", "instances"
    if spec.lookup != "sparse":
        yield "owner", "lookup"
    refers = any(field.on_delete != "keep" for field in spec.long_fields.values())
    if spec.destroy != "gc" and not (spec.destroy == "callback" and refers):
        yield "owner", "destroy"
    if not spec.ids and "ids" in spec.model_fields_set:
        yield "owner", "ids"


def _faults(spec: Any) -> Iterable[Fault]:
    if spec.owner == "none" and not spec.long_fields:
        message = "'owner: none' without fields: there would be nothing in a row"
        yield Fault("E402", ("owner",), message, lacks="fields")


UNOWNED = Policy(
    name="unowned",
    find_conflicts=_conflicts,
    find_faults=_faults,
    applies=lambda c: c.owner == "none" and c.grid is None,
    order=5,
    manager_base="Unowned",
    manager_slots=("_failures",),
)
"""owner: none: a packed array of unowned rows, reached by id (Molecule's packed array)."""


TAG = Policy(
    name="tag", applies=lambda c: c.owner == "entity" and not c.fields, order=6, manager_base="Tag"
)
"""Components without fields: tags of entities."""

POLICIES = (OWNED, UNOWNED, TAG)
