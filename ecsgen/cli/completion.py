"""Completion in shells: click's script, and what of a project completes."""

from __future__ import annotations

import os
from typing import Final

import click
from click.shell_completion import get_completion_class, shell_complete

from ecsgen.cli.commands import ecsgen
from ecsgen.config import UsageError

SHELLS: Final = ("bash", "zsh", "fish")
VARIABLE: Final = "_ECSGEN_COMPLETE"
"""Set by the script when the shell asks what comes next."""


@ecsgen.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes a shell complete commands, components and codes.

    bash: eval "$(ecsgen completion bash)" in ~/.bashrc; zsh the same in ~/.zshrc; fish: ecsgen
    completion fish > ~/.config/fish/completions/ecsgen.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"no completion for {shell}")
    script = found(ecsgen, {}, "ecsgen", VARIABLE)
    click.echo(script.source_template % script.source_vars())


def answered() -> int | None:
    """Print what completes if a shell asks for it, and return the exit status; None if not."""
    instruction = os.environ.get(VARIABLE)
    if not instruction:
        return None
    return shell_complete(ecsgen, {}, "ecsgen", VARIABLE, instruction)
