"""What files know of each policy. They may have policies that the package lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from ..handles import MOST_ROWS, NIL
from ..policies.ids import WORN_OUT
from .checks.chains import (
    check_cold,
    check_direct_ids,
    check_one_chain,
    check_slots,
    check_tree,
)
from .documents import Document
from .evolution.chains import (
    active_rows,
    family_links,
    instance_links,
    one_chain,
)
from .evolution.ids import id_columns
from .facts import Facts, FieldFacts, Number
from .unique import UNIQUE

MANY: Final = Facts(
    applies=lambda c: bool(c["instances"] == "many"),
    excludes_direct=True,
    columns={"next": "n", "previous": "n"},
    evolve=instance_links,  # owners' lists are checked with their owners
)
SLOT_IDS: Final = Facts(
    applies=lambda c: bool(c["ids"]) and c["lookup"] != "direct",
    columns={"id_slot": "slots", "id_row": "peak", "id_generation": "peak"},
    numbers={
        "peak": Number("n", MOST_ROWS),
        "slots": Number("n", "peak"),
        "first_generation": Number(1, WORN_OUT, 1),
    },
    check=check_slots,
    evolve=id_columns,
)
DIRECT_IDS: Final = Facts(
    applies=lambda c: bool(c["ids"]) and c["lookup"] == "direct",
    columns={"id_generation": "peak"},
    numbers={"peak": Number("n", MOST_ROWS)},
    check=check_direct_ids,
    evolve=id_columns,
)
PARTITION: Final = Facts(
    applies=lambda c: bool(c["partition"]),
    excludes_direct=True,
    numbers={"n_active": Number(0, "n")},
    evolve=active_rows,
)
HIERARCHY: Final = Facts(
    applies=lambda c: bool(c["hierarchy"]),
    excludes_direct=True,
    columns={
        "parent": "n",
        "first_child": "n",
        "next_sibling": "n",
        "previous_sibling": "n",
    },
    check=check_tree,
    evolve=family_links,
)
INDIRECT: Final = Facts(
    applies=lambda c: bool(c["cold"] == "indirect"),
    excludes_direct=True,
    columns={"cold_row": "n", "cold.row": "n_cold"},
    numbers={"n_cold": Number(0, "n")},
    check=check_cold,  # cold rows are made with the fields that need them
)
RING: Final = Facts(
    applies=lambda c: "ring" in c,
    rare={"ring": range(1, MOST_ROWS + 1)},
    excludes_direct=True,
    most_rows=lambda c: int(c["ring"]),
    columns={"newer": "n", "older": "n"},
    numbers={"oldest": Number(0, NIL, NIL)},
    check=partial(check_one_chain, links=("newer", "older"), first="oldest"),
    evolve=partial(one_chain, key="ring", links=("newer", "older"), first="oldest"),
)

POLICIES: Final = (
    MANY,
    SLOT_IDS,
    DIRECT_IDS,
    PARTITION,
    RING,
    HIERARCHY,
    INDIRECT,
)
OF_FIELDS: Final = (UNIQUE,)


def policies_of(
    component: Document, policies: Sequence[Facts] = POLICIES
) -> Iterator[Facts]:
    """Yield those of a component."""
    return (facts for facts in policies if facts.applies(component))


def most_rows(component: Document) -> int:
    """Return how many rows a component may have."""
    bounds = (facts.most_rows(component) for facts in policies_of(component))
    return min(bounds, default=MOST_ROWS)


def policies_of_field(field: Document) -> Iterator[FieldFacts]:
    """Yield those of a field."""
    return (facts for facts in OF_FIELDS if field.get(facts.key))
