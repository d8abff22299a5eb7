"""The command line: `ecsgen`, or `python -m ecsgen`."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

import click

from ecsgen.cli import inspect_command, provenance_commands, run_commands, warm_command
from ecsgen.cli.commands import USAGE, complete_for_shell, ecsgen
from ecsgen.config import UsageError, shown

__all__ = [
    "ecsgen",
    "inspect_command",
    "main",
    "provenance_commands",
    "run_commands",
    "warm_command",
]

FAULT = 3
INTERRUPTED = 130
BROKEN_PIPE = 141
NEEDED = ("black", "ecsgen_runtime", "ecsgen_testing", "jinja2", "numpy", "pydantic", "yaml")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and end the process with its exit status.

    0 done or in step, 1 out of step, 2 a schema or usage error, a file in the way or what the
    system refuses, 3 a fault of ecsgen's own; 130 after Ctrl-C and 141 when the output is a
    closed pipe, as in the shell.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")  # not every encoding has all characters
    status = _run(arguments)
    try:
        if sys.stdout is not None:  # the parent process may have closed it
            sys.stdout.flush()
    except OSError as error:
        status = BROKEN_PIPE if isinstance(error, BrokenPipeError) else _system_error(error)
    if status == BROKEN_PIPE:
        _drop_output()
    sys.exit(status)


def _drop_output() -> None:
    """Keep Python from flushing standard output once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: Sequence[str] | None) -> int:
    try:
        status = complete_for_shell()
        if status is not None:
            return status
        return ecsgen.main(arguments, prog_name="ecsgen", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return USAGE
    except UsageError as error:
        click.echo(f"Error: {error}", err=True)
        return USAGE
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in NEEDED:
            raise  # `ecsgen.__main__` says what is missing
        return _fault(error)
    except (click.Abort, KeyboardInterrupt):
        command = next(iter(sys.argv[1:] if arguments is None else arguments), "")
        rest = "; the next build repairs what is incomplete" if command == "build" else ""
        click.echo(f"interrupted{rest}", err=True)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click itself exits when a pipe is broken
        return BROKEN_PIPE
    except OSError as error:
        # A template that is not found is an OSError too, but not the system's.
        return _fault(error) if error.errno is None else _system_error(error)
    except Exception as error:  # whatever it is, it must not look like a schema error
        return _fault(error)


def _system_error(error: OSError) -> int:
    """Print an error of the system, such as a full disk or a name that is too long."""
    problem = "can't write to standard output"  # has no file name; `write` handles other writes
    if error.filename is not None:
        problem = f"can't use {shown(Path(os.fsdecode(error.filename)))}"
    click.echo(f"Error: {problem}: {error.strerror or error}", err=True)
    if error.filename is None:
        _drop_output()  # what is left of it would be refused once more
    return USAGE


def _fault(error: Exception) -> int:
    traceback.print_exc()
    click.echo(f"\nThis is a fault of ecsgen ({error!r:.200}); please report it.", err=True)
    return FAULT
