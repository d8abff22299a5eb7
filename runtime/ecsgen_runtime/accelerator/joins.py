"""Putting a function in C before what joins the components of queries."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from ._fast import Join, Loop, Method
from .known import Kind, static
from .spec import slots_of

_SLOTS: Final = ("required", "optional", "any_of", "none_of")


def install_join(kind: Kind) -> None:
    """Put a function in C before `_join`."""
    modules = vars(sys.modules[kind.__module__])
    members = vars(sys.modules[modules["QueryMember"].__module__])
    slots = {name: f"_{name}" for name in _SLOTS}
    slots |= {name: name for name in ("entities", "state", "data")}
    plan = Join(
        {
            "kind": kind,
            "names": ("_blocks", "_join", "_narrow", "_way", "changes"),
            "parts": kind,
            "part_names": (),
            "finder": "lookup",
            "slots": slots_of(kind, slots)
            | slots_of(members["QueryMember"], {"manager": "manager"}),
            "alive": "alive",
            "member": members["QueryMember"],
            "sparse_member": members["QuerySparseMember"],
            "rows": modules["QueryRows"],
            "match": modules["QueryMatch"],
            "empty": np.empty,
            "dtype": np.intp,
            "loop": Loop,
            "join": "_join",
            "version": sys.intern("_version"),
            "changes": "changes",
            "changed": _base(kind).changed_in_loop,
        }
    )
    kind._join = Method(plan, static(kind, "_join"), "join")
    plan.seal()


def install_loop(kind: Kind) -> None:
    """Put a function in C before what makes the loop over a query, if what joins has one."""
    join = static(sys.modules[kind.__module__].QueryJoin, "_join")
    if isinstance(join, Method):
        loop = static(kind, "_while_unchanged")
        kind._while_unchanged = Method(join.plan, loop, "loop")


def _base(kind: Kind) -> Any:
    return sys.modules[kind.__module__]
