"""The commands: thin, each a few calls into the road and one exit status."""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from ecsgen import __version__
from ecsgen.cli import dependency, report
from ecsgen.cli.common import USAGE, build_options, format_option, load, schemas_argument, write
from ecsgen.cli.report import Format
from ecsgen.config import Options, UsageError, load_options, shown
from ecsgen.diagnostics import Diagnostics
from ecsgen.files.plan import State
from ecsgen.files.status import Status, look, look_again
from ecsgen.files.write import exclusive

if TYPE_CHECKING:
    from ecsgen.build import Result

OUT_OF_STEP = 1
USES = (
    *("ecsgen-runtime", "black", "click", "jinja2", "numpy", "pydantic", "pyyaml"),
    *("numba", "pyarrow", "starlette", "uvicorn", "watchfiles"),
)
"""What a report of a fault should name; the last ones are extras."""


def _say_versions(context: click.Context) -> None:
    from importlib.metadata import PackageNotFoundError, version

    click.echo(f"ecsgen, version {__version__}\nPython {platform.python_version()}")
    for name in USES:
        try:
            click.echo(f"{name} {version(name)}")
        except PackageNotFoundError:
            click.echo(f"{name}: not installed")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda context, _, wanted: _say_versions(context) if wanted else None,
    help="Show the versions of ecsgen and of what it uses, and exit.",
)
def ecsgen() -> None:
    """Turns YAML component schemas into specialised, typed, numpy-backed component managers.

    SCHEMAS is the folder of the schemas. It and the other options can be set in [tool.ecsgen] of
    pyproject.toml.
    """


@ecsgen.command()
@build_options
@format_option
@click.option("--force", is_flag=True, help="Overwrite files that were edited or are not ecsgen's.")
@click.option("--watch", is_flag=True, help="Build again after each change, until Ctrl-C.")
@click.pass_context
def build(
    context: click.Context,
    options: Callable[[], Options],
    format: Format,
    force: bool,
    watch: bool,
) -> None:
    """Make the package: all of it or nothing, and only what changed."""
    if not watch:
        context.exit(_build(options(), format, force))
    from ecsgen.cli import watch as watching

    watching.watch(lambda: _build(options(), format, force), options)


def _build(options: Options, format: Format, force: bool) -> int:
    before = look(options)
    if before.is_up_to_date:
        return _say_in_step(before, format)
    waiting = "waiting for another build of the same folder to finish"
    with exclusive(options.output, lambda: click.echo(waiting, err=True)):
        return _build_after(look_again(before), format, force)


def _build_after(before: Status, format: Format, force: bool) -> int:
    from ecsgen.build import build
    from ecsgen.files.write import apply

    diagnostics = Diagnostics()
    _say_notes(*before.notes, *report.changed_options(before))
    result = build(before, diagnostics, report.Progress())
    refused = result.refused(force) if result else []
    if result and refused:
        report.add_refusals(result, refused, diagnostics)
    report.print_diagnostics(diagnostics, format)
    if result is None or refused:
        return USAGE
    changes = result.changes(force)
    if changes:
        apply(changes)
    report.say(report.summary(result, changes), format)
    _say_notes(*result.said_of(changes), *dependency.to_add(before))
    return 0


def _say_notes(*notes: str) -> None:
    for note in notes:
        click.echo(note, err=True)


@ecsgen.command()
@build_options
@format_option
@click.pass_context
def check(context: click.Context, options: Callable[[], Options], format: Format) -> None:
    """Tell whether the package is what a build would make; write nothing.

    One line per file that is not: CHANGED, MISSING, EXTRA, HAND-EDITED, or FOREIGN where something
    that ecsgen did not write is in the way.
    """
    before = look(options())
    done = before.is_up_to_date
    context.exit(_say_in_step(before, format) if done else _check(before, format))


def _say_in_step(before: Status, format: Format) -> int:
    report.print_diagnostics(Diagnostics(), format)
    report.say(report.in_step(before), format)
    return 0


def _tried(before: Status, format: Format) -> Result | None:
    """Make what a build would, and say what there is to say before its files are compared."""
    from ecsgen.build import build

    diagnostics = Diagnostics()
    result = build(before, diagnostics, report.Progress())
    if result and format != "text":
        report.add_states(result, diagnostics)
    report.print_diagnostics(diagnostics, format)
    _say_notes(*before.notes, *before.made_by_others, *report.changed_options(before))
    return result


def _check(before: Status, format: Format) -> int:
    result = _tried(before, format)
    if result is None:
        return USAGE
    if result.is_in_step:
        report.say(report.in_step(before), format)
        return 0
    if format == "text":
        report.print_states(result)
    for line in (*report.out_of_step(before), *report.mends(result)):
        report.say(line, format)
    return USAGE if result.with_state(State.FOREIGN) else OUT_OF_STEP


@ecsgen.command()
@build_options
@click.pass_context
def diff(context: click.Context, options: Callable[[], Options]) -> None:
    """Print what a build would change, as a unified diff; write nothing."""
    before = look(options())
    if not before.is_up_to_date:
        context.exit(_diff(before))


def _diff(before: Status) -> int:
    result = _tried(before, "text")
    if result is None:
        return USAGE
    report.print_diff(result)
    if result.with_state(State.FOREIGN):
        return USAGE
    return 0 if result.is_in_step else OUT_OF_STEP


@ecsgen.command()
@schemas_argument
@format_option
@click.pass_context
def validate(context: click.Context, schemas: Path | None, format: Format) -> None:
    """Check the schemas alone; quick, and nothing is generated."""
    diagnostics = Diagnostics()
    project = load(load_options(schemas=schemas), diagnostics)
    report.print_diagnostics(diagnostics, format)
    if project is None:
        context.exit(USAGE)
    parts = ((len(project.components), "component"), (len(project.enums), "enum"))
    listed = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in parts)
    report.say(f"{listed}: valid", format)


@ecsgen.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write it into this file.")
def schema(output: Path | None) -> None:
    """Print the JSON Schema of the schema language, for editors."""
    from ecsgen.schema import json_schema

    text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        write(output, text)


def _complete(
    context: click.Context, parameter: click.Parameter, word: str
) -> list[CompletionItem]:
    from ecsgen.diagnostics.explaining import codes

    known = codes().items()
    wanted = word.upper()
    return [CompletionItem(c, help=about.title) for c, about in known if c.startswith(wanted)]


@ecsgen.command()
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=_complete)
@click.option("--format", type=click.Choice(("text", "json")), default="text", show_default=True)
def explain(codes: tuple[str, ...], format: str) -> None:
    """Say what diagnostics mean, with an example; without a CODE, list them all."""
    from ecsgen.diagnostics import explaining

    known = explaining.codes()
    wanted = [code.upper() for code in codes]
    for code, given in zip(wanted, codes, strict=True):
        if code not in known:
            raise UsageError(explaining.unknown_code(given))
    if format == "json":
        click.echo(explaining.as_json(wanted or known), nl=False)
    elif wanted:
        click.echo("\n".join(explaining.as_text(known[code]) for code in wanted), nl=False)
    else:
        click.echo(explaining.as_list(), nl=False)


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
