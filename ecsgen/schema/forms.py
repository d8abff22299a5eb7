"""What all models of the schema language have in common."""

from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from ecsgen.model.scalars import FLOATS, INTEGERS

MAX_TEXT: Final = 16_384

Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT)]

# What editors complete and mark. Names and types are checked later, where messages know more.
_NUMBERS: Final = ("bool", *INTEGERS, *FLOATS, "entity")
_SHAPE: Final = r"(\[[1-9][0-9]*(,[1-9][0-9]*)*\])?"
_SIZED: Final = r"(str|bytes)\[[1-9][0-9]*\]|object"
_CAMEL: Final = "[A-Z][A-Za-z0-9]*"


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


def form(value: object) -> str:
    return LONG if isinstance(value, (dict, BaseModel)) else SHORT
