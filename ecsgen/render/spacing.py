"""Where the places of a component's rows are, as managers know it."""

from __future__ import annotations

from ecsgen.model import Component
from ecsgen.model.columns import field_columns
from ecsgen.render.calls import call
from ecsgen.render.quoting import literal


class Spacing:
    """What the template of the policy lays out."""

    def __init__(self, component: Component) -> None:
        space = component.space
        assert space is not None
        field = next(one for one in component.fields if one.name == space.field)
        columns = tuple(f"_{column.name}_column" for column in field_columns(field))
        rows = "_n_active" if component.partition else "_n"
        given = [literal(one) for one in (space.field, columns, rows, space.wrap)]
        line = call("_SPACE: ClassVar = SpaceLayout", given, 4)
        self.line = line.lstrip().replace("\n    ", "\n")
