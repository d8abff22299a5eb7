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


def form(value: object) -> str:
    return LONG if isinstance(value, (dict, BaseModel)) else SHORT
