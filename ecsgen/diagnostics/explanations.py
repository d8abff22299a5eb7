"""What a code stands for, with an example of the mistake and of how it looks without it."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Final

from ecsgen.diagnostics import did_you_mean, printable

_LIST: Final = Path(__file__).with_name("codes.yaml")
_WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class Explanation:
    """A code, why it is an error, and two schemas; None where no schema file alone can show it."""

    code: str
    title: str
    reason: str
    wrong: str | None = None
    right: str | None = None


@cache
def codes() -> dict[str, Explanation]:
    """Return all codes in order, and what is known of each."""
    import yaml

    found = yaml.safe_load(_LIST.read_text(encoding="utf-8"))
    return {code: Explanation(code, **known) for code, known in found.items()}


def unknown_code(word: str) -> str:
    """What to say of a word that is no code."""
    hint = did_you_mean(word, codes()) or "`ecsgen explain` lists them"
    return f"no code {word!r}; {hint}"


def as_text(found: Explanation) -> str:
    """For people."""
    parts = [f"{found.code}: {found.title}", textwrap.fill(found.reason, _WIDTH)]
    for name, schema in (("wrong", found.wrong), ("right", found.right)):
        if schema is not None:
            shown = printable(schema, but="\n\t")  # an example of a bell is silent
            parts.append(f"{name}:\n\n{textwrap.indent(shown, '    ')}".rstrip())
    return "\n\n".join(parts) + "\n"


def as_list() -> str:
    """All codes with their titles."""
    return "".join(f"{code}  {about.title}\n" for code, about in codes().items())


def as_json(wanted: Iterable[str]) -> str:
    """For machines: a JSON array of objects, one on each line; null where there is no example."""
    entries = [json.dumps(asdict(codes()[code])) for code in wanted]
    return "[\n" + ",\n".join(entries) + "\n]\n"
