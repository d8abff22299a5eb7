"""Saved worlds without their package: a temporary one is made from the schema in the file."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

import yaml
from ecsgen_runtime.snapshots.documents import SETTINGS, WORLD, state_key, without_settings

from ecsgen.config import Options, UsageError, shown
from ecsgen.diagnostics import Diagnostics
from ecsgen.inspector.component_readers import InspectedWorld
from ecsgen.model import Project
from ecsgen.model.snapshot_schema import Document
from ecsgen.policies import list_keys
from ecsgen.source.schema_roots import SchemaRoot

_PICKLED: Final = b"\x80"
_PLAIN: Final = ("owner", "instances", "lookup", "destroy", "ids", "cold")
"""Keys that a schema has with the same values as a file."""
_NOTES: Final = ("tick", "seed", "calls")
"""Keys of the time and of random streams in the state of a file."""


class _Dumper(yaml.SafeDumper):
    """Writes YAML with all texts in quotes: unquoted, some are read as numbers."""


_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def load_saved(file: Path, folder: Path, *, verify: bool = True) -> Any:
    """Return the world in a file, of a package that is written into a folder.

    Columns of objects stay empty: no code in the file is run. Without `verify`, cells may be
    invalid for their fields. UsageError for what is no saved world, or not there.
    """
    try:
        project, state = _read(file, folder)
        package = _import_package(project, folder)
        _save_notes(package.World, state.get(WORLD, {}))
        for module, kind in package.World.MANAGER_CLASSES.items():
            _save_notes(kind, state.get(state_key(module), {}))
        try:
            return package.World.load(file, codecs={"*": None}, verify=verify)
        except package.SnapshotError as error:
            suffix = "; --no-verify shows it unchecked" if verify else ""
            raise UsageError(f"{error}{suffix}") from None
    except OSError as error:
        raise UsageError(
            f"can't read {shown(file.absolute())}: {error.strerror or error}"
        ) from None


def refuse_pickle(file: Path) -> None:
    """Raise UsageError for a pickle: reading one runs its code."""
    with file.open("rb") as stream:
        is_pickle = file.suffix in (".pkl", ".pickle", ".p") or stream.read(1) == _PICKLED
    if is_pickle:
        raise UsageError(
            f"{file} is a pickle, which runs code when it is read; save worlds with world.save"
        )


def save_beside(world: InspectedWorld, folder: Path, name: str) -> None:
    """Save a world as a new file in a folder; columns of objects stay empty.

    Raises ValueError for a name that is there already, or leads out of the folder, and for what the
    system refuses.
    """
    if not name.isprintable() or name in ("", ".", "..") or {*name} & {*"/\\:"}:
        raise ValueError(f"wanted the name of a new file, such as new.snap, not {name[:100]!r}")
    file = folder / name
    if os.path.lexists(file):
        raise ValueError(f"{name} is there already: wanted the name of a new file")
    try:
        world.save(file, codecs={"*": None})
    except OSError as error:
        raise ValueError(f"{name}: {error.strerror or error}") from None


def _save_notes(kind: Any, state: Document) -> None:
    """Make worlds or managers save the time and the random streams of a file, which belong to
    schedules and kernels that they lack."""
    notes = {name: state[name] for name in _NOTES if name in state}
    if notes:
        without = kind.json_state
        kind.json_state = lambda self: {**without(self), **notes}
    if "tick" in notes:
        kind.tick = notes["tick"]  # the page shows it


def _read(file: Path, folder: Path) -> tuple[Project, Document]:
    """Return the project of the schema in a file, and the `state` of the file."""
    from ecsgen_runtime.base.errors import SnapshotError
    from ecsgen_runtime.snapshots.content_checks import checked_documents
    from ecsgen_runtime.snapshots.documents import parsed_json
    from ecsgen_runtime.snapshots.reading import read_snapshot
    from ecsgen_runtime.snapshots.snapshot_format import SnapshotFormat

    from ecsgen import schema

    try:
        snapshot = read_snapshot(file, map_pages=True)
        name = snapshot.name
        match parsed_json(snapshot.metadata["schema"], "the schema", name):
            case {"entity": {"shard_bits": _}}:  # its schema is not enough to load it
                raise UsageError(
                    f"{name} is of a world with `shards`: load it with its package, and show that"
                    " world, as in `ecsgen inspect my_game:load_world`"
                )
        saved = checked_documents(snapshot, SnapshotFormat())
    except SnapshotError as error:
        raise UsageError(str(error)) from None
    (folder / "schemas").mkdir()
    text = schema_text(without_settings(saved.schema))
    (folder / "schemas" / "saved.yaml").write_text(text, encoding="utf-8")
    diagnostics = Diagnostics()
    project = schema.load(folder / "schemas", diagnostics)
    if project is None:
        first = next(iter(diagnostics))
        raise UsageError(f"{file}: this version of ecsgen refuses its schema: {first.message}")
    return project, saved.state


def _import_package(project: Project, folder: Path) -> Any:
    from ecsgen.render import texts

    name = f"saved_{token_hex(4)}"  # not imported yet
    here = folder / name
    root = (SchemaRoot(folder / "schemas"),)
    options = Options(root, here, "numpy", tests=None, jobs=1, line_length=88)
    for path, text in texts(project, options).items():
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_text(text, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))


def schema_text(saved: Document) -> str:
    """Return the schema of a snapshot in the language of schemas."""
    documents: list[Document] = [
        {"enum": name, "values": enum["members"], "flags": enum["flags"]}
        for name, enum in saved["enums"].items()
    ]
    documents += [_component(name, part) for name, part in saved["components"].items()]
    documents.append(_world(saved))
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def _component(name: str, component: Document) -> Document:
    document: Document = {"component": name}
    if "grid" in component:
        document["grid"] = {"shape": [1] * component["grid"]}  # the file has the real shape
    elif component["in"] == "managers":  # without `on`: occupants load as plain rows
        document |= {key: component[key] for key in _PLAIN}
        if component["partition"]:
            document["partition"] = {"start": component["partition"]}
        if component["hierarchy"]:
            document["hierarchy"] = {"orphans": component["hierarchy"]}
        names = [key.name for key in list_keys("component")]
        document |= {name: component[name] for name in names if name in component}
    document["fields"] = {key: _field(field) for key, field in component["fields"].items()}
    return document


def _field(field: Document) -> Document:
    kind = field["type"]
    document: Document = {"type": kind, "unit": field["unit"], "split": field["split"]}
    if field["cold"]:
        document["tags"] = ["cold"]
    document |= {key.name: field[key.name] for key in list_keys("field") if key.name in field}
    if kind != "object" and not kind.startswith(("entity", "id<")):
        document["default"] = _default(field["default"], kind)
    return document


def _default(value: Any, kind: str) -> Any:
    """Return a default as in a schema, where a member may be its number."""
    if isinstance(value, list) and not kind.startswith("bytes"):
        return [_default(part, kind) for part in value]
    return float(value) if kind.startswith("f") else value


def _world(saved: Document) -> Document:
    chunked = [name for name, part in saved["components"].items() if part["in"] == "archetypes"]
    document: Document = {"world": "World", "version": saved["version"], "entity": saved["entity"]}
    if SETTINGS in saved:  # bounds are not saved
        keys = ("type", "unit", "default")
        settings = {key: _field(field) for key, field in saved[SETTINGS].items()}
        document[SETTINGS] = {n: {k: f[k] for k in keys if k in f} for n, f in settings.items()}
    if saved["groups"]:
        document["groups"] = saved["groups"]
    if chunked:
        document["archetypes"] = {"components": chunked}
    return document
