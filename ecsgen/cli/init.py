"""`ecsgen init`: the files of a new project, or of ecsgen in one that is there."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ecsgen.cli.commands import ecsgen
from ecsgen.config import shown


@ecsgen.command()
@click.argument("folder", metavar="[DIR]", default=Path(), type=click.Path(path_type=Path))
@click.option("--bare", is_flag=True, help="Only the options and the schemas.")
def init(folder: Path, bare: bool) -> None:
    """Begin a project: schemas, options, a program, and what editors and CI need.

    No file that is there changes, but for a table at the end of pyproject.toml.
    """
    from ecsgen.starter import IGNORED, KEPT, begin, not_ignored

    home = Path.cwd() / folder
    acts = begin(home, bare=bare)
    for path, act in acts.items():
        click.echo(f"{act:<8}  {path}")
    lacking = not_ignored(home) if acts.get(IGNORED) == KEPT else []
    if lacking:
        click.echo(f"to add to {IGNORED}: {' '.join(lacking)}")
    if set(acts.values()) == {KEPT}:
        click.echo("nothing to do: all of it is there")
        return
    go = "" if home == Path.cwd() else f"cd {shlex.quote(shown(home))} && "
    run = "" if bare else " && python main.py"
    click.echo(f"next: {go}ecsgen build{run}")
