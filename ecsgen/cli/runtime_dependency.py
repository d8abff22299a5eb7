"""Whether the project that a package is made for lists the library that the package imports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from ecsgen.config import OPTIONS_FILE, UsageError, read_toml, shown
from ecsgen.files.project_status import Status

LIBRARY: Final = "ecsgen-runtime"
_NAME: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def to_add(before: Status) -> Iterator[str]:
    """A sentence with the line to add, where a build makes a package need a library not listed.

    That is: the package is new, was vendored, or was made by another version. Nothing is said
    without a pyproject.toml above the package, or where that leaves dependencies to another file.
    """
    last, now = before.manifest, before.expected
    if now.runtime == "vendored":
        return
    if last is not None and (last.runtime, last.ecsgen) == (now.runtime, now.ecsgen):
        return
    output = before.options.output
    file = next((f for p in output.parents if (f := p / OPTIONS_FILE).is_file()), None)
    project = None if file is None else _read(file)
    if file is None or project is None or "dependencies" in _listed(project, "project", "dynamic"):
        return
    if LIBRARY not in {_plain(name) for name in _names(project)}:
        line = _line(project, now.ecsgen, "numba" if now.backend == "numba" else "")
        unlisted = f"{LIBRARY}, which {shown(file)} does not list"
        yield f"{shown(output)} imports {unlisted}; to add: {line}"


def _read(file: Path) -> Mapping[str, Any] | None:
    try:
        return read_toml(file)
    except UsageError:  # no options come from it, or they would have been refused before
        return None


def _line(project: Mapping[str, Any], version: str, extra: str) -> str:
    """What to write, and into which table."""
    if "project" not in project and _table(project, "tool", "poetry"):
        told = f'{{version = "{version}", extras = ["{extra}"]}}' if extra else f'"{version}"'
        return f"{LIBRARY} = {told} in [tool.poetry.dependencies]"
    extras = f"[{extra}]" if extra else ""
    return f'"{LIBRARY}{extras}=={version}" in dependencies of [project]'


def _names(project: Mapping[str, Any]) -> Iterator[str]:
    """The names of all that is listed, for whatever purpose."""
    lists = [_listed(project, "project", "dependencies")]
    for path in (("project", "optional-dependencies"), ("dependency-groups",)):
        lists += [_listed(project, *path, group) for group in _table(project, *path)]
    for requirement in (item for items in lists for item in items):
        if isinstance(requirement, str) and (found := _NAME.match(requirement)):
            yield found[1]
    poetry = _table(project, "tool", "poetry")
    yield from _table(poetry, "dependencies")
    yield from _table(poetry, "dev-dependencies")
    for group in _table(poetry, "group"):
        yield from _table(poetry, "group", group, "dependencies")


def _table(table: Any, *keys: str) -> Mapping[str, Any]:
    """The table at a path; an empty one where there is none, or something else."""
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _listed(table: Any, *path: str) -> list[Any]:
    """The list at a path; an empty one where there is none, or something else."""
    items = _table(table, *path[:-1]).get(path[-1])
    return items if isinstance(items, list) else []


def _plain(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
