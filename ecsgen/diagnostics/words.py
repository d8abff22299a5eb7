"""Words for messages: quotations and hints."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import lru_cache

from ecsgen.diagnostics.collecting import Diagnostics
from ecsgen.model import Mark


def quote(text: str, limit: int = 60) -> str:
    """Schema text in a message: quoted, on one line, without control characters, not too long."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


@lru_cache(maxsize=4096)
def _closest(word: str, candidates: tuple[str, ...], cutoff: float) -> str:
    for candidate in candidates:
        if candidate.casefold() == word.casefold():
            return candidate
    close = difflib.get_close_matches(word, candidates, n=1, cutoff=cutoff)
    return close[0] if close else ""


def closest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str:
    """The candidate that is most like `word`, or the empty string."""
    if not 0 < len(word) <= 64:
        return ""
    return _closest(word, tuple(candidates), cutoff)


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A hint that names the closest candidate, or the empty string."""
    found = closest(word, candidates)
    return f"did you mean {quote(found)}?" if found else ""


def hint_at_comma(diagnostics: Diagnostics, mark: Mark) -> str:
    """A hint if a plain text seems to go on behind a comma that YAML takes for its end, or ""."""
    line, first = diagnostics.line(mark) or "", mark.column - 1
    last = first + mark.length
    text = line[first:last]
    is_beside_comma = line[:first].rstrip().endswith(",") or line[last:].lstrip().startswith(",")
    if text[:1] in "'\"" or not is_beside_comma or text.count("(") == text.count(")"):
        return ""
    return "inside [ ] and { } a comma ends a text, so put this one in quotes"
