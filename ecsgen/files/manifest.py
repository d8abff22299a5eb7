"""The manifest: which files of the output folder are ecsgen's, and what they were made from.

JSON with one line per schema and per file, so that merges stay readable. It holds no time and
nothing of the machine: equal builds write equal manifests. A cache, which git ignores, is a
manifest with digests of inputs, by which a later build skips files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ecsgen.files.output_paths import is_safe
from ecsgen.source.regular_files import read_regular_file

_COMMENT = "Written by ecsgen build: commit it, do not edit it."
_MAX_BYTES = 64 << 20
_ALWAYS = ("ecsgen", "black", "backend", "runtime", "line_length", "tests")


@dataclass(frozen=True, slots=True)
class Entry:
    """One generated file: digests of its bytes and, in a cache, of what it was made from."""

    output: str
    inputs: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Options and files of a build."""

    ecsgen: str  # version
    black: str  # version
    backend: str
    runtime: str  # whether the library is imported, or copied
    line_length: int
    tests: str | None  # the tests' folder, relative to the output folder
    header: str = ""  # at the top of each file
    defaults: Mapping[str, str | bool] = field(default_factory=dict)  # policies of the project
    parallel: bool = False  # whether kernels use all cores where schemas do not say it
    schemas: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Entry] = field(default_factory=dict)
    generator: str = ""  # in a cache: digest of ecsgen's sources and templates

    @property
    def committed(self) -> Manifest:
        """The manifest without the digests that only a cache has."""
        files = {path: Entry(entry.output) for path, entry in self.files.items()}
        return replace(self, generator="", files=files)


class BrokenManifestError(Exception):
    """A manifest that cannot be read."""


def read(path: Path) -> Manifest | None:
    """Return the manifest, None without a file. Raises `BrokenManifestError`."""
    if path.is_symlink():
        raise BrokenManifestError("it is a link")
    try:
        content = json.loads(read_regular_file(path, _MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise BrokenManifestError(str(error)) from None
    return _parse(content)


def text(manifest: Manifest) -> str:
    """Return the text of a manifest: deterministic, one entry per line."""
    head: dict[str, object] = {"comment": _COMMENT}
    head |= {name: getattr(manifest, name) for name in _ALWAYS}
    optional = ("generator", "header", "defaults", "parallel")
    head |= {name: content for name in optional if (content := getattr(manifest, name))}
    files = {
        path: {"inputs": e.inputs, "output": e.output} if e.inputs else {"output": e.output}
        for path, e in manifest.files.items()
    }
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    lines.append(_section("schemas", manifest.schemas))
    lines.append(_section("files", files))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _section(name: str, entries: Mapping[str, Any]) -> str:
    lines = [f"    {json.dumps(key)}: {json.dumps(entries[key])}" for key in sorted(entries)]
    return f'  "{name}": {{\n' + ",\n".join(lines) + "\n  }"


def _parse(content: Any) -> Manifest:
    try:
        manifest = Manifest(
            ecsgen=_string(content["ecsgen"]),
            black=_string(content["black"]),
            backend=_string(content["backend"]),
            runtime=_string(content.get("runtime", "vendored")),  # as all were once
            line_length=int(content["line_length"]),
            tests=None if content["tests"] is None else _string(content["tests"]),
            header=_string(content.get("header", "")),
            defaults=dict(content.get("defaults", {})),
            parallel=bool(content.get("parallel", False)),
            schemas={_string(k): _string(v) for k, v in content["schemas"].items()},
            files={
                _string(path): Entry(_string(entry["output"]), _string(entry.get("inputs", "")))
                for path, entry in content["files"].items()
            },
            generator=_string(content.get("generator", "")),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BrokenManifestError(f"unexpected content: {error!r}") from None
    for path in manifest.files:
        if not is_safe(path):
            raise BrokenManifestError(f"{path!r} is no path inside the output folder")
    return manifest


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is not a string")
    return value
