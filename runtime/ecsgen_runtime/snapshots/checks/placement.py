"""Members of groups in a snapshot, which are in step, and generators of random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ...handles import EntityArray
from .entities import KnownEntities
from .rows import CheckedRows
from .tensors import RNG_WORDS

_FEW: Final = 16
"""Where fewer than one index in 16 is concerned, none of the others is touched."""


def check_generator(rows: CheckedRows) -> None:
    """Refuse the state of a Mersenne Twister that can be none."""
    words = rows.saved.arrays.get(f"{rows.module}._rng")
    if words is None:
        return
    last = RNG_WORDS - 1
    if int(words[last]) > last:
        rows.refuse(f"{words[last]} is no position among {last} words", "_rng", last)
    if not words[:last].any():
        rows.refuse("no generator ever gets there", "_rng", 0)


def check_group(
    members: Sequence[CheckedRows], known: KnownEntities, name: str, n: int
) -> None:
    """Refuse a group whose rows are not in step, or that lacks who has all members; O(n)."""
    first, *others = members
    owners: EntityArray = first.column("entity")
    for member in others:
        other = member.column("entity")[:n] != owners[:n]
        if other.any():
            row = int(other.argmax())
            member.refuse(f"not in step with {first.module} in {name}", "entity", row)
    outside: EntityArray = min((m.column("entity")[n:] for m in members), key=len)
    for member in members:
        outside = _among(outside, member.column("entity")[n:], known)
    if len(outside):
        row = int((owners == outside[0]).argmax())
        first.refuse(f"has all of {name}, but is not in it", "entity", row)


def _among(
    wanted: EntityArray, owners: EntityArray, known: KnownEntities
) -> EntityArray:
    """Return those of the wanted entities that are owners; nearly all others by their index."""
    if not len(wanted):
        return wanted
    if (len(wanted) + len(owners)) * _FEW < len(known):
        return wanted[np.isin(wanted, owners)]
    is_owner = np.zeros(len(known), np.bool_)
    is_owner[known.indices(owners)] = True
    near = wanted[is_owner[known.indices(wanted)]]
    return near[np.isin(near, owners)]
