"""The files that `ecsgen init` writes: templates beside this module, ending with `.in`."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeAlias

from ecsgen import __version__, fingerprint
from ecsgen.config import OPTIONS_FILE, UsageError, read_toml, shown
from ecsgen.files.transaction import make_folder
from ecsgen.source.regular_files import MAX_BYTES, read_regular_file

NEW, ADDED, KEPT = "new", "added to", "kept"
IGNORED: Final = ".gitignore"

_HERE: Final = Path(__file__).parent
_BARE: Final = {
    OPTIONS_FILE: "pyproject.toml",
    "schemas/bodies.yaml": "bodies.yaml",
    "schemas/world.yaml": "world.yaml",
}
_BARE_FOLDERS: Final = {"schemas": "schemas"}
_FOLDERS: Final = {**_BARE_FOLDERS, "output": "generated"}
"""Folders that the files expect, by their option."""
_EDITORS: Final = ".vscode/ecsgen.schema.json"
_MORE: Final = {
    "main.py": "main.py",
    ".github/workflows/ecsgen.yml": "workflow.yml",
    ".pre-commit-config.yaml": "pre-commit.yaml",
    ".vscode/settings.json": "settings.json",
    ".vscode/extensions.json": "extensions.json",
    _EDITORS: "",
    ".gitattributes": "gitattributes",
    IGNORED: "gitignore",
}


_Act: TypeAlias = tuple[str, str]
"""NEW, ADDED or KEPT, and the text to write into a file, or to add at its end."""


def begin(home: Path, *, bare: bool) -> dict[str, str]:
    """Write the missing files of a project: all of them or none.

    Returns NEW, ADDED or KEPT for each path, relative to `home`. UsageError if a link or a file is
    in place of a folder, or pyproject.toml cannot be read or has options with other folders;
    OSError if the system refuses: nothing is left behind.
    """
    paths = _BARE if bare else _BARE | _MORE
    acts = {path: _act(home, path, name, bare) for path, name in paths.items()}
    with ExitStack() as undo:  # if something fails, changes are undone, the last first
        # Existing files are changed last, when nothing else can fail.
        for path, (act, text) in sorted(acts.items(), key=lambda item: item[1][0] == ADDED):
            if act != KEPT:
                make_folder((home / path).parent, undo)
                _write(home / path, text.encode("utf-8"), act == ADDED, undo)
        undo.pop_all()
    return {path: act for path, (act, _) in acts.items()}


def backend(home: Path) -> object:
    """Return the backend of a project's options; without options, numba if it is installed."""
    file = home / OPTIONS_FILE
    tables = read_toml(file).get("tool") if file.is_file() else None
    if isinstance(tables, dict) and isinstance(table := tables.get("ecsgen"), dict):
        return table.get("backend", "numpy")
    return "numba" if find_spec("numba") else "numpy"


def missing_ignores(home: Path) -> list[str]:
    """Return the patterns of the starter's .gitignore that a project's file lacks. An unreadable
    file and a link lack all of them: git does not follow links here."""
    file = home / IGNORED
    try:
        content = b"" if file.is_symlink() else read_regular_file(file, MAX_BYTES)
    except OSError:
        content = b""
    lines = content.decode("utf-8", "replace").splitlines()
    there = {line.strip().strip("/") for line in lines}
    wanted = _template("gitignore").splitlines()
    return [line for line in wanted if line[0] != "#" and line.strip("/") not in there]


def _act(home: Path, path: str, name: str, bare: bool) -> _Act:
    file = home / path
    _check_folders(home, file.parent)
    if path == OPTIONS_FILE and os.path.lexists(file):
        return _options(home, bare)
    if os.path.lexists(file):
        return KEPT, ""
    return NEW, _text(name, home) if name else editors_schema()


def _check_folders(home: Path, folder: Path) -> None:
    """Raise UsageError if a folder on the way is a link or a file."""
    for path in (folder, *folder.parents):
        if path.is_symlink() and path.is_relative_to(home):
            raise UsageError(f"{shown(path)} is a link; ecsgen init follows none")
        if os.path.lexists(path) and not path.is_dir():
            raise UsageError(f"{shown(path)} is not a folder")


def _options(home: Path, bare: bool) -> _Act:
    """Return the table of options to add to a pyproject.toml without one."""
    file = home / OPTIONS_FILE
    if file.is_symlink() or not file.is_file():
        raise UsageError(f"{shown(file)} is not a plain file; ecsgen init follows no link")
    try:
        text = file.read_bytes().decode("utf-8")
        tables = tomllib.loads(text).get("tool", {})
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{shown(file)}: {error}") from None
    if not isinstance(tables, dict) or "ecsgen" in tables:
        _check_begun(file, tables, _BARE_FOLDERS if bare else _FOLDERS)
        return KEPT, ""
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    added = gap + _text("table.toml", home)
    try:
        tomllib.loads(text + added)
    except ValueError as error:  # as behind `tool = {…}`
        hint = "write [tool.ecsgen] into it yourself"
        raise UsageError(f"{shown(file)} takes no table at its end ({error}); {hint}") from None
    return ADDED, added


def _check_begun(file: Path, tables: object, folders: Mapping[str, str]) -> None:
    """Raise UsageError if options name other folders than the files expect."""
    table = tables.get("ecsgen") if isinstance(tables, dict) else None
    for key, folder in folders.items():
        configured = table.get(key, folder) if isinstance(table, dict) else folder
        named = configured if isinstance(configured, list) else [configured]
        if not any(isinstance(entry, str) and Path(entry) == Path(folder) for entry in named):
            begun = f"{shown(file)} has {key} = {configured!r}: that project has begun already"
            raise UsageError(f"{begun}, and ecsgen init writes for {key} = {folder!r}")


def _template(name: str) -> str:
    return (_HERE / f"{name}.in").read_text(encoding="utf-8")


def _text(template: str, home: Path) -> str:
    """Return the text of a template, its placeholders filled in."""
    chosen = backend(home)
    name = re.sub(r"[^a-z0-9]+", "-", home.resolve().name.lower()).strip("-")
    marks = {
        "@NAME@": name or "simulation",
        "@VERSION@": __version__,
        "@BLACK@": fingerprint.black_version(),
        "@BACKEND@": str(chosen),
        "@NUMBA@": "[numba]" if chosen == "numba" else "",
    }
    return re.sub("@[A-Z]+@", lambda mark: marks[mark.group()], _template(template))


def editors_schema() -> str:
    """Return the JSON Schema of the schema language, as a file."""
    from ecsgen.schema import json_schema

    return json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"


def _write(file: Path, content: bytes, adds: bool, undo: ExitStack) -> None:
    size = file.stat().st_size if adds else 0
    with file.open("ab" if adds else "xb") as stream:
        undo.callback(*((os.truncate, file, size) if adds else (file.unlink,)))
        stream.write(content)
