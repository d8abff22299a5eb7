"""Putting a function in C before what joins the components of queries."""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import Any, Final

import numpy as np

from ._fast import Join, Loop, Method
from .known import Kind, knows_steps, static, uses_only
from .spec import slots_of

_STEPS: Final = {
    "_way": "_required len manager sorted range __getitem__ lookup_many owners sample_rows "
    "candidates is_scattered",
    "_blocks": "_required owners frozenset row_blocks candidates QueryBlock _union _any_of "
    "range len",
    "_narrow": "require _required isdisjoint keep entities alive_many _any_of keep_any "
    "_none_of drop enumerate _optional len find rows",
}
_JOIN: Final = """
    _living members _way _blocks _narrow count append range len _required _optional merged_rows
    QueryRows has_nil np empty uint64 concatenate sum QueryMatch
    """
_LOOP: Final = "_join data pop _steps state"
_LOOP_STEPS: Final = {
    "_steps": "_join entities _free _n_retired _version count _head changes changed_in_loop"
}
_SLOTS: Final = ("required", "optional", "any_of", "none_of")


def install_join(kind: Kind) -> None:
    """Put a function in C before `_join`, if what that does is known."""
    join = static(kind, "_join")
    if not isinstance(join, FunctionType) or not uses_only(join, _JOIN.split()):
        return
    if not knows_steps(kind, _STEPS):
        return
    modules = vars(sys.modules[kind.__module__])
    members = vars(sys.modules[modules["QueryMember"].__module__])
    alive = _alive(kind)
    if not isinstance(alive, Method):
        return
    slots = {name: f"_{name}" for name in _SLOTS}
    slots |= {name: name for name in ("entities", "state", "data")}
    plan = Join(
        {
            "kind": kind,
            "names": tuple(sorted({"_join", "changes", *_STEPS})),
            "parts": kind,
            "part_names": (),
            "finder": "lookup",
            "slots": slots_of(kind, slots)
            | slots_of(members["QueryMember"], {"manager": "manager"}),
            "entities": alive.plan,
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
    kind._join = Method(plan, join, "join")
    plan.seal()


def install_loop(kind: Kind) -> None:
    """Put a function in C before what makes the loop over a query, if that is known."""
    loop = static(kind, "_while_unchanged")
    join = static(sys.modules[kind.__module__].QueryJoin, "_join")
    if (
        isinstance(loop, FunctionType)
        and isinstance(join, Method)
        and uses_only(loop, _LOOP.split())
        and knows_steps(kind, _LOOP_STEPS)
    ):
        kind._while_unchanged = Method(join.plan, loop, "loop")


def _base(kind: Kind) -> Any:
    return import_module(f"{kind.__module__.rpartition('.')[0]}.base")


def _alive(kind: Kind) -> Any:
    """Return the package's `EntityManager.alive`."""
    package = kind.__module__.removesuffix(".queries.join")
    entities = import_module(f"{package}.entities.manager")
    return static(entities.EntityManager, "alive")
