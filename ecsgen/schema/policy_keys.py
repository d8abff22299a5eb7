"""Keys of one component that contradict each other, and policies that a project has by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.model import Mark
from ecsgen.policies import list_policies
from ecsgen.policies.policy import Fault
from ecsgen.schema.declarations import Components, Declaration, Declarations
from ecsgen.schema.document_specs import ComponentSpec, WorldSpec


def check_policies(draft: Declaration[ComponentSpec]) -> None:
    """Report E401 and E402; a diagnostic about two keys names both lines."""
    for pair in _conflicts(draft.spec):
        first, second = sorted(pair, key=lambda key: draft.key_mark(key).start)
        message = (
            f"{format_key(draft, second)} does not go with {format_key(draft, first)} "
            f"on line {draft.key_mark(first).line}"
        )
        draft.report("E401", message, draft.key_mark(second))
    for code, key, message, hint, beside, lacks in _faults(draft.spec):
        if lacks and (draft.is_incomplete() or draft.is_incomplete(lacks)):
            continue
        if beside:
            message += f" on line {draft.key_mark(beside).line}"
        draft.report(code, message, draft.key_mark(*key), hint=hint)


def _conflicts(spec: ComponentSpec) -> set[tuple[str, str]]:
    return {pair for policy in list_policies() for pair in policy.find_conflicts(spec)}


def _faults(spec: ComponentSpec) -> set[Fault]:
    return {fault for policy in list_policies() for fault in policy.find_faults(spec)}


def is_set(spec: ComponentSpec, key: str) -> bool:
    """Return True if a key has another value than its default."""
    return bool(getattr(spec, key) != type(spec).model_fields[key].default)


def format_key(draft: Declaration[ComponentSpec], key: str) -> str:
    """Return a key with its value as in a schema: 'lookup: direct'."""
    value: Any = getattr(draft.spec, key)
    if isinstance(value, bool):
        value = "true" if value else "false"
    return f"'{key}: {value}'" if isinstance(value, (str, int)) else f"'{key}'"


def check_owned(draft: Declaration[ComponentSpec], where: str, mark: Mark) -> None:
    """Report E507 at `mark` for a component whose rows belong to no entity."""
    if draft.spec.owner == "none":
        key = "owner" if draft.spec.grid is None else "grid"
        message = f"{quote(draft.name)} cannot be in {where}: it has {format_key(draft, key)}"
        draft.report("E507", f"{message} ({draft.key_mark(key).place})", mark)


def resolve_components(
    draft: Declaration[WorldSpec],
    components: Components,
    names: Sequence[str],
    where: str,
    path: tuple[str, ...],
) -> list[tuple[Declaration[ComponentSpec], Mark]]:
    """Return listed components, each once, with their marks; reports E501, E507 and E509."""
    resolved: dict[str, tuple[Declaration[ComponentSpec], Mark]] = {}
    for index, name in enumerate(names):
        mark = draft.value_mark(*path, index)
        component = components.get(name)
        if component is None:
            hint = did_you_mean(name, components)
            draft.report("E501", f"unknown component {quote(name)} in {where}", mark, hint=hint)
        elif name in resolved:
            draft.report("E509", f"{quote(name)} is listed twice in {where}", mark)
        else:
            if component.spec.grid is None or path[0] == "queries":  # else E518 says it
                check_owned(component, where, mark)
            resolved[name] = component, mark
    return list(resolved.values())


def apply_defaults(drafts: Declarations, defaults: Mapping[str, str | bool]) -> None:
    """Give components the project's defaults that do not contradict their keys.

    Components of archetypes have no policies, and grids none but that their rows are unowned.
    """
    worlds = [draft.spec for draft in drafts.worlds]
    chunked = {name for world in worlds for name in world.chunked}
    grouped = {name for world in worlds for group in world.groups.values() for name in group}
    for draft in drafts.components:
        if draft.spec.grid is not None:
            draft.spec = draft.spec.model_copy(update={"owner": "none"})
        elif draft.name not in chunked:
            for key, value in defaults.items():
                is_written = key in draft.spec.model_fields_set or getattr(draft.spec, key) == value
                spec = draft.spec.model_copy(update={key: value})
                is_allowed = not _conflicts(spec) and _faults(spec) <= _faults(draft.spec)
                is_allowed = is_allowed and not (value == "direct" and draft.name in grouped)
                if is_allowed and not is_written:
                    draft.spec = spec
                    draft.by_default = (*draft.by_default, key)


def use_all_cores(drafts: Declarations) -> None:
    """Set `parallel` of kernels whose schemas do not say whether they use all cores."""
    declared: list[Declaration[Any]] = [*drafts.components, *drafts.worlds]
    for draft in declared:
        kernels = dict(draft.spec.kernels)
        for name, kernel in kernels.items():
            if "parallel" not in kernel.model_fields_set:
                kernels[name] = kernel.model_copy(update={"parallel": True})
        draft.spec = draft.spec.model_copy(update={"kernels": kernels})
