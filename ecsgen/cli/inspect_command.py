"""`ecsgen inspect`: a page to look into a world, of a module or of a file."""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from ecsgen.cli.commands import ecsgen
from ecsgen.config import UsageError


@ecsgen.command()
@click.argument("target", metavar="MODULE:ATTR|FILE")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default any free one.")
@click.option("--edit", is_flag=True, help="Let the page change the world.")
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option("--no-verify", is_flag=True, help="Show a FILE of your own with all that is wrong.")
def inspect(target: str, port: int, edit: bool, no_browser: bool, no_verify: bool) -> None:
    """Show a world on a page of this machine, until Ctrl-C; its URL is printed first.

    ATTR of MODULE is a world, or a function that returns one. FILE is a saved world: it is shown
    as it was saved, without the package that saved it.
    """
    try:
        from ecsgen.inspector import serve
    except ImportError as error:
        raise UsageError(str(error)) from None
    with _world(target, verify=not no_verify) as world:
        try:
            serve(world, port=port, edit=edit, open_browser=not no_browser, block=True)
        except OSError as error:
            raise UsageError(f"can't listen on port {port}: {error.strerror}") from None


@contextmanager
def _world(target: str, *, verify: bool) -> Iterator[Any]:
    file = Path(target)
    if ":" in target and not file.exists():
        yield _of_module(target)
        return
    from ecsgen.inspector.saved_worlds import load_saved, refuse_pickle

    refuse_pickle(file)
    with TemporaryDirectory(prefix="ecsgen-") as folder:
        yield load_saved(file, Path(folder), verify=verify)


def _of_module(name: str) -> Any:
    module, _, attribute = name.partition(":")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` has it
    try:
        imported = importlib.import_module(module)
        target = getattr(imported, attribute, None) if attribute else None
        if target is None:
            message = f"the module {imported.__name__!r} has no {attribute!r}: wanted a world"
            raise UsageError(message)
        world = target() if callable(target) and not _is_world(target) else target
    except UsageError:
        raise
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            _raise_program_error(name)
        raise UsageError(f"there is no module {error.name!r}") from None
    except Exception:
        _raise_program_error(name)
    if not _is_world(world):
        raise UsageError(f"{name} is not a world, and returns none: {type(world).__name__}")
    return world


def _is_world(candidate: object) -> bool:
    return isinstance(getattr(type(candidate), "MANAGERS", None), tuple)


def _raise_program_error(target: str) -> None:
    """Print the traceback of the program's own error, and raise UsageError."""
    traceback.print_exc()
    raise UsageError(f"{target} failed: see above")
