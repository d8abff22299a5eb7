"""Makes `_schema.py`: what snapshots say of the schemas."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ecsgen.model.history import History
from ecsgen.model.saved import schema_fingerprint
from ecsgen.render.environment import environment
from ecsgen.render.quoting import WIDTH, literal

# An entry each, so that a change of one is a change of few lines; of these what stands by itself.
_ENTRY = re.compile(r".+?(?:\},|\"(?:enums|members|components|fields|groups)\":\{|$)")
_PART = re.compile(r"[^,]{1,40},?|,")
_INDENT = 4


def schema_module(text: str, history: History) -> str:
    """Return the module, from the text of the schema."""
    template = environment().get_template("schema.py.j2")
    return template.render(
        lines=[line for entry in _ENTRY.findall(text) for line in _literals(entry)],
        fingerprint=schema_fingerprint(text),
        renames=[(kind, list(names.items())) for kind, names in history.renames.items()],
    )


def _literals(text: str) -> Iterator[str]:
    """Yield a text as literals, one after another, that each fit on a line."""
    line = ""
    for part in _PART.findall(text):
        if len(literal(line + part)) > WIDTH - _INDENT:
            yield literal(line)
            line = ""
        line += part
    yield literal(line)
