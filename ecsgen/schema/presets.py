"""Policies that a project has by default, where a component's schema says nothing."""

from __future__ import annotations

from collections.abc import Mapping

from ecsgen.schema.drafts import Draft, Drafts
from ecsgen.schema.language.component import ComponentSpec
from ecsgen.schema.language.world import WorldSpec
from ecsgen.schema.policies import agrees, has_cold


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
