"""The key `space` of components: which field has the places, and how far it is around."""

from __future__ import annotations

from math import isfinite

from ecsgen.diagnostics import Diagnostics, did_you_mean, quote
from ecsgen.model import Base, Field, Space
from ecsgen.schema.drafts import Draft
from ecsgen.schema.language.component_keys import ComponentSpec, SpaceSpec

_SHAPES = ((2,), (3,))


def build_space(
    draft: Draft[ComponentSpec], fields: tuple[Field, ...], diagnostics: Diagnostics
) -> Space | None:
    """The space of a component, if it has one that is right; reports E513."""
    spec = draft.spec.space
    if spec is None:
        return None
    field = _field(draft, spec, fields, diagnostics)
    if field is None:
        return None
    wrap = _wrap(draft, spec, field, diagnostics)
    return None if wrap is None else Space(field.name, wrap)


def _field(
    draft: Draft[ComponentSpec],
    spec: SpaceSpec,
    fields: tuple[Field, ...],
    diagnostics: Diagnostics,
) -> Field | None:
    mark = draft.value("space", "field")
    field = next((one for one in fields if one.name == spec.field), None)
    if field is None:
        node = draft.node.at("fields")
        was_refused = node is not None and (spec.field in node.keys or not node.complete)
        if not was_refused and draft.node.complete:
            hint = did_you_mean(spec.field, [one.name for one in fields])
            diagnostics.add("E513", f"the space {quote(spec.field)} is no field", mark, hint=hint)
        return None
    if field.type.base is not Base.FLOAT or field.type.shape not in _SHAPES:
        place = field.marks["type"]
        message = (
            f"a space is f32 or f64 of shape [2] or [3], and {quote(field.name)} is "
            f"{field.type.text} on line {place.line}"
        )
        diagnostics.add("E513", message, mark)
        return None
    if draft.spec.cold == "indirect" and field.is_cold:
        message = f"the space {quote(field.name)} is in the second, cold buffer"
        hint = "only some rows have it there; tag it hot, or keep it inline"
        diagnostics.add("E513", message, mark, hint=hint)
        return None
    return field


def _wrap(
    draft: Draft[ComponentSpec], spec: SpaceSpec, field: Field, diagnostics: Diagnostics
) -> tuple[float, ...] | None:
    axes = field.type.shape[0]
    if spec.wrap is None:
        return (0.0,) * axes
    node = draft.node.at("space", "wrap")
    if node is not None and not node.complete:
        return None
    if len(spec.wrap) != axes:
        message = f"'wrap' has {len(spec.wrap)} sizes, and {quote(field.name)} {axes} axes"
        hint = "0 leaves an axis open"
        diagnostics.add("E513", message, draft.value("space", "wrap"), hint=hint)
        return None
    wrong = [k for k, size in enumerate(spec.wrap) if not (isfinite(size) and size >= 0)]
    for place in wrong:
        message = f"a size is a finite number from 0, not {spec.wrap[place]}"
        diagnostics.add("E513", message, draft.value("space", "wrap", place))
    return None if wrong else tuple(float(size) for size in spec.wrap)
