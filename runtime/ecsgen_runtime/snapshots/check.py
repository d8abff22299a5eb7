"""Verified content: whether what a snapshot says can be true.

A file that has passed makes a world that no call can make run astray, compiled kernels included.
All of it takes time in proportion to the file, links and what is sorted times the logarithm.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .checks.cells import check_cells, check_lengths
from .checks.owners import check_chunked, check_generator, check_group, check_owned
from .checks.rows import CheckedRows, KnownEntities
from .checks.tensors import check_room, field_tensors
from .documents import Document, Saved, parsed_json, state_key
from .policies import policies_of, policies_of_field
from .reading import SnapshotFile
from .strategy import Saving


def checked_documents(
    file: SnapshotFile, saving: Saving, known: Document | None = None
) -> Saved:
    """Return what a file says, of which the documents and the tensors' types and shapes are
    checked, but no tensor is touched; O(header).

    `known`: its schema, if that is known already and right.
    """
    schema = known
    if schema is None:
        schema = parsed_json(file.metadata["schema"], "the schema", file.name)
        saving.check_schema(schema, file.name)
    state = parsed_json(file.metadata["state"], "the state", file.name)
    saved = Saved(file.name, schema, state, file.arrays)
    saving.check_state(saved)
    saving.check_tensors(saved)
    check_room(saved, file.nbytes)
    return saved


def check_content(saved: Saved, saving: Saving) -> None:
    """Refuse what cannot be true of the tensors; the documents are checked already."""
    known = saving.KNOWN_ENTITIES(saved)
    components = saved.schema["components"]
    managed: dict[str, CheckedRows] = {}
    for name, component in components.items():
        if component["in"] == "managers":
            module = component["module"]
            numbers = saved.state[state_key(module)]
            managed[name] = rows = CheckedRows(saved, component, module, numbers)
            _check_rows(rows, known, saving)
        check_field_cells(saved, component, "; verify=False loads it all the same")
        _check_relations(saved, component)
    for name, members in saved.schema["groups"].items():
        group = [managed[member] for member in members]
        check_group(group, known, name, saved.state["groups"][name])
    if "archetypes" in saved.state:
        check_chunked(saved, known)


def _check_rows(rows: CheckedRows, known: KnownEntities, saving: Saving) -> None:
    """Check what each of a component's policies has of its own."""
    if rows.component["owner"] == "entity":
        check_owned(rows, known)
        check_generator(rows)
    for facts in policies_of(rows.component, saving.POLICIES):
        if facts.check is not None:
            facts.check(rows)


def check_field_cells(saved: Saved, component: Document, way_out: str) -> None:
    """Refuse cells of a component's fields that users can have written past the checks, and no
    others; O(bytes). Messages end with `way_out`.
    """
    present = _present(saved, component)
    for tensor, column in field_tensors(saved, component):
        check_cells(saved, tensor, column.type, present, way_out)


def _check_relations(saved: Saved, component: Document) -> None:
    """Check what the cells of a component's fields must be to each other."""
    for tensor, column in field_tensors(saved, component):
        if column.type.base == "object" and tensor in saved.arrays:
            check_lengths(saved, tensor)
        for facts in policies_of_field(column.field):
            facts.check(saved, tensor, _present(saved, component))


def _present(saved: Saved, component: Document) -> NDArray[np.bool_] | None:
    """Return which rows are used, if there are holes."""
    if component["in"] != "managers" or component["lookup"] != "direct":
        return None
    owners: NDArray[Any] = saved.arrays[f"{component['module']}.entity"]
    present = owners != 0
    return None if present.all() else present
