"""The sources of ecsgen-fast, which a package may have as its own: `ecsgen build --compiled`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ecsgen.files.fingerprint import fast_folder

FAST = "_fast"
COMPILE = f"{FAST}/compile.py"
"""The script that compiles them."""
_SUFFIXES = (".c", ".h", ".py", ".pyi")


@cache
def fast_sources() -> Mapping[str, str]:
    """Return the text of each file by its name."""
    files = (file for file in fast_folder().iterdir() if file.suffix in _SUFFIXES)
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(files)}
