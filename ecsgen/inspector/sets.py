"""What queries and groups consist of, in terms of components' names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ecsgen.inspector.chunk_tables import Chunked
from ecsgen.inspector.matching import Conditions
from ecsgen.inspector.subjects import Managed, Subject


def query_conditions(query: Any, subjects: Mapping[str, Subject]) -> Conditions:
    """Return what a query asks for."""
    if hasattr(query, "_ALL"):
        by_row = {s.row: s.name for s in subjects.values() if isinstance(s, Chunked)}
        parts = (query._ALL, query._ANY, query._NONE, query._OPTIONAL)
        return Conditions(*(tuple(by_row[row] for row in rows) for rows in parts))
    join = query._join
    names = {id(s.manager): s.name for s in subjects.values() if isinstance(s, Managed)}
    members = (join._required, join._any_of, join._none_of, join._optional)
    return Conditions(*(tuple(names[id(m.manager)] for m in part) for part in members))


def group_members(group: Any, subjects: Mapping[str, Subject]) -> dict[str, Subject]:
    """Return the components of a group."""
    names = {id(s.manager): s for s in subjects.values() if isinstance(s, Managed)}
    found = [names[id(member)] for member in group._members.values()]
    return {subject.name: subject for subject in found}
