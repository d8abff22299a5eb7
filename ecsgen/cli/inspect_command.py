"""`ecsgen inspect`: a page to look into a world, and `ecsgen film`: a run as one file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, cast

import click

from ecsgen.cli.commands import ecsgen, example
from ecsgen.cli.programs import ProgramWorld, find_target, find_world, program_errors
from ecsgen.config import UsageError

if TYPE_CHECKING:
    from ecsgen_runtime.world.world_base import WorldBase

    from ecsgen.inspector import Inspector, View

_STEPS = click.IntRange(0)
_EVERY = click.IntRange(1)


@ecsgen.command(
    epilog=example("$ ecsgen inspect flock:make --step step", "$ ecsgen inspect town.snap")
)
@click.argument("target", metavar="MODULE:ATTR|FILE")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default any free one.")
@click.option("--edit", is_flag=True, help="Let the page change the world.")
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.option("--no-verify", is_flag=True, help="Show a FILE of your own with all that is wrong.")
@click.option("--step", metavar="NAME", help="What to run: of the world, or of MODULE.")
@click.option("--view", metavar="NAME", help="A View of MODULE: what the page opens with.")
@click.option("--frames", metavar="DIR", help="Run, write PNGs of the map to DIR, and end.")
@click.option("--steps", type=_STEPS, default=1000, show_default=True, help="For --frames.")
@click.option("--every", type=_EVERY, default=10, show_default=True, help="Steps to a picture.")
def inspect(
    target: str,
    port: int,
    edit: bool,
    no_browser: bool,
    no_verify: bool,
    step: str | None,
    view: str | None,
    frames: str | None,
    steps: int,
    every: int,
) -> None:
    """Show a world on a page of this machine, until Ctrl-C; its URL is printed first.

    ATTR of MODULE is a world, or a function that returns one. FILE is a saved world: it is shown
    as it was saved, without the package that saved it.
    """
    _require_extra()
    with _world(target, verify=not no_verify) as target_world:
        if frames is not None:
            served = _served(target, target_world, step, view)
            _record(served, step or target, steps, every, f"{frames}/")
            return
        options: dict[str, Any] = {"port": port, "edit": edit, "save_folder": target_world.folder}
        with _served(
            target, target_world, step, view, open_browser=not no_browser, **options
        ) as inspector:
            print(inspector.url, flush=True)
            with program_errors(step or target):
                inspector.run_or_tick()


@ecsgen.command(epilog=example("$ ecsgen film flock:make --step step --every 2 -o flock.html"))
@click.argument("target", metavar="MODULE:ATTR")
@click.option("--step", metavar="NAME", help="What to run: of the world, or of MODULE.")
@click.option("--steps", type=_STEPS, default=1000, show_default=True)
@click.option("--every", type=_EVERY, default=5, show_default=True, help="Steps to a picture.")
@click.option("--view", metavar="NAME", help="A View of MODULE: what is to be seen.")
@click.option("-o", "--output", metavar="FILE", default="run.html", show_default=True)
def film(
    target: str, step: str | None, steps: int, every: int, view: str | None, output: str
) -> None:
    """Run a world, and write the run as one file: FILE.html, .gif, .mp4, or a folder of PNGs.

    ATTR of MODULE is a world, or a function that returns one, or a world and what steps it.
    """
    _require_extra()
    if ":" not in target:
        raise UsageError(f"wanted MODULE:ATTR, not {target!r}")
    _check_output(output)
    served = _served(target, find_world(target), step, view)
    _record(served, step or target, steps, every, output)


def _require_extra() -> None:
    try:
        import ecsgen.inspector  # noqa: F401
    except ImportError as error:
        raise UsageError(str(error)) from None


def _check_output(path: str) -> None:
    """Raise UsageError, before anything runs, for a film of no known kind or in no folder."""
    from ecsgen.inspector.film import kind_of

    try:
        if kind_of(path) and not Path(path).parent.is_dir():
            raise UsageError(f"can't write {path}: there is no such folder")
    except ValueError as error:
        raise UsageError(str(error)) from None


def _served(
    target: str, target_world: ProgramWorld, step: str | None, view: str | None, **options: Any
) -> Inspector:
    """Serve a world. UsageError for options that do not fit it."""
    from ecsgen.inspector import View, serve

    chosen: View | None = None
    if view is not None:
        chosen = find_target(f"{target.partition(':')[0]}:{view}", "a View")
        if not isinstance(chosen, View):
            raise UsageError(f"--view: {view} is not a View but {type(chosen).__name__}")
    run = target_world.step if step is None else _step_of(target_world.world, target, step)
    try:
        return serve(target_world.world, step=run, make=target_world.make, view=chosen, **options)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise UsageError(f"can't listen on port {options['port']}: {why}") from None
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def _record(inspector: Inspector, what: str, steps: int, every: int, path: str) -> None:
    """Run a world, and write the film."""
    with inspector:
        if not inspector.has_step:
            raise UsageError("there is nothing to run: --step NAME")
        with program_errors(what):
            film = inspector.record(steps, every)
    try:
        film.save(path)
    except OSError as error:
        raise UsageError(f"can't write {path}: {error.strerror}") from None
    except (ImportError, ValueError) as error:
        raise UsageError(str(error)) from None
    print(f"{path}: {len(film)} pictures")


@contextmanager
def _world(target: str, *, verify: bool) -> Iterator[ProgramWorld]:
    """Yield what a target names."""
    file = Path(target)
    if ":" in target and not file.exists():
        yield find_world(target)
        return
    from ecsgen.inspector.saved_worlds import load_saved, refuse_pickle

    refuse_pickle(file)
    with TemporaryDirectory(prefix="ecsgen-") as folder:
        world = load_saved(file, Path(folder), verify=verify)
        yield ProgramWorld(world, folder=file.absolute().parent)


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
