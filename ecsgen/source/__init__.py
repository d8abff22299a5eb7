"""Schema text to nodes that know their line and column.

YAML 1.2 reading of plain data: keys are strings, only `true` and `false` are booleans, nothing is
shared, tagged or given twice. Every limit is checked before anything grows with the input.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ecsgen.diagnostics import Diagnostics, split_lines
from ecsgen.files.disk import MAX_BYTES, NotPlainError, TooLargeError, read_plain
from ecsgen.model import Mark
from ecsgen.source.builder import MAX_NODES, Builder
from ecsgen.source.nodes import MAX_DEPTH, Node, Plain, Scalar

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_NODES", "Node", "Plain", "Scalar", "parse", "read"]

# Control characters as in YAML; the breaks of YAML 1.1 that are none in 1.2; a byte order mark
# inside the text.
_REFUSED: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
)


def read(file: Path, shown: str, diagnostics: Diagnostics) -> list[Node]:
    """The documents of one file, named `shown` in diagnostics; those that can be read."""
    text = _read_text(file, shown, diagnostics)
    return [] if text is None else parse(text, shown, diagnostics)


def parse(text: str, path: str, diagnostics: Diagnostics, *, pure: bool = False) -> list[Node]:
    """The documents in `text`. Empty documents are left out; what follows a syntax error is lost.

    `pure` takes PyYAML's own parser even where libyaml is there.
    """
    text = text.removeprefix("\ufeff")
    diagnostics.add_source(path, text)
    if refused := _REFUSED.search(text):
        before = split_lines(text[: refused.start()])
        mark = Mark(path, len(before), len(before[-1]) + 1)
        message = f"the character U+{ord(refused[0]):04X} is not allowed"
        hint = "in double quotes it can be written as an escape"
        diagnostics.add("E204", message, mark, hint=hint)
        return []
    return Builder(text, path, diagnostics).documents(pure)


def _read_text(file: Path, shown: str, diagnostics: Diagnostics) -> str | None:
    whole = Mark(shown, 0, 0, 0)
    try:
        data = read_plain(file, MAX_BYTES)
    except NotPlainError:
        diagnostics.add("E201", "not a regular file", whole)
        return None
    except TooLargeError:
        diagnostics.add("E202", f"the file is larger than {MAX_BYTES // 2**20} MiB", whole)
        return None
    except OSError as error:
        diagnostics.add("E201", f"cannot be read: {error.strerror or error}", whole)
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = split_lines(data[: error.start].decode("utf-8").removeprefix("\ufeff"))
        diagnostics.add_source(shown, data.decode("utf-8", "replace").removeprefix("\ufeff"))
        message = f"the byte 0x{data[error.start]:02X} is not valid UTF-8"
        diagnostics.add("E203", message, Mark(shown, len(before), len(before[-1]) + 1))
        return None
