"""Options of a build: `[tool.ecsgen]` of the nearest pyproject.toml, under the command line."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from stat import S_IFDIR, S_IFLNK, S_IFMT
from typing import Any, Literal

from ecsgen.diagnostics import did_you_mean
from ecsgen.source.schema_roots import PACKAGE, SchemaRoot, folders, package

Backend = Literal["numpy", "numba"]
BACKENDS: tuple[Backend, ...] = ("numpy", "numba")
Runtime = Literal["installed", "vendored"]
RUNTIMES: tuple[Runtime, ...] = ("installed", "vendored")
_CHOICES: Mapping[str, tuple[str, ...]] = {"backend": BACKENDS, "runtime": RUNTIMES}
OPTIONS_FILE = "pyproject.toml"
REMEMBERED = ("backend", "runtime", "parallel")
"""Options of a build that the next one does not change without a word."""
LINE_LENGTHS = range(40, 401)
_CODING = re.compile(r"(?a:.*?coding[:=][ \t]*(?!(?i:utf-8)(?![\w.]))[-\w.])")  # PEP 263

Defaults = Mapping[str, str | bool]
POLICIES: Mapping[str, tuple[str | bool, ...]] = {
    "lookup": ("sparse", "hash", "direct"),
    "destroy": ("gc", "callback", "manual"),
    "release": (True, False),
    "ids": (True, False),
    "cold": ("inline", "indirect"),
}
"""Choices of `[tool.ecsgen.defaults]`, for components whose schemas set no policy."""


class UsageError(Exception):
    """A request that cannot be done as asked: exit status 2."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a build. Paths are absolute."""

    schemas: tuple[SchemaRoot, ...]
    output: Path
    backend: Backend
    tests: Path | None  # the folder of the generated tests; None leaves them out
    jobs: int
    line_length: int
    runtime: Runtime = "installed"  # whether the package imports the library, or copies of it
    compiled: bool | None = None  # key of older projects, without effect
    header: str = ""  # comment lines at the top of each generated file
    defaults: Defaults = field(default_factory=dict)  # policies where schemas say nothing
    parallel: bool = False  # whether kernels use all cores where schemas do not say it; with numba

    @property
    def tests_location(self) -> str | None:
        """The tests' folder as seen from the output folder, with forward slashes."""
        return None if self.tests is None else _relative(self.tests, self.output)

    @property
    def is_parallel(self) -> bool:
        """True if kernels use all cores where schemas do not say it."""
        return self.parallel and self.backend == "numba"

    @property
    def tests_moved(self) -> bool:
        """True if the tests are outside the generated package."""
        return self.tests is not None and self.tests_location != "tests"


def load_options(
    *,
    schemas: Path | None = None,
    output: Path | None = None,
    backend: Backend | None = None,
    runtime: Runtime | None = None,
    parallel: bool | None = None,
    jobs: int | None = None,
) -> Options:
    """Return the options for the working directory; arguments win over pyproject.toml.

    Paths of arguments are relative to the working directory, those of pyproject.toml to its folder.
    Raises `UsageError` for unknown keys, wrong types and folders that overlap.
    """
    cwd = Path.cwd()
    home, table = _nearest_table(cwd)
    output = _absolute(cwd, output) if output else _absolute(home, table.get("output", "generated"))
    entries, base = ([str(schemas)], cwd) if schemas else (table.get("schemas", "schemas"), home)
    tests = table.get("tests", True)
    folder = _absolute(home, tests) if isinstance(tests, str) else output / "tests"
    options = Options(
        schemas=_roots(entries, base),
        output=output,
        backend=backend or table.get("backend", "numpy"),
        runtime=runtime or table.get("runtime", "installed"),
        tests=folder if tests else None,
        jobs=jobs or table.get("jobs") or _cores(),
        line_length=table.get("line_length", 88),
        compiled=table.get("compiled"),
        header=table.get("header", ""),
        defaults=dict(sorted(table.get("defaults", {}).items())),
        parallel=table.get("parallel", False) if parallel is None else parallel,
    )
    _check_folders(options)
    return options


def explicit_keys(options: Options) -> set[str]:
    """Return the keys that pyproject.toml or the command line sets."""
    plain, (_, table) = load_options(), _nearest_table(Path.cwd())
    return {*table, *(key for key in REMEMBERED if getattr(options, key) != getattr(plain, key))}


def _roots(configured: str | list[str], base: Path) -> tuple[SchemaRoot, ...]:
    """Return schema roots of folders and of packages, written `package:name`."""
    entries = [configured] if isinstance(configured, str) else configured
    named = [entry for entry in entries if entry.startswith(PACKAGE)]
    plain = [_absolute(base, entry) for entry in entries if entry not in named]
    try:
        packages = [package(entry.removeprefix(PACKAGE)) for entry in named]
    except LookupError as error:
        raise UsageError(f"schemas: {error.args[0]}") from None
    return (*folders(plain, base), *packages)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _absolute(base: Path, path: Path | str) -> Path:
    # Not resolve(): a link stays what the user calls it, and the writer looks for links itself.
    return Path(os.path.abspath(base / path))


def _relative(path: Path, base: Path) -> str:
    return Path(os.path.relpath(path, base)).as_posix()


def _check_folders(options: Options) -> None:
    """Raise UsageError for folders that are links or files, or that overlap."""
    output, tests = options.output, options.tests
    if any(root.path.is_relative_to(output) for root in options.schemas):
        raise UsageError(
            f"the output folder {shown(output)} contains the schemas; choose one of its own with -o"
        )
    if (kind := _kind_of_file(output)) == S_IFLNK:
        raise UsageError(f"the output folder {shown(output)} is a link; name the folder itself")
    if kind not in (0, S_IFDIR):
        raise UsageError(f"the output folder {shown(output)} is not a folder")
    if tests is None or tests == output / "tests":
        return
    if tests.is_relative_to(output):
        raise UsageError(
            f"[tool.ecsgen] tests: {shown(tests)} lies inside the output folder;"
            " leave the key out, or name a folder outside"
        )
    if _kind_of_file(tests) not in (0, S_IFDIR):
        raise UsageError(f"[tool.ecsgen] tests: {shown(tests)} is not a folder")
    try:
        _relative(tests, output)
    except ValueError as error:  # another drive
        raise UsageError(f"[tool.ecsgen] tests: {error}") from None


def _kind_of_file(path: Path) -> int:
    """Return the kind of file at a path, 0 if there is none. OSError for what can't be a path."""
    try:
        return S_IFMT(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return 0


def shown(path: Path) -> str:
    """Return a path as the user would type it: relative if below the working directory."""
    cwd = Path.cwd()
    return path.relative_to(cwd).as_posix() if path.is_relative_to(cwd) else str(path)


def _nearest_table(cwd: Path) -> tuple[Path, Mapping[str, Any]]:
    """Return the folder that configured paths are relative to, by default `cwd`, and the table."""
    for folder in (cwd, *cwd.parents):
        file = folder / OPTIONS_FILE
        if file.is_file():
            tool = read_toml(file).get("tool")
            if isinstance(tool, dict) and "ecsgen" in tool:
                return folder, _checked_table(tool["ecsgen"], file)
            break
    return cwd, {}


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a TOML file. Raises `UsageError` if it cannot be read."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{shown(file)}: {error}") from None


def _checked_table(table: object, file: Path) -> Mapping[str, Any]:
    where = f"{shown(file)}: [tool.ecsgen]"
    if not isinstance(table, Mapping):
        raise UsageError(f"{where} must be a table")
    known = [key.name for key in fields(Options)]  # each is a key of the table
    for key, value in table.items():
        if key not in known:
            raise UsageError(f"{where}: unknown key {key!r}{_hint(key, known)}")
        if problem := _problem(key, value):
            hint = _hint(value, _CHOICES.get(key, ())) if isinstance(value, str) else ""
            raise UsageError(f"{where} {key}: {problem}, not {value!r}{hint}")
    for key, value in table.get("defaults", {}).items():
        where, choices = f"{shown(file)}: [tool.ecsgen.defaults]", POLICIES.get(key)
        if choices is None:
            raise UsageError(f"{where} unknown key {key!r}{_hint(key, POLICIES)}")
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            words = " or ".join(repr(c) if isinstance(c, str) else str(c).lower() for c in choices)
            raise UsageError(f"{where} {key}: must be {words}, not {value!r}")
    return table


def _problem(key: str, value: object) -> str:
    """Return the error in a key's value, empty if there is none."""
    match key:
        case "output" if not _is_path(value):
            return "must be the path of a folder"
        case "schemas" if not _are_paths(value):
            return "must be the path of a folder, 'package:NAME', or a list of those"
        case "tests" if not isinstance(value, bool) and not _is_path(value):
            return "must be the path of a folder, true or false"
        case "backend" | "runtime" if value not in _CHOICES[key]:
            return f"must be {' or '.join(map(repr, _CHOICES[key]))}"
        case "compiled" | "parallel" if not isinstance(value, bool):
            return "must be true or false"
        case "header" if (
            not isinstance(value, str) or not re.sub(r"[\t\n]", "", value).isprintable()
        ):
            return "must be text without control characters"
        case "header" if any(map(_CODING.match, str(value).split("\n")[:2])):
            return "must not name an encoding ('coding:') in its first two lines: Python obeys it"
        case "defaults" if not isinstance(value, Mapping):
            return "must be a table"
        case "jobs" if type(value) is not int or value < 1:
            return "must be a whole number from 1"
        case "line_length" if type(value) is not int or value not in LINE_LENGTHS:
            return f"must be a whole number from {LINE_LENGTHS[0]} to {LINE_LENGTHS[-1]}"
    return ""


def _is_path(value: object) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def _are_paths(value: object) -> bool:
    if not isinstance(value, list):
        return _is_path(value)
    return bool(value) and all(map(_is_path, value)) and len({*value}) == len(value)


def _hint(word: object, known: Iterable[str]) -> str:
    """Return the end of a message about an unknown word: the nearest one, if there is one."""
    hint = did_you_mean(str(word).lower().replace("-", "_"), known)
    return hint and f"; {hint}"
