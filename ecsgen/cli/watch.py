"""`ecsgen build --watch`: builds again after each change of schemas or options."""

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
"""Seconds between two looks at the files, without watchfiles."""
_QUIET: Final = 0.05
"""Seconds without a further change before a build: editors write in several steps."""

Stamps = dict[Path, tuple[int, int, int]]


def watch(build: Callable[[], int], options: Callable[[], Options]) -> None:
    """Build after each change until Ctrl-C; print errors of builds and go on. Notices a change at
    once with watchfiles, else within half a second."""
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
    """Return the roots of the schemas; none while the options are wrong."""
    try:
        return options().schemas
    except UsageError:
        return ()


def _wait(roots: tuple[SchemaRoot, ...], before: Stamps) -> None:
    """Return when files have changed and then stayed the same for a moment."""
    looks = _changes([root.path for root in roots if root.path.is_dir()])
    while _stamps(roots) == before:
        next(looks)
    while True:
        now = _stamps(roots)
        time.sleep(_QUIET)
        if _stamps(roots) == now:
            return


def _changes(folders: list[Path]) -> Iterator[Any]:
    """Yield when files may have changed: at each event, and every `PAUSE` for the options' file."""
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
    """Return time, size and inode of all schemas and of every file that may hold options."""
    files = [file for root in roots for _, file in root.files()]
    here = Path.cwd()
    files += [folder / OPTIONS_FILE for folder in (here, *here.parents)]
    stamps: Stamps = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        stamps[file] = status.st_mtime_ns, status.st_size, status.st_ino
    return stamps
