"""What components say of themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import base
from .fields import Bytes, Enum, Field, Object
from .subject import Subject, same


def check_fields(subject: Subject, infos: Any) -> None:
    """Check what a component says of its fields, and the defaults of its row class."""
    assert type(infos) is tuple
    fields = {field.name: field for field in subject.every}
    assert tuple(info.name for info in infos) == subject.row._fields
    assert sorted(info.name for info in infos) == sorted(fields)
    for info in infos:
        field = fields[info.name]
        is_object = isinstance(field, Object)
        assert info.dtype == (None if is_object else np.dtype(field.dtype))
        assert info.shape == field.shape
        assert info.enum is (field.enum if isinstance(field, Enum) else None)
        assert same(info.default, _default(field))
        names = subject.split.get(field.name, (field.name,))
        tagged = [
            tag for tag, having in subject.tagged.items() if {*names} <= {*having}
        ]
        assert sorted(info.tags) == sorted(tagged)
        assert type(info.type) is type(info.unit) is type(info.doc) is str
    defaults = {info.name: info.default for info in infos}
    assert same(subject.row(), subject.row(**defaults))


def check_shown(shown: Any, rows: int) -> None:
    """Check the table of some rows, and that neither text names an address."""
    html = shown._repr_html_()
    assert html.count("<tr>") == 1 + min(rows, 11)
    assert html.count("<table>") == html.count("</table>") == 1
    assert all(f"{id(shown):x}" not in text for text in (html, repr(shown)))


def _default(field: Field) -> Any:
    return field.read(field.default) if isinstance(field, Bytes) else field.default


class Cases(base.Cases):
    """The schema's fields, and the defaults of rows."""

    def test_fields_are_those_of_the_schema(self) -> None:
        check_fields(self.subject, self.subject.manager.FIELDS)
        _, m = self.new()
        assert m.FIELDS is m.data.FIELDS is self.subject.manager.FIELDS

    def test_reprs_say_how_many_rows(self) -> None:
        _, m, _ = self.filled(12)
        name = type(m).__name__
        assert repr(m).startswith(f"<{name}: 12 rows, room for {m.capacity}, ")
        data = type(m.data).__name__
        assert repr(m.data).startswith(f"<{data}: 12 rows")
        for rows in (12, 0):
            check_shown(m, rows)
            check_shown(m.data, rows)
            m.clear()
        assert repr(m).startswith(f"<{name}: 0 rows, ")
