"""Enum documents to checked enums."""

from __future__ import annotations

from typing import NamedTuple

from ecsgen.diagnostics import quote
from ecsgen.model import Enum
from ecsgen.model.types import UNSIGNED, fits
from ecsgen.schema.declarations import Declaration, NameRegistry
from ecsgen.schema.document_specs import EnumSpec, MemberSpec
from ecsgen.schema.names import MEMBER_NAMES, check_member
from ecsgen.schema.validation import describe


class Member(NamedTuple):
    """A member of an enum as it is written."""

    name: str
    number: int
    path: tuple[str, str | int]
    spec: MemberSpec | None
    """The member's mapping, if it is one."""

    @property
    def number_path(self) -> tuple[str | int, ...]:
        return (*self.path, "value") if self.spec else self.path


def members_of(spec: EnumSpec) -> list[Member]:
    """Return the members as written; those of a list are numbered in order."""
    values = spec.values
    if isinstance(values, list):
        numbers = (1 << k if spec.flags else k for k in range(len(values)))
        named = zip(values, numbers, strict=True)
        return [Member(name, n, ("values", k), None) for k, (name, n) in enumerate(named)]
    members = []
    for name, form in values.items():
        number, long = (form.value, form) if isinstance(form, MemberSpec) else (form, None)
        members.append(Member(name, number, ("values", name), long))
    return members


def build_enum(draft: Declaration[EnumSpec]) -> Enum:
    """Return the enum with its valid members; reports E101 to E103 and E111."""
    written = members_of(draft.spec)
    members = _checked(draft, written)
    if draft.spec.flags:
        _check_bits(draft, members)
    numbers = [member.number for member in members]
    zero = draft.spec.flags or 0 in numbers or not numbers
    return Enum(
        name=draft.name,
        values=tuple((member.name, member.number) for member in members),
        flags=draft.spec.flags,
        scalar=next((s for s in UNSIGNED if fits(max(numbers, default=0), s)), "u64"),
        default=0 if zero else numbers[0],
        doc=draft.spec.doc,
        docs=tuple((m.name, m.spec.doc) for m in written if m.spec and m.spec.doc),
        source=draft.source,
        marks={
            **draft.marks("enum"),
            **{f"values.{member.name}": draft.key_mark(*member.path) for member in written},
        },
    )


def _checked(draft: Declaration[EnumSpec], written: list[Member]) -> list[Member]:
    if not written and not draft.is_incomplete("values"):
        draft.report("E111", "an enum needs at least one member", draft.key_mark("values"))
    if draft.spec.flags and isinstance(draft.spec.values, list) and len(written) > 64:
        message = f"{len(written)} flags do not fit 64 bits"
        draft.report("E111", message, draft.value_mark("values", 64))
        written = written[:64]
    claims = NameRegistry(draft.diagnostics)
    seen: dict[int, str] = {}
    members = []
    for member in written:
        name, number = member.name, member.number
        mark = draft.key_mark(*member.path)
        what = f"a member of {draft.name}"
        check_member(name, what, mark, draft.diagnostics, taken=MEMBER_NAMES)
        if not claims.register(name, what, mark):
            continue
        path = member.number_path
        number_mark, node = draft.value_mark(*path), draft.node.at(*path)
        if not 0 <= number < 2**64 and node is not None:
            message = f"a value is a whole number from 0 to 2^64 - 1, not {describe(node)}"
            draft.report("E111", message, number_mark)
        elif number in seen:
            message = f"{quote(name)} has the value {number} of {quote(seen[number])}"
            draft.report("E111", message, number_mark)
        else:
            seen[number] = name
            members.append(member)
    return members


def _check_bits(draft: Declaration[EnumSpec], members: list[Member]) -> None:
    single = sum(member.number for member in members if member.number.bit_count() == 1)
    for member in members:
        if stray := member.number & ~single:
            bit = stray & -stray
            message = f"{quote(member.name)} has the bit {bit}, which no single flag has"
            draft.report("E111", message, draft.value_mark(*member.number_path))
