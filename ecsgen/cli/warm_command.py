"""`ecsgen warm`: kernels that are compiled before somebody waits for them."""

from __future__ import annotations

import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import click

from ecsgen.cli.commands import ecsgen, example
from ecsgen.cli.programs import built_package
from ecsgen.config import UsageError, load_options, shown

FAILED = 1
"""Exit status: something could not be compiled."""


@ecsgen.command("warm", epilog=example("$ ecsgen build --backend numba", "$ ecsgen warm"))
@click.argument("package", required=False, type=click.Path(path_type=Path))
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; by default one per core.")
@click.pass_context
def warm_(context: click.Context, package: Path | None, jobs: int | None) -> None:
    """Compile every kernel of a package for numba, so that no program has to wait for it.

    PACKAGE is the folder of the package, by default that of the options. It must have been built
    for numba from the schemas here. What is compiled goes into the cache beside the package, or to
    where NUMBA_CACHE_DIR says.

    Ends with 0 if all is in the cache, 1 if something could not be compiled, 2 for what is no
    package to compile.
    """
    options = load_options(output=package)
    folder = options.output.resolve()
    _check_package(folder)
    from ecsgen_runtime.sweeps.processes import available_cores

    from ecsgen.cli.warming import method_names, warm

    try:
        names = method_names(folder)
    except ImportError as error:
        raise UsageError(f"can't import the package in {shown(folder)}: {error}") from None
    except (ValueError, FileNotFoundError) as error:
        raise UsageError(str(error)) from None
    began, results = time.monotonic(), {}
    with click.progressbar(
        length=len(names), label="compiling", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        for number, warmed in warm(folder, jobs or available_cores()):
            results[number] = warmed
            bar.update(1)
    counts = Counter[str]()
    for _, warmed in sorted(results.items()):
        outcome = "failed" if warmed.error else "compiled" if warmed.compiled else "there"
        counts[outcome] += 1
        why = f": {warmed.error}" if warmed.error else ""
        click.echo(f"{outcome:<8}  {warmed.name}{why}", err=bool(warmed.error))
    lost = f", {counts['failed']} failed" if counts["failed"] else ""
    done = f"{counts['compiled']} compiled, {counts['there']} there{lost}"
    click.echo(f"{shown(folder)}: {done}, {time.monotonic() - began:.1f} s")
    context.exit(FAILED if lost else 0)


def _check_package(folder: Path) -> None:
    """Raise UsageError unless a folder has a package that numba compiles, and numba is there."""
    built = built_package(folder)
    if built.backend != "numba":
        raise UsageError(
            f"the package in {shown(folder)} was built for {built.backend}, which compiles"
            " nothing: run `ecsgen build --backend numba`"
        )
    if find_spec("numba") is None:
        raise UsageError("numba is not installed: pip install numba")
