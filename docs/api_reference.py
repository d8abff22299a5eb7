"""Writes the site's reference of calls, from docstrings: pages for autodoc; and that of codes.

python docs/api_reference.py

Each public name of the library, of the inspector, of checked runs and of an example package with
all policies, which `reference/town.yaml` describes, has an entry. Names that schemas can't use,
because packages have them, are those that users may call; a member of several classes stands with
the first of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from inspect import isclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from ecsgen.diagnostics import printable
from ecsgen.diagnostics.explanations import codes
from ecsgen.schema import names

FOLDER: Final = Path(__file__).parent / "reference"
PACKAGE: Final = "town"
CONSTANTS: Final = "ecsgen_runtime.base.handles"
"""The module that constants come from, with what they are."""
MANAGERS: Final = names.FIELD_NAMES["managers have"]
DATA: Final = names.FIELD_NAMES["`data` has"]
WORLD: Final = names.WORLD_NAMES["worlds have"]
NOT_FOR_USERS: Final = (
    names.FIELD_NAMES["the library calls"] | names.WORLD_NAMES["the library calls"]
)
OF_ENUMS: Final = names.MEMBER_NAMES["enums of Python have"]
ENTITIES: Final = (
    "alive alive_many capacity changes create create_many destroy destroy_many generation index "
    "live nbytes on_destroy require require_many reserve"
)
ARCHETYPES: Final = (
    "add add_many chunks clear components create get has has_many locked nbytes remove "
    "remove_many set shrink_to_fit version"
)
SHARED: Final = {
    "EntityManager": ENTITIES.split(),
    "Archetypes": ARCHETYPES.split(),
    "ArchetypeChunk": names.CHUNK_NAMES["chunks have"],
    "Town": WORLD,
}
"""Members that users may call, by class; of other classes all, and what schemas add."""
MODULES: Final = {"Inspector": "ecsgen.inspector", "Checked runs": "ecsgen.checked"}

_SPACES: Final = "\n\t"
"""Characters of examples that are shown as they are."""

Entries = dict[str, dict[str, list[str]]]
"""Members by class (none of functions and constants), by title of the page."""


def entries(package: ModuleType) -> Entries:
    """Return what the pages list of the example package, of the inspector and of checked runs."""
    groups = dict[str, list[str]]()
    for name in package.__all__:
        if getattr(package, name).__name__ != name if isclass(getattr(package, name)) else False:
            continue  # an alias
        groups.setdefault(_title(name, getattr(package, name)), []).append(name)
    pages: Entries = {}
    for title, group in groups.items():
        seen = set[str]()
        pages[title] = {}
        for name in sorted(group, key=lambda name: -len(_members(package, name))):
            members = [member for member in _members(package, name) if member not in seen]
            seen.update(() if title == "Others" else members)
            pages[title][f"{PACKAGE}.{name}"] = members
    for title, module in MODULES.items():
        found = import_module(module)
        pages[title] = {f"{module}.{name}": _members(found, name) for name in found.__all__}
    return pages


def _title(name: str, value: Any) -> str:
    """Return the page of a name of the package."""
    if isclass(value) and issubclass(value, Exception):
        return "Errors"
    kinds = {"Manager": "Managers", "Data": "Columns of a manager", "Ref": "Objects"}
    kinds |= {"Query": "Queries", "Rows": "Queries", "Row": "Queries", "Group": "Groups"}
    if name in SHARED:
        return "World" if name == "Town" else "Entities and archetypes"
    return next((title for end, title in kinds.items() if name.endswith(end)), "Others")


def _members(module: ModuleType, name: str) -> list[str]:
    """Return the members of a class that users may call, in order; of others none."""
    value = getattr(module, name)
    if not isclass(value):
        return []
    wanted: Iterable[str] | None = SHARED.get(name)
    if name.endswith("Manager") and wanted is None:
        wanted = MANAGERS
    elif name.endswith("Data"):
        wanted = DATA
    hidden = NOT_FOR_USERS | (OF_ENUMS if issubclass(value, int) else frozenset())
    homes = {
        member: of.__module__.partition(".")[0]
        for of in reversed(value.__mro__)
        for member in vars(of)
        if not member.startswith("_") and member not in hidden
    }
    is_made = name not in ("EntityManager", "Archetypes")
    return [
        member
        for member, home in sorted(homes.items())
        if (home == PACKAGE and is_made)
        or (home.startswith(("ecsgen", PACKAGE)) and (wanted is None or member in wanted))
    ]


def page(title: str, objects: dict[str, list[str]]) -> Iterator[str]:
    """Yield the lines of a page."""
    yield from (title, "=" * len(title), "")
    for path, members in objects.items():
        module, _, name = path.rpartition(".")
        value = getattr(import_module(module), name)
        if hasattr(value, "__origin__"):
            yield from (f".. py:data:: {path}", "", f"   An alias of ``{value}``.")
        elif not callable(value):
            yield from (f".. autodata:: {CONSTANTS}.{name}", "   :no-value:")
        else:
            yield f".. auto{'class' if isclass(value) else 'function'}:: {path}"
        if members:
            yield from (f"   :members: {', '.join(members)}", "   :undoc-members:")
        yield ""


def codes_page() -> str:
    """Return what `ecsgen explain` says of each code."""
    parts = ["# Every code\n"]
    for code, entry in codes().items():
        parts.append(f"## {code}: {entry.title}\n\n{entry.reason}\n")
        for name, schema in (("Wrong", entry.wrong), ("Right", entry.right)):
            if schema is not None:
                parts.append(f"{name}:\n\n```text\n{printable(schema, but=_SPACES)}```\n")
    return "\n".join(parts)


def main() -> None:
    for title, objects in entries(import_module(PACKAGE)).items():
        path = FOLDER / f"{title.lower().replace(' ', '-')}.rst"
        path.write_text("\n".join(page(title, objects)), encoding="utf-8")
    (FOLDER / "every-code.md").write_text(codes_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
