"""Programs that commands run, and packages that they look at."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ecsgen.config import UsageError, shown
from ecsgen.files.manifest import BrokenManifestError, Manifest, read
from ecsgen.files.output_paths import MANIFEST


class ProgramWorld(NamedTuple):
    """A world that a target names."""

    world: Any
    make: Callable[..., Any] | None = None
    """The function that made the world, if one did, and the step that it returned."""
    step: Callable[..., object] | None = None
    folder: Path | None = None
    """Where a saved world was."""


def find_target(name: str, wanted: str) -> Any:
    """Import a module, seen from here as `python -m` sees it, and return an attribute of it. Raises
    UsageError, after the traceback if the module itself fails."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    with program_errors(name):
        try:
            imported = importlib.import_module(module)
        except ModuleNotFoundError as error:
            if not f"{module}.".startswith(f"{error.name}."):
                raise
            raise UsageError(f"there is no module {error.name!r}") from None
    target = getattr(imported, attribute, None) if attribute else None
    if target is None:
        raise UsageError(f"the module {imported.__name__!r} has no {attribute!r}: wanted {wanted}")
    return target


@contextmanager
def program_errors(target: str) -> Iterator[None]:
    """Raise UsageError for an error of the program's own, after its traceback, and for its exit."""
    try:
        yield
    except UsageError:
        raise
    except SystemExit as exit:
        raise UsageError(f"{target} ended with sys.exit({exit.code!r})") from None
    except Exception:
        traceback.print_exc()
        raise UsageError(f"{target} failed: see above") from None


def find_world(name: str) -> ProgramWorld:
    """Return the world that `MODULE:ATTR` names: itself, or what a function there returns."""
    target = find_target(name, "a world")
    make = target if callable(target) and not is_world(target) else None
    with program_errors(name):
        world = target if make is None else make()
    step = None
    if isinstance(world, tuple):  # (world, step), as `make` may return
        world, step = world
    if not is_world(world):
        raise UsageError(f"{name} is not a world, and returns none: {type(world).__name__}")
    return ProgramWorld(world, make, step)


def is_world(candidate: object) -> bool:
    """Return whether something is a world, of whatever package."""
    return isinstance(getattr(type(candidate), "MANAGERS", None), tuple)


def built_package(folder: Path) -> Manifest:
    """Return the manifest of the package in a folder; UsageError if there is none."""
    try:
        built = read(folder / MANIFEST)
    except BrokenManifestError as error:
        raise UsageError(f"{shown(folder / MANIFEST)}: {error}") from None
    if built is None:
        raise UsageError(
            f"there is no package in {shown(folder)}: wanted the folder that `ecsgen build` writes"
        )
    return built
