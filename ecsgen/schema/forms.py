"""What all models of the schema language have in common."""

from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from ecsgen.model.types import FLOATS, INTEGERS
from ecsgen.schema.names import CAMEL

MAX_TEXT: Final = 16_384

Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT)]

# What editors complete and mark. Names and types are checked later, where messages know more.
_NUMBERS: Final = ("bool", *INTEGERS, *FLOATS, "entity")
_SHAPE: Final = r"(\[[1-9][0-9]*(,[1-9][0-9]*)*\])?"
_SIZED: Final = r"(str|bytes)\[[1-9][0-9]*\]|object"
_CAMEL: Final = CAMEL.pattern


def _patterns(simple: tuple[str, ...], *others: str) -> dict[str, Any]:
    """Words to complete, and what else is right."""
    shaped = "|".join((*_NUMBERS, f"id<{_CAMEL}>", _CAMEL))
    pattern = "|".join((f"({shaped}){_SHAPE}", *others))
    return {"anyOf": [{"enum": [*simple]}, {"pattern": f"^({pattern})$"}]}


TypeText: TypeAlias = Annotated[
    Text, Field(json_schema_extra=_patterns((*_NUMBERS, "object"), _SIZED))
]
ArgumentText: TypeAlias = Annotated[Text, Field(json_schema_extra=_patterns(_NUMBERS))]
ClassName: TypeAlias = Annotated[Text, Field(json_schema_extra={"pattern": f"^{_CAMEL}$"})]


class Strict(BaseModel):
    """No unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


# Tags of unions stand in pydantic's error locations, but not in the text; no key looks like them.
SHORT: Final = "<short>"
LONG: Final = "<long>"
NUMBER: Final = "<number>"
WORD: Final = "<word>"
NAMED: Final = "<named>"
ONE: Final = "<one>"
EACH: Final = "<each>"


def form(value: object) -> str:
    return LONG if isinstance(value, (dict, BaseModel)) else SHORT


Long = TypeVar("Long")
Short = TypeVar("Short")
Form: TypeAlias = Annotated[
    Annotated[Long, Tag(LONG)] | Annotated[Short, Tag(SHORT)], Discriminator(form)
]
"""A mapping, or what stands for one."""


def form_of_number(value: object) -> str:
    """The same where the short form is a number or a name."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return NUMBER if is_number else LONG if form(value) == LONG else WORD


def form_of_near(value: object) -> str:
    """The same where there are several under names: mappings of mappings."""
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return NAMED
    return form_of_number(value)


def form_of_table(value: object) -> str:
    """Of a table: columns under names, unless it says whose rows it has a line for."""
    keys = value if isinstance(value, dict) else {}
    is_of_rows = any(not isinstance(keys.get(key, {}), dict) for key in ("rows", "fields"))
    return LONG if is_of_rows or isinstance(value, BaseModel) else NAMED


def form_of_answers(value: object) -> str:
    """One for all, or a list with one for each."""
    return EACH if isinstance(value, list) else ONE


def number_or_name(value: object) -> str:
    """The same where there is no long form."""
    return NUMBER if form_of_number(value) == NUMBER else WORD
