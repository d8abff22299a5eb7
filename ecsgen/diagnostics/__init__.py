"""Diagnostics: what is wrong with a project, where, and what may have been meant.

Collected over a whole run, sorted by place, printed once. Nothing here knows YAML or schemas.
"""

from ecsgen.diagnostics.collecting import (
    Diagnostic,
    Diagnostics,
    closest,
    did_you_mean,
    hint_at_comma,
    quote,
    split_lines,
)
from ecsgen.diagnostics.printing import format_github, format_json, format_text

__all__ = [
    "Diagnostic",
    "Diagnostics",
    "closest",
    "did_you_mean",
    "format_github",
    "format_json",
    "format_text",
    "hint_at_comma",
    "quote",
    "split_lines",
]
