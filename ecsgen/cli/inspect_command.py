"""`ecsgen inspect`: a page to look into a world, of a module or of a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import click

from ecsgen.cli.commands import ecsgen
from ecsgen.cli.programs import find_target, raise_program_error
from ecsgen.config import UsageError

if TYPE_CHECKING:
    from ecsgen_runtime.world.world_base import WorldBase


@ecsgen.command()
@click.argument("target", metavar="MODULE:ATTR|FILE")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default any free one.")
@click.option("--edit", is_flag=True, help="Let the page change the world.")
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option("--no-verify", is_flag=True, help="Show a FILE of your own with all that is wrong.")
@click.option("--step", metavar="NAME", help="What to run: of the world, or of MODULE.")
def inspect(
    target: str, port: int, edit: bool, no_browser: bool, no_verify: bool, step: str | None
) -> None:
    """Show a world on a page of this machine, until Ctrl-C; its URL is printed first.

    ATTR of MODULE is a world, or a function that returns one. FILE is a saved world: it is shown
    as it was saved, without the package that saved it.
    """
    try:
        from ecsgen.inspector import serve
    except ImportError as error:
        raise UsageError(str(error)) from None
    with _world(target, verify=not no_verify) as (world, make, folder):
        run = None if step is None else _step_of(world, target, step)
        try:
            inspector = serve(
                world,
                step=run,
                make=make,
                port=port,
                edit=edit,
                save_folder=folder,
                open_browser=not no_browser,
            )
        except OSError as error:
            raise UsageError(f"can't listen on port {port}: {error.strerror}") from None
        except TypeError as error:
            raise UsageError(str(error)) from None
        print(inspector.url, flush=True)
        with inspector:
            try:
                inspector.run_or_tick()
            except Exception:
                raise_program_error(step or target)


@contextmanager
def _world(
    target: str, *, verify: bool
) -> Iterator[tuple[Any, Callable[..., Any] | None, Path | None]]:
    """Yield the world of a target, the function that made it if one did, and its file's folder."""
    file = Path(target)
    if ":" in target and not file.exists():
        yield *_of_module(target), None
        return
    from ecsgen.inspector.saved_worlds import load_saved, refuse_pickle

    refuse_pickle(file)
    with TemporaryDirectory(prefix="ecsgen-") as folder:
        yield load_saved(file, Path(folder), verify=verify), None, file.absolute().parent


def _of_module(name: str) -> tuple[Any, Callable[..., Any] | None]:
    target = find_target(name, "a world")
    make = target if callable(target) and not _is_world(target) else None
    try:
        world = target if make is None else make()
    except Exception:
        raise_program_error(name)
    if isinstance(world, tuple):  # (world, step), as `make` may return
        world = world[0]
    if not _is_world(world):
        raise UsageError(f"{name} is not a world, and returns none: {type(world).__name__}")
    return world, make


def _step_of(world: WorldBase, target: str, name: str) -> Callable[..., object]:
    """Return a method of the world, `step` or `boid.fly`, or a function of its module."""
    owner: Any = world
    for part in name.split("."):
        owner = getattr(owner, part, None)
    if owner is None and ":" in target:
        owner = getattr(sys.modules.get(target.partition(":")[0]), name, None)
    if not callable(owner):
        raise UsageError(f"--step: neither the world nor its module has a function {name!r}")
    return cast("Callable[..., object]", owner)


def _is_world(candidate: object) -> bool:
    return isinstance(getattr(type(candidate), "MANAGERS", None), tuple)
