"""`ecsgen explain`: what a code means, and an example."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from ecsgen.cli.commands import ecsgen
from ecsgen.config import UsageError
from ecsgen.diagnostics.codes import CODES


def _complete(
    context: click.Context, parameter: click.Parameter, word: str
) -> list[CompletionItem]:
    return [
        CompletionItem(code, help=about.title)
        for code, about in CODES.items()
        if code.startswith(word.upper())
    ]


@ecsgen.command()
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=_complete)
@click.option("--format", type=click.Choice(("text", "json")), default="text", show_default=True)
def explain(codes: tuple[str, ...], format: str) -> None:
    """Say what diagnostics mean, with an example; without a CODE, list them all."""
    from ecsgen.diagnostics import explaining

    wanted = [code.upper() for code in codes]
    for code, given in zip(wanted, codes, strict=True):
        if code not in CODES:
            raise UsageError(explaining.unknown_code(given))
    if format == "json":
        click.echo(explaining.as_json(wanted or CODES), nl=False)
    elif wanted:
        texts = (explaining.as_text(explaining.explain(code)) for code in wanted)
        click.echo("\n".join(texts), nl=False)
    else:
        click.echo(explaining.as_list(), nl=False)
