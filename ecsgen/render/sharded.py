"""Packages of worlds with `shards`: what of the runtime they have instead of what others have.

A class, function or constant of `runtime/ecsgen_runtime/shards/` with the name of one elsewhere in the
runtime stands for that in such packages, in generated modules as in those that are copied. So what
others have knows nothing of shards.
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
_SLOTS: Final = (
    (r"\b(entity|data\._entity_cells\[\w+\]) & INDEX_MASK\b", r"self._entities._slot(\1)"),
    (
        r"\bindices\(data\._entity_column\[gone\], INDEX_MASK\)",
        "self._entities._slots_of(data._entity_column, gone)",
    ),
    (
        r"\bindices\((entities|data\._entity_column\[\w+\]), INDEX_MASK\)",
        r"self._entities._slots(\1)",
    ),
    (r"\bdata\._id_generation_cells\[row\] \+= 1\b", "data._next_generation(row)"),
    (r"\bdata\._id_generation_column\[rows\] \+= 1\b", "data._next_generations(rows)"),
    (r"\bdata\._id_generation_cells\[row\] == WORN_OUT\b", "data._is_worn(row)"),
    (r"\brows_spanned\(entities, INDEX_MASK\)", "self._entities._span(entities)"),
)
_CREATED: Final = (
    "_slot = self._entities._slot(entity)",
    "            self._entities.require(entity)  # raises StaleEntityError\n",
)


def with_slots(text: str) -> str:
    """Return a component's module where rows are found by slots instead of indices.

    A creation tries the index first: it is the slot of all that were made here.
    """
    for pattern, call in _SLOTS:
        text = re.sub(pattern, call, text)
    text = text.replace(_CREATED[0], "_slot = entity & INDEX_MASK")
    visitor = "            _slot = self._entities._slot_of(entity)  # raises StaleEntityError\n"
    return text.replace(_CREATED[1], visitor)


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
