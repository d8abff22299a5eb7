"""Fields: the columns of a component."""

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import Discriminator, Field, Tag, create_model

from ecsgen.policies import keys
from ecsgen.schema.forms import LONG, SHORT, Strict, Text, TypeText, form

FORMER: Final = "All names that it had before: what was saved under them is its own."


class _Column(Strict):
    type: TypeText = Field(description="The field type, as in `f32[3]`.")
    default: Any = Field(
        default=None,
        description="The value of new instances. One value fills a whole shape. An enum's member "
        "goes by its name, several flags are joined by `|`. Bytes are ASCII text or a list of "
        "numbers. Without one: zero, null, empty, `None`; an enum's zero or first value.",
    )
    doc: Text = Field(default="", description="What it means; goes into docstrings.")
    unit: Text = Field(default="", description="The unit of measurement, as in `m/s`.")
    tags: list[Text] = Field(
        default=[],
        description="Lower-case words. `hot` and `cold` decide about the layout (untagged is hot), "
        "others group columns for `data.tagged`.",
    )
    split: bool = Field(
        default=False,
        description="Store each element of the shape in a column of its own: `position_x`, `_y`, "
        "`_z`, `_w` up to four elements, else `position_0` and so on.",
    )


if TYPE_CHECKING:
    _Stored = _Column
else:  # what policies say themselves
    made = {key.name: key.info() for key in keys("field")}
    _Stored = create_model("_Stored", __base__=_Column, **made)


class FieldSpec(_Stored):
    """A field: one column."""

    renamed_from: list[Text] = Field(default=[], description=FORMER)


FieldForm: TypeAlias = Annotated[
    Annotated[FieldSpec, Tag(LONG)] | Annotated[TypeText, Tag(SHORT)], Discriminator(form)
]
