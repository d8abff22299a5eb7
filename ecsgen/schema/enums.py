"""Enum documents to checked enums."""

from __future__ import annotations

from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.model import Enum, Marks
from ecsgen.schema.drafts import Claims, Draft
from ecsgen.schema.language.component_keys import EnumSpec, MemberSpec
from ecsgen.schema.names import MEMBER_NAMES, check_member
from ecsgen.schema.structure import describe


def build_enum(draft: Draft[EnumSpec], diagnostics: Diagnostics) -> Enum:
    """The enum, with the members that are right; reports E101 to E103 and E111."""
    values = _flag_list(draft, diagnostics) if draft.spec.flags else _numbers(draft)
    members = _checked(draft, values, diagnostics)
    largest = 0
    for _, number in members:
        largest = largest | number if draft.spec.flags else max(largest, number)
    if draft.spec.flags:
        _check_bits(draft, members, diagnostics)
    numbers = [number for _, number in members]
    zero = draft.spec.flags or 0 in numbers or not numbers
    docs = ((name, spec.doc) for name, spec in long_members(draft.spec).items())
    return Enum(
        name=draft.name,
        values=tuple(members),
        flags=draft.spec.flags,
        scalar=_storage(largest),
        default=0 if zero else numbers[0],
        doc=draft.spec.doc,
        docs=tuple((name, doc) for name, doc in docs if doc),
        source=draft.source,
        marks={**draft.marks("enum"), **_member_marks(draft)},
    )


def long_members(spec: EnumSpec) -> dict[str, MemberSpec]:
    """The members that are written as mappings, by name."""
    values = spec.values if isinstance(spec.values, dict) else {}
    return {name: one for name, one in values.items() if isinstance(one, MemberSpec)}


def _member_marks(draft: Draft[EnumSpec]) -> Marks:
    """The mark of each member, as in "values.idle"."""
    is_list = isinstance(draft.spec.values, list)
    steps = ((name, k if is_list else name) for k, name in enumerate(draft.spec.values))
    return {f"values.{name}": draft.key("values", step) for name, step in steps}


def _numbers(draft: Draft[EnumSpec]) -> list[tuple[str, int]]:
    values = draft.spec.values
    if isinstance(values, dict):
        return [(n, v.value if isinstance(v, MemberSpec) else v) for n, v in values.items()]
    return [(name, number) for number, name in enumerate(values)]


def _flag_list(draft: Draft[EnumSpec], diagnostics: Diagnostics) -> list[tuple[str, int]]:
    values = draft.spec.values
    if isinstance(values, dict):
        return _numbers(draft)
    if len(values) > 64:
        message = f"{len(values)} flags do not fit 64 bits"
        diagnostics.add("E111", message, draft.value("values", 64))
    return [(name, 1 << bit) for bit, name in enumerate(values[:64])]


def _number(draft: Draft[EnumSpec], step: str | int) -> tuple[str | int, ...]:
    """The path to the number of a member."""
    return ("values", step, "value") if step in long_members(draft.spec) else ("values", step)


def _checked(
    draft: Draft[EnumSpec], values: list[tuple[str, int]], diagnostics: Diagnostics
) -> list[tuple[str, int]]:
    node = draft.node.at("values")
    if not values and node is not None and node.complete:
        diagnostics.add("E111", "an enum needs at least one member", draft.key("values"))
    claims = Claims(diagnostics)
    listed = isinstance(draft.spec.values, list)
    seen: dict[int, str] = {}
    members = []
    for index, (name, number) in enumerate(values):
        step = index if listed else name
        mark = draft.key("values", step)
        what = f"a member of {draft.name}"
        check_member(name, what, mark, diagnostics, taken=MEMBER_NAMES)
        if not claims.claim(name, what, mark):
            continue
        path = _number(draft, step)
        place, node = draft.value(*path), draft.node.at(*path)
        if not 0 <= number < 2**64 and node is not None:
            message = f"a value is a whole number from 0 to 2^64 - 1, not {describe(node)}"
            diagnostics.add("E111", message, place)
        elif number in seen:
            message = f"{quote(name)} has the value {number} of {quote(seen[number])}"
            diagnostics.add("E111", message, place)
        else:
            seen[number] = name
            members.append((name, number))
    return members


def _check_bits(
    draft: Draft[EnumSpec], members: list[tuple[str, int]], diagnostics: Diagnostics
) -> None:
    single = 0
    for _, number in members:
        if number.bit_count() == 1:
            single |= number
    for name, number in members:
        if stray := number & ~single:
            message = f"{quote(name)} has the bit {stray & -stray}, which no flag of its own has"
            diagnostics.add("E111", message, draft.value(*_number(draft, name)))


def _storage(largest: int) -> str:
    for bits in (8, 16, 32):
        if largest < 1 << bits:
            return f"u{bits}"
    return "u64"
