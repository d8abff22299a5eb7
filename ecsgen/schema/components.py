"""Component documents to checked components, and the check that rows fit into a chunk."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite, prod
from typing import Any, Final

from ecsgen.diagnostics import closest, quote
from ecsgen.model import (
    BaseType,
    Component,
    Default,
    Field,
    FieldType,
    Kernel,
    Mark,
    Reduction,
    Space,
)
from ecsgen.model.columns import chunk_row_bytes, chunk_rows, round_to_cache_lines, split_names
from ecsgen.model.typed_tree import PARENT
from ecsgen.policies import list_keys, max_rows
from ecsgen.policies.policy import collect_options
from ecsgen.policies.references import KEY as ON_DELETE
from ecsgen.schema.declarations import Components, Declaration, NameRegistry
from ecsgen.schema.defaults import check_default, empty_default
from ecsgen.schema.derived_values import type_derived_values
from ecsgen.schema.document_specs import ComponentSpec, FieldSpec, SpaceSpec, WorldSpec
from ecsgen.schema.grid_keys import build_grid, build_occupancy
from ecsgen.schema.kernel_declarations import build_kernel, build_reduction
from ecsgen.schema.kernel_typing import InvalidNames
from ecsgen.schema.names import DERIVED_CLASSES, FIELD_NAMES, check_member, module_name
from ecsgen.schema.network_key import build_network, mark_ends
from ecsgen.schema.policy_keys import check_policies
from ecsgen.schema.type_parser import TypeScope, parse_type
from ecsgen.schema.validation import BadValueError

_TAG: Final = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(?:_[a-z][a-z0-9]*)*")
_BUILT_IN_TAGS: Final = ("hot", "cold")
_KEYS: Final = {key.name: key for key in list_keys("field")}
_PLACES: Final = ((), (1,), (2,), (3,))
"""Shapes of fields with positions."""


def build_component(
    draft: Declaration[ComponentSpec], drafts: Components, types: TypeScope
) -> Component:
    """Return the component with its valid fields; reports E10x, E112, E40x and E51x."""
    spec = draft.spec
    builder = _Builder(draft, types)
    fields = builder.fields()
    kernels, reductions = builder.methods()
    builder.claim_derived(fields)
    if spec.grid is None:
        check_policies(draft)
    occupancy = build_occupancy(draft, fields, drafts)
    if occupancy is not None:
        reference = occupancy.field
        fields = tuple(replace(f, is_cell_reference=f.name == reference) for f in fields)
    network = build_network(draft, fields)
    component = Component(
        name=draft.name,
        module=module_name(draft.name),
        fields=mark_ends(fields, network, spec.destroy == "callback"),
        doc=spec.doc,
        owner=spec.owner,
        instances=spec.instances,
        lookup=spec.lookup,
        destroy=spec.destroy,
        release=spec.release or spec.destroy == "callback",
        add=spec.add,
        ids=spec.has_ids and spec.grid is None,
        partition=spec.start,
        hierarchy=spec.orphans,
        cold=spec.cold,
        reserve=round_to_cache_lines(spec.reserve),
        options=collect_options(list_keys("component"), spec),
        capacity=spec.capacity,
        space=_space(draft, fields),
        grid=build_grid(draft),
        on=occupancy,
        network=network,
        requires=tuple(dict.fromkeys(spec.requires)),
        kernels=kernels,
        reductions=reductions,
        source=draft.source,
        by_default=draft.by_default,
        marks=draft.marks("component"),
    )
    invalid = collect_invalid_names(draft, component)
    derived = type_derived_values(draft, component, invalid, types)
    return replace(component, derived=derived, max_rows=max_rows(component))


def field_default(
    draft: Declaration[Any], path: tuple[str, str], type_: FieldType, types: TypeScope
) -> Default:
    """Return the default of the field or setting at a path, complete; reports E106 to E108."""
    node, enum = draft.node.at(*path, "default"), types.enum_of(type_)
    if node is not None:
        try:
            return check_default(node, type_, enum)
        except BadValueError as error:
            draft.report_error(error, node.mark, f"{path[0][:-1]} {quote(path[1])}: ")
    return empty_default(type_, enum)


def collect_invalid_names(draft: Declaration[ComponentSpec], component: Component) -> InvalidNames:
    """Return the names that were reported while a component was built."""
    written = draft.key_marks("fields").keys() | draft.key_marks("derived").keys()
    names = written - {value.name for value in component.readable}
    names |= draft.key_marks("reductions").keys() - {r.name for r in component.reductions}
    if not component.hierarchy and draft.is_incomplete():
        names.add(PARENT)
    more = draft.is_incomplete("fields") if draft.node.at("fields") else draft.is_incomplete()
    return InvalidNames(frozenset(names), more or draft.is_incomplete("derived"))


class _Builder:
    """One component's fields, kernels and reductions, which share one space of names."""

    def __init__(self, draft: Declaration[ComponentSpec], types: TypeScope) -> None:
        self._draft = draft
        self._types = types
        self._claims = NameRegistry(draft.diagnostics)

    def fields(self) -> tuple[Field, ...]:
        fields = []
        for name, spec in self._draft.spec.long_fields.items():
            self._claim(name, "a field", self._draft.key_mark("fields", name))
            field = self._field(name, spec, isinstance(self._draft.spec.fields_[name], str))
            if field is not None:
                fields.append(field)
        return tuple(fields)

    def _field(self, name: str, spec: FieldSpec, is_short: bool) -> Field | None:
        path = ("fields", name)
        mark = self._draft.value_mark(*path) if is_short else self._draft.value_mark(*path, "type")
        if not is_short:
            self._check_tags(name, spec)
        try:
            type_ = parse_type(spec.type, self._types, f"field {quote(name)}")
        except BadValueError as error:
            self._draft.report_error(error, mark)
            return None
        if spec.split and (not type_.shape or not type_.is_computed):
            message = f"the field {quote(name)} has no shape to split"
            self._draft.report("E109", message, self._draft.key_mark(*path, "split"))
        self._check_keys(name, spec, type_)
        return Field(
            name=name,
            type=type_,
            default=field_default(self._draft, path, type_, self._types),
            doc=spec.doc,
            unit=spec.unit,
            tags=tuple(spec.tags),
            split=spec.split,
            on_delete=getattr(spec, ON_DELETE.name),
            options=collect_options(list_keys("field"), spec),
            marks={"type": mark, **self._draft.key_marks(*path), "": self._draft.key_mark(*path)},
        )

    def _check_keys(self, name: str, spec: FieldSpec, type_: FieldType) -> None:
        draft, path = self._draft, ("fields", name)
        written = [k for k in list_keys("field") if k.name in spec.model_fields_set]
        for key in (k for k in written if k.is_attribute or getattr(spec, k.name) != k.off):
            refusal = key.reject(draft.spec, spec, type_)
            if refusal is not None:
                mark = draft.key_mark(*(path if refusal.is_of_field else ()), refusal.key)
                why = f"{refusal.why} on line {mark.line}"
                message = f"the field {quote(name)} cannot be {key.is_what}: {why}"
                self._draft.report(key.refusal, message, draft.key_mark(*path, key.name))

    def _check_tags(self, name: str, spec: FieldSpec) -> None:
        seen: set[str] = set()
        for index, tag in enumerate(spec.tags):
            mark = self._draft.value_mark("fields", name, "tags", index)
            similar = closest(tag, _BUILT_IN_TAGS, 0.75)
            hint = f"did you mean {quote(similar)}?" if similar else ""
            if not _TAG.fullmatch(tag):
                message = f"{quote(tag)} is not a tag: tags are lower-case words"
                self._draft.report("E110", message, mark, hint=hint)
            elif tag in seen:
                message = f"the tag {quote(tag)} of field {quote(name)} is given twice"
                self._draft.report("E110", message, mark)
            elif similar == tag and not seen.isdisjoint(_BUILT_IN_TAGS):
                message = f"the field {quote(name)} cannot be both hot and cold"
                self._draft.report("E110", message, mark)
            elif similar and similar != tag:
                message = f"the tag {quote(tag)} has no meaning of its own"
                self._draft.report("H102", message, mark, hint=hint)
            seen.add(tag)

    def methods(self) -> tuple[tuple[Kernel, ...], tuple[Reduction, ...]]:
        draft = self._draft
        names = frozenset((*draft.spec.fields_, *draft.spec.derived))
        for name in draft.spec.derived:
            self._claim(name, "a derived value", draft.key_mark("derived", name))
        kernels = []
        for name, kernel in draft.spec.kernels.items():
            self._claim(name, "a kernel", draft.key_mark("kernels", name))
            kernels.append(build_kernel(draft, name, kernel, names, self._types))
        reductions = []
        for name, spec in draft.spec.reductions.items():
            self._claim(name, "a reduction", draft.key_mark("reductions", name))
            reduction = build_reduction(draft, name, spec)
            if reduction is not None:
                reductions.append(reduction)
        return tuple(kernels), tuple(reductions)

    def _claim(self, name: str, what: str, mark: Mark) -> None:
        if not check_member(name, what, mark, self._draft.diagnostics, taken=self._taken(name)):
            return
        class_names = {self._draft.name, *(self._draft.name + suffix for suffix in DERIVED_CLASSES)}
        if name in class_names or name in self._types.enums:
            holder = "an enum is"
            if name in class_names:
                holder = f"component {quote(self._draft.name)} makes a class"
            message = f"{quote(name)} cannot be the name of {what}: {holder} called so"
            self._draft.report("E103", message, mark, hint=f"did you mean {quote(name + '_')}?")
        else:
            self._claims.register(name, what, mark)

    def _taken(self, name: str) -> Mapping[str, frozenset[str]]:
        """Return the reserved names, among them `name` if it is the setter of a field."""
        field = name.removeprefix("set_")
        if field == name or field not in self._draft.spec.fields_:
            return FIELD_NAMES
        return FIELD_NAMES | {f"beside {quote(field)} managers have": frozenset([name])}

    def claim_derived(self, fields: tuple[Field, ...]) -> None:
        """Claim the names of columns of split fields, and of methods by policies."""
        for field in fields:
            if field.split and field.type.shape:
                for column in split_names(field.name, field.type.shape):
                    what = f"a column of the split field {quote(field.name)}"
                    self._claims.register(column, what, field.marks[""])
        for field in fields:
            for key, _ in field.options:
                for method in _KEYS[key].methods:
                    what = f"{_KEYS[key].method_is} of {quote(field.name)}"
                    self._claims.register(method.format(x=field.name), what, field.marks[key])


def check_chunk(draft: Declaration[WorldSpec], components: Sequence[Component]) -> None:
    """Report E511 if a row with all components of the archetypes does not fit into a chunk."""
    archetypes = draft.spec.archetypes
    if archetypes is None:
        return
    members = [c for c in components if c.name in archetypes.components]
    if not members or chunk_rows(members, archetypes.chunk):
        return
    row_bytes, largest = chunk_row_bytes(members), max(members, key=lambda c: chunk_row_bytes([c]))
    message = f"a row with all components of the archetypes takes {row_bytes} bytes in a chunk, "
    message += f"which has {archetypes.chunk}"
    hint = f"the largest is {quote(largest.name)} with {chunk_row_bytes([largest])} bytes "
    hint += f"({largest.marks[''].place}); each column starts on 64 bytes"
    written = "chunk" in archetypes.model_fields_set
    mark = draft.value_mark("archetypes", "chunk") if written else draft.key_mark("archetypes")
    draft.report("E511", message, mark, hint=hint)


def _space(draft: Declaration[ComponentSpec], fields: tuple[Field, ...]) -> Space | None:
    """Return the space of a component, if it has a valid one; reports E513."""
    spec = draft.spec.space
    if spec is None:
        return None
    mark = draft.value_mark("space", "field")
    field = draft.field(fields, spec.field, "E513", f"the space {quote(spec.field)}", mark)
    if field is None:
        return None
    why = hint = ""
    if field.type.base is not BaseType.FLOAT or field.type.shape not in _PLACES:
        why = "a space is f32 or f64, without shape or of shape [1], [2] or [3], and "
        why += f"{quote(field.name)} is "
        why += f"{field.type.text} on line {field.marks['type'].line}"
    elif draft.spec.cold == "indirect" and field.is_cold:
        why = f"the space {quote(field.name)} is in the second, cold buffer"
        hint = "only some rows have it there; tag it hot, or keep it inline"
    if why:
        draft.report("E513", why, mark, hint=hint)
        return None
    wrap = _wrap(draft, spec, field)
    return None if wrap is None else Space(field.name, wrap)


def _wrap(
    draft: Declaration[ComponentSpec], spec: SpaceSpec, field: Field
) -> tuple[float, ...] | None:
    axes = prod(field.type.shape)
    if spec.wrap is None:
        return (0.0,) * axes
    if draft.is_incomplete("space", "wrap"):
        return None
    if len(spec.wrap) != axes:
        wanted = f"{axes} for {quote(field.name)}, not {len(spec.wrap)}"
        message, mark = f"'wrap' has one size per axis: {wanted}", draft.value_mark("space", "wrap")
        draft.report("E513", message, mark, hint="0 leaves an axis open")
        return None
    wrong = [k for k, size in enumerate(spec.wrap) if not (isfinite(size) and size >= 0)]
    for axis in wrong:
        message = f"a size is a finite number from 0, not {spec.wrap[axis]}"
        draft.report("E513", message, draft.value_mark("space", "wrap", axis))
    return None if wrong else tuple(float(size) for size in spec.wrap)
