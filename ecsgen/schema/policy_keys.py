"""Keys of one component that contradict each other, and policies by default."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Mark
from ecsgen.policies import every
from ecsgen.schema.drafts import Draft, Drafts
from ecsgen.schema.language.component_keys import ComponentSpec, FieldSpec, HierarchySpec
from ecsgen.schema.language.world_keys import WorldSpec

# --- Keys of one component that contradict each other: a diagnostic names both lines --------------


def agrees(spec: ComponentSpec) -> bool:
    """Whether no two policies contradict each other."""
    return not any(_contradictions(spec))


def has_cold(spec: ComponentSpec) -> bool:
    """Whether a field is tagged cold."""
    return any("cold" in form.tags for form in spec.fields_.values() if isinstance(form, FieldSpec))


def check_policies(draft: Draft[ComponentSpec], diagnostics: Diagnostics) -> None:
    """Report E401 and E402."""
    spec = draft.spec
    for left, right in _contradictions(spec):
        _report(draft, left, right, diagnostics)
    if isinstance(spec.hierarchy, HierarchySpec) and spec.hierarchy.orphans == "die":
        _check_mortals(draft, diagnostics)
    if not draft.node.complete:
        return
    fields = draft.node.at("fields")
    if spec.cold == "indirect" and not has_cold(spec) and (fields is None or fields.complete):
        message = "'cold: indirect' without a field that is tagged cold"
        diagnostics.add("E402", message, draft.key("cold"))
    if spec.owner == "none" and not spec.fields_ and (fields is None or fields.complete):
        message = "'owner: none' without fields: there would be nothing in a row"
        diagnostics.add("E402", message, draft.key("owner"))
    given = {("kernels", name): kernel.model_fields_set for name, kernel in spec.kernels.items()}
    given |= {("reductions", name): one.model_fields_set for name, one in spec.reductions.items()}
    for path, keys in given.items():
        if "rows" in keys and spec.partition == "off":
            message = "'rows' without a 'partition': all rows are the same"
            diagnostics.add("E402", message, draft.key(*path, "rows"))


def _check_mortals(draft: Draft[ComponentSpec], diagnostics: Diagnostics) -> None:
    """Report E401 for rows whose entities are to die, and that have none."""
    if draft.spec.owner == "none":
        owner = draft.key("owner")
        message = f"'orphans: die' does not go with 'owner: none' on line {owner.line}"
        hint = "use 'orphans: destroy', for these rows have no entities"
        diagnostics.add("E401", message, draft.key("hierarchy", "orphans"), hint=hint)


def _contradictions(spec: ComponentSpec) -> Iterator[tuple[str, str]]:
    """Yield pairs of keys that do not go together."""
    return (pair for policy in every() for pair in policy.clashes(spec))


def other(spec: ComponentSpec, key: str) -> bool:
    """Whether a key has any value but its default."""
    return bool(getattr(spec, key) != type(spec).model_fields[key].default)


def _report(draft: Draft[ComponentSpec], left: str, right: str, diagnostics: Diagnostics) -> None:
    """Report two keys at the one that was written second."""
    first, second = sorted((left, right), key=lambda key: _order(draft.key(key)))
    message = (
        f"{shown(draft, second)} does not go with {shown(draft, first)} "
        f"on line {draft.key(first).line}"
    )
    diagnostics.add("E401", message, draft.key(second))


def shown(draft: Draft[ComponentSpec], key: str) -> str:
    """A key as in the text: 'lookup: direct'."""
    value: Any = getattr(draft.spec, key)
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"'{key}: {value}'" if isinstance(value, (str, int)) else f"'{key}'"


def _order(mark: Mark) -> tuple[int, int]:
    return mark.line, mark.column


def check_owned(
    draft: Draft[ComponentSpec], where: str, mark: Mark, diagnostics: Diagnostics
) -> None:
    """Report E507 at `mark` for a component whose rows belong to no entity."""
    if draft.spec.owner == "none":
        owner = draft.key("owner")
        message = f"{quote(draft.name)} cannot be in {where}: it has {shown(draft, 'owner')}"
        diagnostics.add("E507", f"{message} ({owner.path}:{owner.line})", mark)


# --- Policies that a project has by default, where a component's schema says nothing --------------


def preset(drafts: Drafts, defaults: Mapping[str, str | bool]) -> None:
    """Give components the project's defaults, as far as these agree with what is written.

    Components of archetypes have no policies, so they get none.
    """
    worlds = [draft.spec for draft in drafts.worlds]
    chunked = {name for world in worlds for name in _chunked(world)}
    grouped = {name for world in worlds for group in world.groups.values() for name in group}
    for draft in drafts.components:
        if draft.name not in chunked:
            for key, value in defaults.items():
                if not (value == "direct" and draft.name in grouped):
                    _preset(draft, key, value)


def _chunked(world: WorldSpec) -> list[str]:
    return world.archetypes.components if world.archetypes else []


def _preset(draft: Draft[ComponentSpec], key: str, value: str | bool) -> None:
    if key in draft.spec.model_fields_set or getattr(draft.spec, key) == value:
        return
    spec = draft.spec.model_copy(update={key: value})
    if agrees(spec) and (value != "indirect" or has_cold(spec)):
        draft.spec = spec
        draft.by_default = (*draft.by_default, key)
