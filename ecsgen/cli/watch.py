"""`ecsgen build --watch`: builds, and again after each change of schemas or options."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import click

from ecsgen.config import OPTIONS_FILE, Options, UsageError, shown
from ecsgen.source.schema_roots import SchemaRoot

PAUSE: Final = 0.5
"""Seconds between two looks at the files, where nothing tells of changes."""
_QUIET: Final = 0.05
"""Seconds without a further change before a build: editors write in several steps."""

Stamps = dict[Path, tuple[int, int, int]]


def watch(build: Callable[[], int], options: Callable[[], Options]) -> None:
    """Build, and again after each change, until Ctrl-C. What a build refuses, it says; it goes on.

    Notices a change at once with watchfiles, else within half a second.
    """
    try:
        while True:
            roots = _roots(options)
            before = _stamps(roots)
            try:
                build()
            except (UsageError, OSError) as error:  # also a full disk, or a file that went away
                click.echo(f"Error: {error}", err=True)
            places = ", ".join(shown(root.path) for root in roots) or OPTIONS_FILE
            click.echo(f"watching {places}; Ctrl-C ends", err=True)
            _wait(roots, before)
    except KeyboardInterrupt:
        click.echo("stopped watching", err=True)


def _roots(options: Callable[[], Options]) -> tuple[SchemaRoot, ...]:
    """Where schemas lie; none while the options are wrong, until these change."""
    try:
        return options().schemas
    except UsageError:
        return ()


def _wait(roots: tuple[SchemaRoot, ...], before: Stamps) -> None:
    """Return when files are others than they were, and have been at rest for a moment."""
    looks = _looks([root.path for root in roots if root.path.is_dir()])
    while _stamps(roots) == before:
        next(looks)
    while True:
        now = _stamps(roots)
        time.sleep(_QUIET)
        if _stamps(roots) == now:
            return


def _looks(folders: list[Path]) -> Iterator[Any]:
    """Yield whenever it is time to look at the files: when something has changed there, or now and
    then, since the options' file lies elsewhere."""
    try:
        watchfiles: Any = importlib.import_module("watchfiles")
    except ImportError:
        watchfiles = None
    while watchfiles is None or not folders:
        time.sleep(PAUSE)
        yield None
    milliseconds = int(PAUSE * 1000)
    yield from watchfiles.watch(
        *folders,
        watch_filter=None,
        debounce=int(_QUIET * 1000),
        step=10,
        rust_timeout=milliseconds,
        yield_on_timeout=True,
    )


def _stamps(roots: tuple[SchemaRoot, ...]) -> Stamps:
    """What changes with a file, of all schemas and wherever options may be."""
    files = [file for root in roots for _, file in root.files()]
    here = Path.cwd()
    files += [folder / OPTIONS_FILE for folder in (here, *here.parents)]
    found: Stamps = {}
    for file in files:
        try:
            said = file.stat()
        except OSError:
            continue
        found[file] = said.st_mtime_ns, said.st_size, said.st_ino
    return found
