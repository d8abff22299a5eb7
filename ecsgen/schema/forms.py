"""What all models of the schema language have in common."""

from typing import Annotated, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

MAX_TEXT: Final = 16_384

Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT)]


class Strict(BaseModel):
    """No unknown keys, no silent conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


# Tags of unions stand in pydantic's error locations, but not in the text; no key looks like them.
SHORT: Final = "<short>"
LONG: Final = "<long>"
NUMBER: Final = "<number>"
WORD: Final = "<word>"


def form(value: object) -> str:
    return LONG if isinstance(value, (dict, BaseModel)) else SHORT


def form_of_number(value: object) -> str:
    """The same where the short form is a number or a name."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return NUMBER if is_number else LONG if form(value) == LONG else WORD


def number_or_name(value: object) -> str:
    """The same where there is no long form."""
    return NUMBER if form_of_number(value) == NUMBER else WORD
