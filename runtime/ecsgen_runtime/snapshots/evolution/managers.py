"""The tensors and numbers of one component in its new manager."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..facts import Columns
from ..policies import policies_of, policies_of_field
from ..saved import Document
from ..strategy import Saving
from .cold import cold_columns
from .evolving import Evolving, EvolvingField
from .fields import FieldMaker
from .ids import NewIds
from .old import OldComponent
from .rows import RowPlan

Numbers = dict[str, Any]


def structure(
    saving: Saving,
    old: OldComponent,
    doc: Document,
    plan: RowPlan,
    owners: NDArray[np.uint64],
) -> tuple[Columns, Numbers, NewIds | None]:
    """Return what policies have of the rows, and what old ids are now.

    `owners` in new rows, in the new handles.
    """
    version = 0 if old.is_chunked else old.numbers["version"]
    numbers: Numbers = {"n": plan.n, "version": version} | _notes(old)
    columns: Columns = {"entity": owners} if doc["owner"] == "entity" else {}
    new_ids = None
    for facts in policies_of(doc, saving.POLICIES):
        if facts.evolve is not None:
            made = facts.evolve(Evolving(facts, old, doc, plan, owners))
            columns |= made.columns
            numbers |= made.numbers
            new_ids = made.new_ids or new_ids
    if _keeps_generator(old, doc):
        columns["_rng"] = old.column("_rng")
    module = doc["module"]
    tensors = {f"{module}.{name}": column for name, column in columns.items()}
    return tensors, numbers, new_ids


def _notes(old: OldComponent) -> Numbers:
    """Return the seed, the calls of kernels, which are known by their names, and the sizes of a
    space."""
    kept = ("seed", "calls", "wrap")
    return {key: old.numbers[key] for key in kept if key in old.numbers}


def _keeps_generator(old: OldComponent, doc: Document) -> bool:
    collects = doc["destroy"] == "gc" and doc["owner"] == "entity"
    return (
        collects
        and not old.is_chunked
        and old.doc["destroy"] == "gc"
        and old.has("_rng")
    )


def fields(maker: FieldMaker, component: str, plan: RowPlan) -> tuple[Columns, Numbers]:
    """Return the columns of all fields, cold ones among them."""
    columns = maker.columns(component, plan)
    cold, numbers = cold_columns(maker, component, plan)
    return columns | cold, numbers


def check_fields(
    maker: FieldMaker, component: str, plan: RowPlan, columns: Columns
) -> None:
    """Refuse cells that fields of the new schema cannot have."""
    for name, field in maker.names.schema["components"][component]["fields"].items():
        for facts in policies_of_field(field):
            facts.evolve(EvolvingField(facts, maker, component, name, plan, columns))
