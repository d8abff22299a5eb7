"""The keys `grid` and `on` of components: rows that are cells, and rows that stand on them."""

from __future__ import annotations

from math import prod
from typing import Final

from ecsgen.diagnostics import quote
from ecsgen.model import BaseType, Field, Grid, Mark, Occupancy
from ecsgen.policies import field_words
from ecsgen.schema.declarations import Components, Declaration
from ecsgen.schema.document_specs import ComponentSpec, GridSpec, OnSpec, WorldSpec
from ecsgen.schema.policy_keys import format_key, is_set

MOST_AXES: Final = 3
MAX_CELLS: Final = 2**31 - 1
_BESIDE_GRID: Final = {"component", "grid", "fields", "derived", "kernels", "reductions"} | {
    *("doc", "renamed_from", "removed")
}
_NO_CELL: Final = "cells are all there from the beginning and never move"
_FORBIDS_STANDING: Final = {"space": "", "partition": "", "instances": "many", "lookup": "direct"}
"""Key → the value that does not go with `on`; empty: any value but the default."""


def build_grid(draft: Declaration[ComponentSpec]) -> Grid | None:
    """Return the grid of a component, if it has a valid one; reports E518."""
    spec = draft.spec.grid
    if spec is None:
        return None
    _check_beside(draft)
    _check_cell_fields(draft)
    shape = _shape(draft, spec)
    if shape is None:
        return None
    wrap = _wrap(draft, spec, len(shape))
    if spec.hood == "hex" and len(shape) != 2:
        message = hexagon_message(draft.spec.component, len(shape))
        draft.report("E518", message, draft.value_mark("grid", "hood"))
        return None
    return None if wrap is None else Grid(shape, wrap, spec.hood)


def hexagon_message(grid: str, axes: int) -> str:
    """Return the message for hexagons on a grid of other than two axes."""
    return f"hexagons have two axes, and {quote(grid)} has {axes}"


def _check_beside(draft: Declaration[ComponentSpec]) -> None:
    """Report keys about owners, or about rows that come, go or move."""
    for key in draft.node.keys:
        if key in _BESIDE_GRID or key not in type(draft.spec).model_fields:
            continue
        line = draft.key_mark("grid").line
        message = f"{format_key(draft, key)} does not go with 'grid' on line {line}"
        draft.report("E518", message, draft.key_mark(key), hint=_NO_CELL)


def _check_cell_fields(draft: Declaration[ComponentSpec]) -> None:
    """Report fields whose values are stored in more than a column, or with a reserved name."""
    for name in _names(draft):
        if name in ("offset", "distance"):
            _report_taken(draft, name, f"neighbours have {quote(name)}")
    for name, form in draft.spec.long_fields.items():
        for key, word in field_words(form, of_cells=True):
            message = f"the field {quote(name)} of cells cannot be {word}"
            draft.report("E518", message, draft.key_mark("fields", name, key))


def _names(draft: Declaration[ComponentSpec]) -> tuple[str, ...]:
    """Return the names of fields and of derived values."""
    return (*draft.spec.fields_, *draft.spec.derived)


def _report_taken(draft: Declaration[ComponentSpec], name: str, why: str) -> None:
    is_field = name in draft.spec.fields_
    what, key = ("field", "fields") if is_field else ("derived value", "derived")
    message = f"{quote(name)} cannot be the name of a {what} of a grid: {why}"
    draft.report("E103", message, draft.key_mark(key, name))


def _shape(draft: Declaration[ComponentSpec], spec: GridSpec) -> tuple[int, ...] | None:
    if draft.is_incomplete("grid", "shape"):
        return None
    mark = draft.value_mark("grid", "shape")
    if not 1 <= len(spec.shape) <= MOST_AXES:
        draft.report("E518", f"a grid has 1 to {MOST_AXES} axes, not {len(spec.shape)}", mark)
        return None
    wrong = [axis for axis, size in enumerate(spec.shape) if size < 1]
    for axis in wrong:
        message = f"an axis has at least one cell, not {spec.shape[axis]}"
        draft.report("E518", message, draft.value_mark("grid", "shape", axis))
    if not wrong and prod(spec.shape) > MAX_CELLS:
        draft.report("E518", f"the grid has {prod(spec.shape)} cells; 2^31 - 1 are the most", mark)
        return None
    return None if wrong else tuple(spec.shape)


def _wrap(draft: Declaration[ComponentSpec], spec: GridSpec, axes: int) -> tuple[bool, ...] | None:
    if isinstance(spec.wrap, bool):
        return (spec.wrap,) * axes
    if draft.is_incomplete("grid", "wrap"):
        return None
    if len(spec.wrap) != axes:
        message = f"'wrap' has {len(spec.wrap)} values, and the grid {axes} axes"
        hint = "true or false alone is for all of them"
        draft.report("E518", message, draft.value_mark("grid", "wrap"), hint=hint)
        return None
    return tuple(spec.wrap)


def build_occupancy(
    draft: Declaration[ComponentSpec], fields: tuple[Field, ...], components: Components
) -> Occupancy | None:
    """Return the occupancy of a component, if it has a valid one; reports E519."""
    spec = draft.spec.on
    if spec is None:
        return None
    for key, value in _FORBIDS_STANDING.items():
        if getattr(draft.spec, key) == value if value else is_set(draft.spec, key):
            on = draft.key_mark("on").line
            message = f"{format_key(draft, key)} does not go with 'on' on line {on}"
            draft.report("E519", message, draft.key_mark(key))
    name, capacity = (spec.field, spec.capacity) if isinstance(spec, OnSpec) else (spec, None)
    if capacity is not None and capacity < 1:
        message = f"a capacity is at least 1, not {capacity}; without one it is unlimited"
        draft.report("E519", message, draft.value_mark("on", "capacity"))
    mark = draft.value_mark("on", "field") if isinstance(spec, OnSpec) else draft.value_mark("on")
    field = draft.field(fields, name, "E519", quote(name), mark)
    if field is None or _is_no_cell_reference(draft, field, components, mark):
        return None
    grid = components[field.type.target]
    if draft.name in _names(grid):
        _report_taken(grid, draft.name, f"{quote(draft.name)} stands on its cells")
    return Occupancy(name, field.type.target, capacity or 0)


def _is_no_cell_reference(
    draft: Declaration[ComponentSpec], field: Field, components: Components, mark: Mark
) -> bool:
    target = components.get(field.type.target)
    is_cell = field.type.base is BaseType.ID and target is not None and target.spec.grid is not None
    why = ""
    if not is_cell or field.type.shape:
        why = f"'on' needs an id<Grid> without a shape, and {quote(field.name)} is "
        why += field.type.text
    elif field.split:
        why = f"{quote(field.name)} is split"
    elif field.options:
        _, word = field_words(draft.spec.long_fields[field.name])[0]
        why = f"{quote(field.name)} cannot be {word}: it is the cell of a row"
    elif draft.spec.cold == "indirect" and "cold" in field.tags:
        why = f"{quote(field.name)} is in the second, cold buffer"
    if why:
        draft.report("E519", why, mark)
    return bool(why)


def check_grids(draft: Declaration[WorldSpec], components: Components) -> None:
    """Report E518 and E519 for components with `grid` or `on` in archetypes, groups or shards."""
    spec = draft.spec
    homes = {"the archetypes": spec.archetypes.components if spec.archetypes else ()}
    homes |= {f"the group {quote(name)}": names for name, names in spec.groups.items()}
    for name, component in components.items():
        for code, key in (("E518", "grid"), ("E519", "on")):
            if getattr(component.spec, key) is None:
                continue
            where = [home for home, names in homes.items() if name in names]
            if key == "on":
                where = [home for home in where if not home.startswith("the group")]
            if spec.shards is not None:
                where.append("a world with 'shards'")
            for home in where:
                message = f"{quote(name)} has {quote(key)}, so it cannot be in {home}"
                draft.report(code, message, component.key_mark(key))
