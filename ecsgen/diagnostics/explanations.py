"""Explanations of codes, each with an example of the mistake and of the correction."""

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
    """A code, its reason and two schemas, None if no single schema file can show them."""

    code: str
    title: str
    reason: str
    wrong: str | None = None
    right: str | None = None


@cache
def codes() -> dict[str, Explanation]:
    """Return the explanations by code, in order."""
    import yaml

    entries = yaml.safe_load(_LIST.read_text(encoding="utf-8"))
    return {code: Explanation(code, **known) for code, known in entries.items()}


def unknown_code(word: str) -> str:
    """Return the error message for a word that is not a code."""
    hint = did_you_mean(word, codes()) or "`ecsgen explain` lists them"
    return f"no code {word!r}; {hint}"


def as_text(explanation: Explanation) -> str:
    """Return an explanation as text."""
    parts = [f"{explanation.code}: {explanation.title}", textwrap.fill(explanation.reason, _WIDTH)]
    for name, schema in (("wrong", explanation.wrong), ("right", explanation.right)):
        if schema is not None:
            shown = printable(schema, but="\n\t")  # an example has the bell character
            parts.append(f"{name}:\n\n{textwrap.indent(shown, '    ')}".rstrip())
    return "\n\n".join(parts) + "\n"


def as_list() -> str:
    """Return all codes with their titles, a line each."""
    return "".join(f"{code}  {about.title}\n" for code, about in codes().items())


def as_json(wanted: Iterable[str]) -> str:
    """Return a JSON array of explanations, one on each line; a missing example is null."""
    entries = [json.dumps(asdict(codes()[code])) for code in wanted]
    return "[\n" + ",\n".join(entries) + "\n]\n"
