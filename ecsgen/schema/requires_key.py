"""The key `requires` of components: others that an entity with one has as well."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.schema.bundles import find_cycles
from ecsgen.schema.declarations import Components, Declaration
from ecsgen.schema.document_specs import ComponentSpec, WorldSpec
from ecsgen.schema.policy_keys import format_key


def check_requirements(components: Components, worlds: Sequence[Declaration[WorldSpec]]) -> None:
    """Report E501, E509 and E522."""
    chunked = {name for world in worlds[:1] for name in world.spec.chunked}
    for name, draft in components.items():
        required = draft.spec.requires
        if required and draft.spec.owner == "none":
            message = f"rows of {quote(name)} belong to no entity, which could have more"
            draft.report("E522", message, draft.key_mark("requires"))
        for index, other in enumerate(required):
            mark, known = draft.value_mark("requires", index), components.get(other)
            if other in required[:index]:
                draft.report("E509", f"{quote(name)} requires {quote(other)} twice", mark)
            elif known is None:
                hint = did_you_mean(other, components)
                message = f"{quote(name)} requires an unknown component {quote(other)}"
                draft.report("E501", message, mark, hint)
            elif why := _refusal(draft, known, chunked):
                draft.report("E522", f"{quote(name)} cannot require {quote(other)}: {why}", mark)
    requires = {name: draft.spec.requires for name, draft in components.items()}
    for cycle in find_cycles(requires):
        path, draft = " → ".join((*cycle, cycle[0])), components[cycle[0]]
        index = requires[cycle[0]].index(cycle[1 % len(cycle)])
        message = f"{quote(cycle[0])} requires itself: {quote(path, 200)[1:-1]}"
        draft.report("E522", message, draft.value_mark("requires", index))


def _refusal(
    draft: Declaration[ComponentSpec], required: Declaration[ComponentSpec], chunked: set[str]
) -> str:
    """Return why one component cannot require another, or nothing."""
    if required.spec.owner == "none":
        key = "owner" if required.spec.grid is None else "grid"
        return f"it has {format_key(required, key)} ({required.key_mark(key).place})"
    if draft.spec.owner == "none" or (draft.name in chunked) == (required.name in chunked):
        return ""
    first, second = sorted((draft.name, required.name), key=lambda name: name not in chunked)
    return f"{quote(first)} lives in archetypes, and {quote(second)} has a manager"
