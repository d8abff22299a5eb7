"""What several commands have in common: their options, reading schemas, writing a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from ecsgen.cli.report import Format
from ecsgen.config import BACKENDS, Options, Runtime, UsageError, load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.model import Project

_OF_BUILDS = ("schemas", "output", "backend", "runtime", "jobs")
_RUNTIMES: Mapping[bool, Runtime] = {True: "vendored", False: "installed"}
USAGE = 2
"""Exit status: a schema or usage error, or a file in the way."""

COMPILED_IS_NOTHING = (
    "compiled does nothing any more: ecsgen-runtime has the methods in C, if it was installed"
    " where there is a C compiler"
)

Command = TypeVar("Command", bound=Callable[..., Any])


def schemas_argument(command: Command) -> Command:
    return click.argument("schemas", required=False, type=click.Path(path_type=Path))(command)


def _say_of_compiled(context: click.Context, given: bool | None) -> None:
    """Say once in a run that `compiled`, which older projects have, does nothing."""
    if given is not None and COMPILED_IS_NOTHING not in context.meta:
        context.meta[COMPILED_IS_NOTHING] = True
        click.echo(COMPILED_IS_NOTHING, err=True)


def build_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What build, check and diff have in common: `options` tells what these and pyproject.toml
    say."""

    @wraps(command)
    def with_options(context: click.Context, /, **given: Any) -> Any:
        wanted = {name: given.pop(name) for name in _OF_BUILDS}

        def options() -> Options:
            found = load_options(**wanted)
            _say_of_compiled(context, found.compiled)
            return found

        return command(options=options, **given)

    made = click.pass_context(with_options)
    decorators = [
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            help="Folder of the package.",
        ),
        click.option("--backend", type=click.Choice(BACKENDS), help="What kernels are made for."),
        click.option(
            "runtime",
            "--vendor/--no-vendor",
            default=None,
            callback=lambda context, _, wanted: None if wanted is None else _RUNTIMES[wanted],
            help="Whether the package gets copies of what it needs of ecsgen-runtime.",
        ),
        click.option(
            "--compiled/--no-compiled",
            default=None,
            hidden=True,
            expose_value=False,
            callback=lambda context, _, given: _say_of_compiled(context, given),
        ),
        click.option("--jobs", type=click.IntRange(min=1), help="Processes for a large build."),
        schemas_argument,
    ]
    for decorator in decorators:
        made = decorator(made)
    return made


def format_option(command: Command) -> Command:
    choice = click.Choice(get_args(Format))
    text = "How errors are printed: text on standard error, the others on standard output."
    option = click.option("--format", type=choice, default="text", show_default=True, help=text)
    return option(command)


def write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}") from error


def load(options: Options, diagnostics: Diagnostics) -> Project | None:
    from ecsgen.schema import load

    return load(options.schemas, diagnostics, options.defaults)
