"""`shards:` of the world document, and checks of neighbours that are rows of other shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ecsgen.diagnostics import did_you_mean, quote
from ecsgen.model import Component, Kernel, Mark, Shards, World
from ecsgen.model.typed_tree import ENTITY, FieldValue, NeighbourField
from ecsgen.schema.declarations import Components, Declaration
from ecsgen.schema.document_specs import ComponentSpec, EnumSpec, ShardsSpec, WorldSpec
from ecsgen.schema.names import module_name
from ecsgen.schema.policy_keys import check_owned, format_key, resolve_components


def check_ghost_fields(
    draft: Declaration[WorldSpec], world: World, components: Mapping[str, Component]
) -> None:
    """Report E517 for kernels that read fields of ghosts that ghosts do not have."""
    if world.shards is None:
        return
    check = _GhostCheck(draft, world, dict(world.shards.ghosts))
    for component in components.values():
        for kernel in component.kernels:
            check.kernel(kernel, component.name)
    for kernel in world.kernels:
        check.kernel(kernel)


def check_references(
    draft: Declaration[WorldSpec], drafts: Components, components: Mapping[str, Component]
) -> None:
    """Report E526 for rows that would change when an entity dies: it may be elsewhere."""
    if draft.spec.shards is None:
        return
    why = f"does not go with 'shards' ({draft.key_mark('shards').place})"
    for name, component in components.items():
        for field, effect in component.on_delete.items():
            mark = drafts[name].key_mark("fields", field, "on_delete")
            message = f"'on_delete: {effect}' {why}: who is not here may be elsewhere"
            drafts[name].report("E526", message, mark)


@dataclass(frozen=True, slots=True)
class _GhostCheck:
    draft: Declaration[WorldSpec]
    world: World
    ghost_fields: Mapping[str, tuple[str, ...]]

    def kernel(self, kernel: Kernel, component: str = "") -> None:
        """Report what a kernel asks ghosts for in vain; `component`: the one whose kernel it is."""
        for near in kernel.program.neighbourhoods:
            owner = near.position.owner or component
            if near.on or near.via or near.position.name not in self.ghost_fields.get(owner, ()):
                continue
            if isinstance(near.radius, FieldValue):
                message = f"{quote(kernel.name)} has a radius of each row, and sees no ghosts in it"
                hint = "give a number that no row exceeds, and ask `where=distance <= …`"
                self.draft.report("E517", message, kernel.marks["near"], hint=hint)
            elif near.is_in_space:
                if not component:
                    self.members(kernel, near.among or kernel.over)
                self.fields(kernel, near.name, component)

    def fields(self, kernel: Kernel, near: str, component: str) -> None:
        """Report fields of neighbours that ghosts do not have."""
        nodes = [node for node in kernel.program.nodes if isinstance(node, NeighbourField)]
        asked = {(node.owner or component, node.name): None for node in nodes if node.near == near}
        for owner, name in asked:
            if name == ENTITY or name in self.ghost_fields.get(owner, (name,)):
                continue
            field = quote(f"{owner}.{name}")
            message = f"{quote(kernel.name)} reads {field} of neighbours, and ghosts have none"
            hint = f"add {quote(name)} to the ghosts of {owner}"
            self.draft.report("E517", message, kernel.marks["near"], hint=hint)

    def members(self, kernel: Kernel, source: str) -> None:
        """Report a query or group that may or may not have a ghost."""
        query = self.world.query(source)
        lacking = [name for name in self.world.members_of(source) if name not in self.ghost_fields]
        if query is not None and (query.any or query.none):
            reason = f"it depends on {', '.join((*query.any, *query.none))}"
            hint = "ask rows of a group or query that only says 'all'"
        elif lacking:
            reason = f"ghosts have no {', '.join(lacking)}"
            hint = "add the component to the ghosts, if only with an empty list"
        else:
            return
        subject = f"{quote(kernel.name)} has neighbours of {quote(source)}"
        message = f"{subject}, but which ghosts are among them is unknown: {reason}"
        self.draft.report("E517", message, kernel.marks["near"], hint=hint)


GENERATION_BITS: Final = 20
"""The default with shards."""
WORLD_NAMES: Final = frozenset(("absorb", "extract"))
CLASS_NAMES: Final = frozenset(("Blocks", "Parcel", "ParcelError", "ShardError", "Shards"))


def build_shards(draft: Declaration[WorldSpec], components: Components) -> Shards | None:
    """Return the world's shards, None without them; reports E501, E507, E509, E515 and E516."""
    spec = draft.spec.shards
    if spec is None:
        return None
    check = _Check(draft, spec, components)
    check.ghosts()
    resolve_components(draft, components, spec.stay, "'stay'", ("shards", "stay"))
    check.objects()
    ghosts = tuple((name, tuple(fields)) for name, fields in spec.ghosts.items())
    return Shards(draft.spec.entity.shard_bits, ghosts, tuple(spec.stay))


def check_shard_names(
    draft: Declaration[WorldSpec], components: Components, enums: Sequence[Declaration[EnumSpec]]
) -> None:
    """Report E102 for names that only packages with shards reserve."""
    if draft.spec.shards is None:
        return
    classes = [("the world", draft.name, draft.value_mark("world"))]
    classes += [(f"the enum {quote(e.name)}", e.name, e.value_mark("enum")) for e in enums]
    members = []
    for name, component in components.items():
        what, mark = f"the component {quote(name)}", component.value_mark("component")
        classes.append((what, name, mark))
        members.append((what, module_name(name), mark))
    for key in ("queries", "groups", "kernels", "schedule"):
        names = getattr(draft.spec, key)
        members += [(f"the name {quote(name)}", name, draft.key_mark(key, name)) for name in names]
    taken = [claim for claim in classes if claim[1] in CLASS_NAMES]
    taken += [claim for claim in members if claim[1] in WORLD_NAMES]
    origin = f"shards on line {draft.key_mark('shards').line}"
    for what, name, mark in taken:
        message = f"{what} would take the place of {quote(name)}, which is there for {origin}"
        draft.report("E102", message, mark)


@dataclass(frozen=True, slots=True)
class _Check:
    draft: Declaration[WorldSpec]
    spec: ShardsSpec
    components: Components

    def ghosts(self) -> None:
        for name, fields in self.spec.ghosts.items():
            mark = self.draft.key_mark("shards", "ghosts", name)
            component = self.components.get(name)
            if component is None:
                message = f"unknown component {quote(name)} in the ghosts"
                self.draft.report("E501", message, mark, hint=did_you_mean(name, self.components))
            if component is None or not self._can_be_ghost(component, mark):
                continue
            seen: set[str] = set()
            for number, field in enumerate(fields):
                field_mark = self.draft.value_mark("shards", "ghosts", name, number)
                if field in seen:
                    message = f"{quote(field)} is listed twice among the ghosts of {quote(name)}"
                    self.draft.report("E509", message, field_mark)
                seen.add(field)
                self._ghost_field(component, field, field_mark)

    def _can_be_ghost(self, component: Declaration[ComponentSpec], mark: Mark) -> bool:
        before, chunked = len(self.draft.diagnostics), self.draft.spec.chunked
        check_owned(component, "the ghosts", mark)
        if component.spec.instances == "many":
            instances = format_key(component, "instances")
            why = f"it has {instances} ({component.key_mark('instances').place})"
            self._refuse(component.name, why, mark)
        if component.name in chunked:
            path = ("archetypes", "components", chunked.index(component.name))
            why = f"it lives in archetypes since line {self.draft.value_mark(*path).line}"
            self._refuse(component.name, why, mark)
        return len(self.draft.diagnostics) == before

    def _refuse(self, name: str, why: str, mark: Mark) -> None:
        self.draft.report("E515", f"{quote(name)} cannot be among the ghosts: {why}", mark)

    def _ghost_field(self, component: Declaration[ComponentSpec], name: str, mark: Mark) -> None:
        field = component.spec.long_fields.get(name)
        if field is None:
            message = f"{quote(component.name)} has no field {quote(name)}"
            hint = did_you_mean(name, component.spec.fields_)
            self.draft.report("E515", message, mark, hint=hint)
        elif field.type == "object" or field.type.startswith("str["):
            location = component.key_mark("fields", name).place
            self._refuse(name, f"it is of type {field.type} ({location})", mark)
        elif field.is_cold and component.spec.cold == "indirect":
            location = component.key_mark("cold").place
            self._refuse(name, f"it is cold, with 'cold: indirect' ({location})", mark)

    def objects(self) -> None:
        """Report E516 for objects without 'objects: pickle' or 'stay'."""
        if self.spec.objects == "pickle":
            return
        shards = self.draft.key_mark("shards")
        for component in self.components.values():
            if component.name in self.spec.stay:
                continue
            for name, field in component.spec.long_fields.items():
                if field.type != "object":
                    continue
                message = f"{quote(name)} is an object, which cannot leave its process, as "
                message += f"entities do with 'shards' ({shards.place})"
                hint = f"add {component.name} to 'stay', or 'objects: pickle' to the shards"
                self.draft.report("E516", message, component.key_mark("fields", name), hint=hint)
