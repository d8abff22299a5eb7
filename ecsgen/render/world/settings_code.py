"""Module `settings.py`: the world's settings as a class with an attribute each."""

from __future__ import annotations

from collections.abc import Sequence

from ecsgen.model import SETTINGS, Setting
from ecsgen.model.columns import field_columns
from ecsgen.render.column_code import ColumnCode, FieldsCode, shows_array
from ecsgen.render.text.formatting import call, display
from ecsgen.render.text.jinja_environment import rendered_module
from ecsgen.render.text.name_shadowing import add_class_placeholder
from ecsgen.render.text.quoting import literal, split_literal
from ecsgen.schema.names import settings_class


class SettingCode(ColumnCode):
    """Code of one setting."""

    @property
    def _bounds(self) -> list[str]:
        """The least and the greatest value; neither without one of them."""
        setting = self.field
        assert isinstance(setting, Setting)
        bounds = setting.low, setting.high
        return [] if bounds == (None, None) else [literal(bound) for bound in bounds]

    @property
    def default_lines(self) -> str:
        return display(f"{self.default}: Final = ", self.default_literal)

    @property
    def info_arguments(self) -> list[str]:
        arguments = super().info_arguments
        if bounds := self._bounds:  # these come after unit and docs
            docs = literal(self.column.unit), split_literal(self.column.doc, 8)
            arguments = [*arguments[:4], *docs, *bounds]
        return arguments

    @property
    def attribute_line(self) -> str:
        """Statement that makes the attribute."""
        read = self.array_type if shows_array(self._type) else self.read_type
        kind = f"Setting[{read}, {self.write_type}]"
        return call(f"{self.bare_name} = {kind}", [self.constant, *self._bounds], 4)


class SettingsCode(FieldsCode):
    """Code of all settings, for their template."""

    fields: list[SettingCode]

    def __init__(self, world: str, settings: Sequence[Setting]) -> None:
        self.name = add_class_placeholder(settings_class(world))
        self.fields = []
        before = 0
        for setting in settings:
            (column,) = field_columns(setting)
            self.fields.append(SettingCode(column, SETTINGS, before))
            before += column.nbytes

    @property
    def stored(self) -> list[SettingCode]:
        """Settings with a column in the buffer: all but objects."""
        return [code for code in self.fields if not code.is_object]

    @property
    def enums(self) -> list[str]:
        """Enums that settings have as their types."""
        kinds = (code.scalar_type for code in self.fields if code.is_enum)
        return sorted(set(kinds))


def render_settings_module(world: str, settings: Sequence[Setting]) -> str:
    """Return the unformatted module."""
    code = SettingsCode(world, settings)
    return rendered_module("settings.py.j2", {"c": code}, dict.fromkeys(code.enums, ".enums"))
