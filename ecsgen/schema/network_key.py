"""The key `network` of components: rows that are links between entities."""

from __future__ import annotations

from dataclasses import replace

from ecsgen.diagnostics import quote
from ecsgen.model import BaseType, Field, Mark, Network
from ecsgen.model.typed_tree import ENTITY
from ecsgen.schema.declarations import Declaration
from ecsgen.schema.document_specs import ComponentSpec

_FORMS = "as in `{between: [a, b]}`, or `{from: entity, to: whom}`"


def build_network(draft: Declaration[ComponentSpec], fields: tuple[Field, ...]) -> Network | None:
    """Return the network of a component, if it has a valid one; reports E521."""
    spec = draft.spec.network
    if spec is None:
        return None
    mark = draft.key_mark("network")
    if spec.between is not None:
        named = [(n, draft.value_mark("network", "between", k)) for k, n in enumerate(spec.between)]
        keys = [key for key in ("from", "to") if key in draft.key_marks("network")]
        if keys:
            message = f"{quote(keys[0])} does not go with 'between': links lead both ways"
            draft.report("E521", message, draft.key_mark("network", keys[0]), hint=_FORMS)
            return None
    else:
        ends = {"from": spec.from_, "to": spec.to}
        named = [(n, draft.value_mark("network", key)) for key, n in ends.items() if n]
    if len(named) != 2:
        if not draft.is_incomplete("network"):
            message = f"a link has two ends, not {len(named)}"
            draft.report("E521", message, mark, hint=_FORMS)
        return None
    are_ends = [_is_end(draft, fields, name, mark) for name, mark in named]  # reports both
    if not all(are_ends):
        return None
    (first, _), (second, second_mark) = named
    if first == second:
        message = f"{quote(first)} is both ends: a link leads from one entity to another"
        draft.report("E521", message, second_mark)
        return None
    return Network(first, second, spec.between is not None)


def _is_end(
    draft: Declaration[ComponentSpec], fields: tuple[Field, ...], name: str, mark: Mark
) -> bool:
    if name == ENTITY:
        if draft.spec.owner == "none":
            message = "rows without owner have no 'entity'"
            draft.report("E521", message, mark, hint="name two fields of type entity")
        return draft.spec.owner != "none"
    field = draft.field(fields, name, "E521", quote(name), mark)
    if field is None:
        return False
    why = ""
    if field.type.base is not BaseType.ENTITY or field.type.shape:
        why = f"an end is of type entity, and {quote(name)} is {field.type.text}"
    elif draft.spec.cold == "indirect" and field.is_cold:
        why = f"{quote(name)} is in the second, cold buffer"
    if why:
        draft.report("E521", why, mark)
    return not why


def mark_ends(
    fields: tuple[Field, ...], network: Network | None, follows_deaths: bool
) -> tuple[Field, ...]:
    """Return fields of which the ends of links know that they are.

    `follows_deaths`: links that refer to an entity are looked for as soon as it dies.
    """
    if network is None:
        return fields
    return tuple(
        (
            replace(field, is_end=True, is_sorted=follows_deaths and field.on_delete != "keep")
            if field.name in network.ends
            else field
        )
        for field in fields
    )
