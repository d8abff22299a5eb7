"""Enums and flags."""

from typing import Annotated, TypeAlias

from pydantic import Discriminator, Field, Tag

from ecsgen.schema.forms import LONG, SHORT, ClassName, Strict, Text, form
from ecsgen.schema.language.fields import FORMER


class MemberSpec(Strict):
    """A member of an enum that has more to it than its number."""

    value: int = Field(description="The number.")
    doc: Text = Field(default="", description="What it means; its docstring.")
    renamed_from: list[Text] = Field(default=[], description=FORMER)


MemberForm: TypeAlias = Annotated[
    Annotated[MemberSpec, Tag(LONG)] | Annotated[int, Tag(SHORT)], Discriminator(form)
]
ValuesForm: TypeAlias = Annotated[
    Annotated[dict[str, MemberForm], Tag(LONG)] | Annotated[list[Text], Tag(SHORT)],
    Discriminator(form),
]


class EnumSpec(Strict):
    """An enum, or a set of flags, that fields can have as their type."""

    enum: ClassName = Field(description="The name, CamelCase.")
    doc: Text = Field(default="", description="What it tells apart; the docstring.")
    renamed_from: list[Text] = Field(default=[], description=FORMER)
    removed: list[Text] = Field(
        default=[],
        description="Former members: saved cells with them become the field's default. No new one "
        "takes the name.",
    )
    values: ValuesForm = Field(
        description="Names, numbered 0, 1, 2 … (flags 1, 2, 4 …), or a mapping of name to number, "
        "or to a mapping. Stored in the smallest unsigned type that fits."
    )
    flags: bool = Field(default=False, description="An `IntFlag` instead of an `IntEnum`.")
