"""Digests of the inputs of a build besides schemas and options, taken without importing them."""

from __future__ import annotations

import hashlib
import os
import sys
from glob import glob
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).parent

# The generated text does not depend on these, so a change of them needs no new build.
_WITHOUT_INFLUENCE = {
    *("cli", "config.py", "diagnostics", "files", "inspector", "pictures", "starter"),
    "accelerator",
}


def digest(content: bytes) -> str:
    """Return the digest that manifests hold: 128 bits of SHA-256, in hex."""
    return hashlib.sha256(content).hexdigest()[:32]


def templates_folder() -> Path:
    """Return the templates' folder: inside an installed package, beside it in a checkout."""
    inside = PACKAGE / "templates"
    return inside if inside.is_dir() else PACKAGE.parent / "templates"


def import_folder(package: str) -> Path:
    """Return the folder of a package, which is not imported: `ecsgen_testing` takes a second."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    return Path(spec.origin).parent


def generator() -> str:
    """Return a digest of ecsgen's sources and templates, equal for a checkout and its wheel."""
    files = _files(PACKAGE, "ecsgen", ".py") | _files(templates_folder(), "templates", ".j2")
    for package in ("ecsgen_runtime", "ecsgen_testing"):
        files |= _files(import_folder(package), package, ".py")
    digests = (f"{name} {digest(files[name].read_bytes())}\n" for name in sorted(files))
    return digest("".join(digests).encode())


def _files(top: Path, name: str, suffix: str) -> dict[str, Path]:
    """Return files below a folder by path with forward slashes, starting with `name`."""
    paths = {}
    for folder, folders, files in os.walk(top):
        folders[:] = [f for f in folders if f not in ("__pycache__", "templates")]
        below = Path(folder).relative_to(top)
        for file in files:
            path = below / file
            if file.endswith(suffix) and path.parts[0] not in _WITHOUT_INFLUENCE:
                paths[f"{name}/{path.as_posix()}"] = Path(folder, file)
    return paths


def black_version() -> str:
    """Return the version of the black that an import would find.

    Read from the name of its metadata folder: importlib.metadata alone takes 40 ms to import.
    """
    for entry in sys.path:
        for name in sorted(glob("black-*.dist-info", root_dir=entry or ".")):
            return name.removeprefix("black-").removesuffix(".dist-info")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("black")  # zipped or otherwise unusual installations
    except PackageNotFoundError:
        import black  # a checkout has none

        return str(vars(black)["__version__"])
