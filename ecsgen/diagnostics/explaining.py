"""What a code stands for, with an example of the mistake and of how it looks without it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

from ecsgen.diagnostics.codes import CODES
from ecsgen.diagnostics.collecting import did_you_mean

_EXAMPLES: Final = Path(__file__).with_name("examples.yaml")
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class Explanation:
    """A code, why it is an error, and two schemas; None where no schema file alone can show it."""

    code: str
    title: str
    reason: str
    wrong: str | None
    right: str | None


def explain(code: str) -> Explanation:
    """Return what is known of a code; KeyError for others."""
    about = CODES[code]
    example = examples().get(code, {})
    return Explanation(
        code, about.title, about.explanation, example.get("wrong"), example.get("right")
    )


@cache
def examples() -> dict[str, dict[str, str]]:
    """Code → `wrong` and `right`, each the text of a schema file."""
    import yaml

    found: dict[str, dict[str, str]] = yaml.safe_load(_EXAMPLES.read_text(encoding="utf-8"))
    return found


def unknown_code(word: str) -> str:
    """What to say of a word that is no code."""
    hint = did_you_mean(word, CODES) or "`ecsgen explain` lists them"
    return f"no code {word!r}; {hint}"


def as_text(found: Explanation) -> str:
    """For people."""
    parts = [f"{found.code}: {found.title}", textwrap.fill(found.reason, _WIDTH)]
    for name, schema in (("wrong", found.wrong), ("right", found.right)):
        if schema is not None:
            parts.append(f"{name}:\n\n{textwrap.indent(_shown(schema), '    ')}".rstrip())
    return "\n\n".join(parts) + "\n"


def _shown(schema: str) -> str:
    """Without what a terminal would obey: an example of a bell is silent."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in schema)


def as_list() -> str:
    """All codes with their titles."""
    return "".join(f"{code}  {about.title}\n" for code, about in CODES.items())


def as_json(codes: Iterable[str]) -> str:
    """For machines: a JSON array of objects, one on each line; null where there is no example."""
    entries = [json.dumps(asdict(explain(code))) for code in codes]
    return "[\n" + ",\n".join(entries) + "\n]\n"
