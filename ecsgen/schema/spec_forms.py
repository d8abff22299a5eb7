"""Texts, numbers and short forms of which the schema language is made, for pydantic."""

from typing import Annotated, Any, Final, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from ecsgen.model.types import FLOATS, INTEGERS, TIMES
from ecsgen.schema.names import CAMEL

MAX_TEXT: Final = 16_384
Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT)]


# What editors complete and mark. Names and types are checked later, where messages know more.
_NUMBERS: Final = ("bool", *INTEGERS, *FLOATS, "entity")
_SHAPE: Final = r"(\[[1-9][0-9]*(,[1-9][0-9]*)*\])?"
_SIZED: Final = r"(str|bytes)\[[1-9][0-9]*\]|object"
_CAMEL: Final = CAMEL.pattern


def _patterns(simple: tuple[str, ...], *others: str) -> dict[str, Any]:
    """Return a JSON Schema of words to complete, and of other valid texts."""
    shaped = "|".join((*_NUMBERS, f"id<{_CAMEL}>", _CAMEL))
    pattern = "|".join((f"({shaped}){_SHAPE}", *others))
    return {"anyOf": [{"enum": [*simple]}, {"pattern": f"^({pattern})$"}]}


TypeText: TypeAlias = Annotated[
    Text, Field(json_schema_extra=_patterns((*_NUMBERS, *TIMES, "object"), _SIZED))
]
ArgumentText: TypeAlias = Annotated[Text, Field(json_schema_extra=_patterns((*_NUMBERS, *TIMES)))]
ClassName: TypeAlias = Annotated[Text, Field(json_schema_extra={"pattern": f"^{_CAMEL}$"})]


class Strict(BaseModel):
    """No unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


# Tags of unions stand in pydantic's error locations, but not in the text; no key looks like them.
SHORT: Final = "<short>"
LONG: Final = "<long>"
NUMBER: Final = "<number>"
WORD: Final = "<word>"
EXPRESSION: Final = "<expression>"
NAMED: Final = "<named>"
ONE: Final = "<one>"
EACH: Final = "<each>"
TAGS: Final = (SHORT, LONG, NUMBER, WORD, EXPRESSION, NAMED, ONE, EACH)


def form(value: object) -> str:
    return LONG if isinstance(value, (dict, BaseModel)) else SHORT


Long = TypeVar("Long")
Short = TypeVar("Short")


Form: TypeAlias = Annotated[
    Annotated[Long, Tag(LONG)] | Annotated[Short, Tag(SHORT)], Discriminator(form)
]
"""A mapping, or its short form."""


def form_of_number(value: object) -> str:
    """Return the form of a value whose short form is a number or a name."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return NUMBER if is_number else LONG if form(value) == LONG else WORD


def form_of_near(value: object) -> str:
    """Return the form of `near`: NAMED is a mapping of mappings."""
    if isinstance(value, dict) and value and all(isinstance(v, dict) for v in value.values()):
        return NAMED
    return form_of_number(value)


def form_of_table(value: object) -> str:
    """Return the form of a table: NAMED has columns under names, LONG a line for each row."""
    keys = value if isinstance(value, dict) else {}
    is_of_rows = any(not isinstance(keys.get(key, {}), dict) for key in ("rows", "fields"))
    return LONG if is_of_rows or isinstance(value, BaseModel) else NAMED


NumberForm: TypeAlias = Annotated[
    Annotated[float, Tag(NUMBER)] | Annotated[Text, Tag(WORD)],
    Discriminator(lambda value: NUMBER if form_of_number(value) == NUMBER else WORD),
]


ValueForm: TypeAlias = Annotated[
    Annotated[float | bool, Tag(NUMBER)] | Annotated[Text, Tag(EXPRESSION)],
    Discriminator(lambda value: NUMBER if isinstance(value, (int, float)) else EXPRESSION),
]
"""An expression; a number or a bool without quotes is one too."""


TextsForm: TypeAlias = Annotated[
    Annotated[Text, Tag(ONE)] | Annotated[list[Text], Field(min_length=1), Tag(EACH)],
    Discriminator(lambda value: EACH if isinstance(value, list) else ONE),
]


TurnCount: TypeAlias = Annotated[
    Annotated[int, Field(ge=0), Tag(NUMBER)] | Annotated[Text, Tag(WORD)],
    Discriminator(lambda value: NUMBER if form_of_number(value) == NUMBER else WORD),
]
