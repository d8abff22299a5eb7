"""Packages of worlds with `shards`: the numbers of their handles, and what shows these.

A constant or function of `runtime/ecsgen_runtime/shards/` with the name of one elsewhere in the
runtime stands for that in such packages, in those modules that are copied. Everything else of
theirs has a name of its own, which generated modules or class attributes give.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from ecsgen.render.calls import import_line

RUNTIME: Final = "_runtime"
FOLDER: Final = f"{RUNTIME}/shards/"

_IMPORT: Final = re.compile(
    r"^( *)from (\.+)([\w.]*) import (?:\(\s*([^)]*?),?\s*\)|([^(\n]*))$", re.MULTILINE
)


def redirected(path: str, text: str, standing: Mapping[str, str], places: Mapping[str, str]) -> str:
    """Return a module, which has this path, that imports what stands for others' names.

    `standing`: the module of each such name; `places`: that of what it stands for.
    """

    def replaced(found: re.Match[str]) -> str:
        pad, dots, module, several, one = found.groups()
        folder = path.split("/")[: -len(dots)]
        source = "/".join([*folder, *filter(None, module.split("."))])
        names = [name.strip() for name in (several or one).split(",")]
        moved = [name for name in names if places.get(name) == f"{source}.py"]
        if not moved:
            return found.group()
        kept = [name for name in names if name not in moved]
        lines = [import_line(f"{dots}{module}", kept, len(pad))] if kept else []
        by_module: dict[str, list[str]] = {}
        for name in moved:
            by_module.setdefault(standing[name], []).append(name)
        lines += [
            import_line(relative(path, target), found_names, len(pad))
            for target, found_names in sorted(by_module.items())
        ]
        return "\n".join(lines)

    return _IMPORT.sub(replaced, text)


@cache
def relative(path: str, target: str) -> str:
    """Return what a module calls another one of the package in an import."""
    here, there = PurePosixPath(path).parts[:-1], PurePosixPath(target).with_suffix("").parts
    common = 0
    while common < min(len(here), len(there)) and here[common] == there[common]:
        common += 1
    return "." * (len(here) - common + 1) + ".".join(there[common:])
