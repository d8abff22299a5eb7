"""Provenance of results: the package that made them, and versions.

A package is read as files and never imported, so that a command can look at one that it does not
run.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from importlib import metadata
from importlib.resources.abc import Traversable
from typing import Final, NotRequired, TypedDict

import numpy as np

from .version import __version__

MANIFEST: Final = ".ecsgen.json"
"""The file of a package that lists its schemas."""
_VENDORED: Final = "_runtime"
"""The folder of a package's copies of this library."""


class WorldState(TypedDict):
    """The state of a world, as provenance has it."""

    fingerprint: str
    """Of the package's schemas: `World.FINGERPRINT`."""
    seed: int | None
    tick: int | None
    digest: str
    """SHA-256 of what `save` writes, with columns of objects left out."""


class Provenance(TypedDict):
    """The origin of a result, as JSON can hold it."""

    code: dict[str, str]
    """Digests by name: of a package, of schemas, of functions."""
    versions: dict[str, str]
    world: NotRequired[WorldState]


def versions() -> dict[str, str]:
    """Return the versions of what a model runs on, and the platform."""
    listed = {"Python": platform.python_version(), "numpy": np.__version__}
    listed |= {"ecsgen-runtime": __version__}
    listed |= {"platform": f"{platform.system()} {platform.machine()}"}
    with suppress(metadata.PackageNotFoundError):
        listed["numba"] = metadata.version("numba")
    return listed


def package_digest(folder: Traversable) -> str:
    """Return a digest of a package's modules, vendored ones included, tests not; O(bytes)."""
    texts = sha256()
    for name, text in sorted(_modules(folder)):
        texts.update(f"{name} {len(text)}\n".encode() + text)
    return texts.hexdigest()[:32]


def _modules(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, bytes]]:
    for file in folder.iterdir():
        if file.name.endswith(".py"):
            yield prefix + file.name, file.read_bytes()
        elif file.is_dir() and (prefix or file.name == _VENDORED):
            yield from _modules(file, f"{prefix}{file.name}/")


def package_provenance(folder: Traversable, name: str) -> Provenance:
    """Return digests of a package and of its schemas, and the versions here; O(bytes).

    Schemas and the version of ecsgen are those of the package's manifest, if it has one that can be
    read. The library's version is left out where the package has copies, which are its modules.
    """
    code, listed = {f"package {name}": package_digest(folder)}, versions()
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError):
        manifest = json.loads((folder / MANIFEST).read_bytes())
        code |= {f"schema {schema}": digest for schema, digest in manifest["schemas"].items()}
        listed["ecsgen"] = manifest["ecsgen"]
    if (folder / _VENDORED).is_dir():
        del listed["ecsgen-runtime"]
    return {"code": code, "versions": listed}


def differences(then: Provenance | None, now: Provenance) -> list[str]:
    """Return the differences from the provenance in a file, in words."""
    if then is None:
        return ["it does not say of what model"]
    old, new = then["versions"], now["versions"]
    return [
        *(f"{name} is another one" for name in _changed(then["code"], now["code"])),
        *(
            f"{name} {old.get(name, 'none')} then, {new.get(name, 'none')} now"
            for name in _changed(old, new)
        ),
    ]


def _changed(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))
