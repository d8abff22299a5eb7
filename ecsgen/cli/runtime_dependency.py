"""Check of the project's dependencies: is the library listed that the package imports?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ecsgen.config import OPTIONS_FILE, UsageError, read_toml, shown
from ecsgen.files.project_status import Status

LIBRARY: Final = "ecsgen-runtime"
_NAME: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def missing_dependency(before: Status) -> Iterator[str]:
    """Yield a sentence with the line to add if a package needs a library that is not listed.

    Only if the package is new, was vendored or was made by another version. Nothing is yielded
    without a pyproject.toml above the package, or if its dependencies are dynamic.
    """
    last, now = before.manifest, before.expected
    if now.runtime == "vendored":
        return
    if last is not None and (last.runtime, last.ecsgen) == (now.runtime, now.ecsgen):
        return
    output = before.options.output
    file = next((f for p in output.parents if (f := p / OPTIONS_FILE).is_file()), None)
    if file is None:
        return
    try:
        project = read_toml(file)
    except UsageError:  # no options come from it, or they would have been refused before
        return
    if "dependencies" in _listed(project, "project", "dynamic"):
        return
    if LIBRARY not in {re.sub(r"[-_.]+", "-", name).lower() for name in _names(project)}:
        line = _line(project, now.ecsgen, "numba" if now.backend == "numba" else "")
        unlisted = f"{LIBRARY}, which {shown(file)} does not list"
        yield f"{shown(output)} imports {unlisted}; to add: {line}"


def _line(project: Mapping[str, Any], version: str, extra: str) -> str:
    if "project" not in project and _table(project, "tool", "poetry"):
        text = f'{{version = "{version}", extras = ["{extra}"]}}' if extra else f'"{version}"'
        return f"{LIBRARY} = {text} in [tool.poetry.dependencies]"
    extras = f"[{extra}]" if extra else ""
    return f'"{LIBRARY}{extras}=={version}" in dependencies of [project]'


def _names(project: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of all listed distributions, extras and groups included."""
    lists = [_listed(project, "project", "dependencies")]
    for path in (("project", "optional-dependencies"), ("dependency-groups",)):
        lists += [_listed(project, *path, group) for group in _table(project, *path)]
    for requirement in (item for items in lists for item in items):
        if isinstance(requirement, str) and (match := _NAME.match(requirement)):
            yield match[1]
    poetry = _table(project, "tool", "poetry")
    yield from _table(poetry, "dependencies")
    yield from _table(poetry, "dev-dependencies")
    for group in _table(poetry, "group"):
        yield from _table(poetry, "group", group, "dependencies")


def _table(table: Any, *keys: str) -> Mapping[str, Any]:
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table if isinstance(table, Mapping) else {}


def _listed(table: Any, *path: str) -> list[Any]:
    """Return the list at a path, empty if there is none."""
    items = _table(table, *path[:-1]).get(path[-1])
    return items if isinstance(items, list) else []
