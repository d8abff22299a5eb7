"""The command `ecsgen breaking`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from ecsgen.breaking import Only
from ecsgen.cli import report
from ecsgen.cli.commands import ecsgen
from ecsgen.cli.common import USAGE, format_option, schemas_argument
from ecsgen.cli.report import Format
from ecsgen.config import Options, load_options
from ecsgen.diagnostics import Diagnostics

BREAKS = 1


@ecsgen.command()
@schemas_argument
@click.option(
    "--against",
    metavar="DIR|git:REV|SNAPSHOT",
    help="The older schemas: a folder, the same folder at a git revision (by default git:HEAD), or"
    " those of a snapshot.",
)
@click.option("--only", type=click.Choice(get_args(Only)), help="Look for one kind alone.")
@format_option
@click.pass_context
def breaking(
    context: click.Context,
    schemas: Path | None,
    against: str | None,
    only: Only | None,
    format: Format,
) -> None:
    """Tell which changes of the schemas break saved data, or code that uses the package.

    Compares SCHEMAS with older ones, by default those of the last commit: every change is reported
    that would lose or refuse data saved with those (E901 to E906), or break code that was written
    for them (E951 to E953).
    """
    from ecsgen.breaking.old_sources import default_source

    options = load_options(schemas=schemas)
    if against is None:
        against = default_source(options)
    diagnostics = Diagnostics()
    found = _breaking(options, against, only, diagnostics)
    if found is None:
        report.print_diagnostics(diagnostics, format)
        context.exit(USAGE)
    report.print_diagnostics(found, format)
    report.say(report.breaks(found, against), format)
    context.exit(BREAKS if found else 0)


def _breaking(
    options: Options, against: str, only: Only | None, diagnostics: Diagnostics
) -> Diagnostics | None:
    """What breaks; None if schemas on either side have errors, which are reported."""
    from ecsgen.breaking.compare import compare
    from ecsgen.breaking.comparison import Places, Report, Side
    from ecsgen.breaking.old_sources import older_side
    from ecsgen.schema import load

    project = load(options.schemas, diagnostics, options.defaults)
    older = older_side(against, options, diagnostics)
    if project is None or older is None:
        return None
    found = diagnostics.emptied()
    compare(older, Side.of(project), Places(project, options.schemas[0].path), Report(found, only))
    return found
