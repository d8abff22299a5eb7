"""The commands: thin, each a few calls into the road and one exit status."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from ecsgen import __version__
from ecsgen.cli import report
from ecsgen.cli.report import Format
from ecsgen.config import BACKENDS, Backend, Options, UsageError, load_options, shown
from ecsgen.diagnostics import Diagnostics, did_you_mean
from ecsgen.files.lock import exclusive
from ecsgen.files.plan import State
from ecsgen.files.status import Status, look, look_again
from ecsgen.model import Component, Project, World

OUT_OF_STEP = 1
USAGE = 2
USES = (
    *("black", "click", "jinja2", "numpy", "pydantic", "pyyaml"),
    *("numba", "ecsgen-fast", "pyarrow", "starlette", "uvicorn", "watchfiles"),
)
"""What a report of a fault should name; the last ones are extras."""

Command = TypeVar("Command", bound=Callable[..., Any])


def schemas_argument(command: Command) -> Command:
    return click.argument("schemas", required=False, type=click.Path(path_type=Path))(command)


def _build_options(command: Command) -> Command:
    """What build, check and diff have in common."""
    decorators = [
        click.option(
            "-o",
            "--output",
            type=click.Path(path_type=Path),
            help="Folder of the package.",
        ),
        click.option("--backend", type=click.Choice(BACKENDS), help="What kernels are made for."),
        click.option(
            "--compiled/--no-compiled",
            default=None,
            help="Whether the package gets the sources of its one-row methods in C.",
        ),
        click.option("--jobs", type=click.IntRange(min=1), help="Processes for a large build."),
        schemas_argument,
    ]
    for decorator in decorators:
        command = decorator(command)
    return command


def format_option(command: Command) -> Command:
    choice = click.Choice(get_args(Format))
    text = "How errors are printed: text on standard error, the others on standard output."
    option = click.option("--format", type=choice, default="text", show_default=True, help=text)
    return option(command)


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
@_build_options
@format_option
@click.option("--force", is_flag=True, help="Overwrite files that were edited or are not ecsgen's.")
@click.option("--watch", is_flag=True, help="Build again after each change, until Ctrl-C.")
@click.pass_context
def build(
    context: click.Context,
    schemas: Path | None,
    output: Path | None,
    backend: Backend | None,
    compiled: bool | None,
    jobs: int | None,
    format: Format,
    force: bool,
    watch: bool,
) -> None:
    """Make the package: all of it or nothing, and only what changed."""

    def options() -> Options:
        return load_options(
            schemas=schemas, output=output, backend=backend, jobs=jobs, compiled=compiled
        )

    if not watch:
        context.exit(_build(options(), format, force))
    from ecsgen.cli import watch as watching

    watching.watch(lambda: _build(options(), format, force), options)


def _build(options: Options, format: Format, force: bool) -> int:
    before = look(options)
    if before.is_up_to_date:
        _say_nothing_to_do(before, format)
        return 0
    waiting = "waiting for another build of the same folder to finish"
    with exclusive(options.output, lambda: click.echo(waiting, err=True)):
        return _build_after(look_again(before), format, force)


def _build_after(before: Status, format: Format, force: bool) -> int:
    from ecsgen.build import build
    from ecsgen.files.write import apply

    diagnostics = Diagnostics()
    for note in before.notes:
        click.echo(note, err=True)
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
    report.say_how_to_compile(result, changes, format)
    return 0


def _say_nothing_to_do(before: Status, format: Format) -> None:
    report.print_diagnostics(Diagnostics(), format)
    count = len(before.manifest.files) if before.manifest else 0
    report.say(f"{shown(before.options.output)}: {count} files in step", format)


@ecsgen.command()
@_build_options
@format_option
@click.pass_context
def check(
    context: click.Context,
    schemas: Path | None,
    output: Path | None,
    backend: Backend | None,
    compiled: bool | None,
    jobs: int | None,
    format: Format,
) -> None:
    """Tell whether the package is what a build would make; write nothing.

    One line per file that is not: CHANGED, MISSING, EXTRA, HAND-EDITED, or FOREIGN where something
    that ecsgen did not write is in the way.
    """
    options = load_options(
        schemas=schemas, output=output, backend=backend, jobs=jobs, compiled=compiled
    )
    before = look(options)
    if before.is_up_to_date:
        _say_nothing_to_do(before, format)
    else:
        context.exit(_check(before, format))


def _check(before: Status, format: Format) -> int:
    from ecsgen.build import build

    diagnostics = Diagnostics()
    result = build(before, diagnostics, report.Progress())
    if result and format != "text":
        report.add_states(result, diagnostics)
    report.print_diagnostics(diagnostics, format)
    for note in (*before.notes, *before.made_by_others):
        click.echo(note, err=True)
    if result is None:
        return USAGE
    if result.is_in_step:
        _say_nothing_to_do(before, format)
        return 0
    if format == "text":
        report.print_states(result)
    for line in report.mends(result):
        report.say(line, format)
    return USAGE if result.with_state(State.FOREIGN) else OUT_OF_STEP


@ecsgen.command()
@_build_options
@click.pass_context
def diff(
    context: click.Context,
    schemas: Path | None,
    output: Path | None,
    backend: Backend | None,
    compiled: bool | None,
    jobs: int | None,
) -> None:
    """Print what a build would change, as a unified diff; write nothing."""
    options = load_options(
        schemas=schemas, output=output, backend=backend, jobs=jobs, compiled=compiled
    )
    before = look(options)
    if not before.is_up_to_date:
        context.exit(_diff(before))


def _diff(before: Status) -> int:
    from ecsgen.build import build

    diagnostics = Diagnostics()
    result = build(before, diagnostics, report.Progress())
    report.print_diagnostics(diagnostics, "text")
    for note in (*before.notes, *before.made_by_others):
        click.echo(note, err=True)
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
    project = _load(load_options(schemas=schemas), diagnostics)
    report.print_diagnostics(diagnostics, format)
    if project is None:
        context.exit(USAGE)
    parts = ((len(project.components), "component"), (len(project.enums), "enum"))
    listed = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in parts)
    report.say(f"{listed}: valid", format)


def _complete_component(context: click.Context, parameter: click.Parameter, word: str) -> list[str]:
    """The components that begin with a word; none if the schemas cannot be read."""
    try:
        project = _load(load_options(schemas=context.params.get("schemas")), Diagnostics())
    except UsageError:
        project = None
    return [c.name for c in project.components if c.name.startswith(word)] if project else []


@ecsgen.command()
@click.argument(
    "components", nargs=-1, metavar="[COMPONENT]...", shell_complete=_complete_component
)
@click.option("--schemas", type=click.Path(path_type=Path), help="Folder of the schemas.")
@click.option("--svg", type=click.Path(path_type=Path), help="Draw a picture into this file.")
@click.option("--schedule", metavar="NAME", help="Show a schedule of the world instead.")
@click.pass_context
def layout(
    context: click.Context,
    components: tuple[str, ...],
    schemas: Path | None,
    svg: Path | None,
    schedule: str | None,
) -> None:
    """Print, or draw, how the columns of components lie in memory; without names, of all.

    Those that live in archetypes are shown in one chunk, which has rows with all of them. With
    --schedule: its kernels, what they read and write, and which run in one pass.
    """
    diagnostics = Diagnostics()
    project = _load(load_options(schemas=schemas), diagnostics)
    report.print_diagnostics(diagnostics, "text")
    if project is None:
        context.exit(USAGE)
    if schedule is not None:
        if components:
            raise UsageError("--schedule shows no components: leave out their names")
        _show_schedule(project, schedule, svg)
        return
    chosen = _chosen(project, components)
    if svg is None:
        _print_layout(chosen, project.world)
    else:
        _draw_layout(chosen, svg)


def _chosen(project: Project, names: tuple[str, ...]) -> list[Component]:
    """Return the components of these names, or of their modules' names; without any, all."""
    known = {name: c for c in project.components for name in (c.name, c.module)}
    for name in names:
        if name not in known:
            raise _unknown("component", name, [c.name for c in project.components])
    wanted = {known[name].name for name in names or known}
    return [component for component in project.components if component.name in wanted]


def _unknown(what: str, name: str, known: Iterable[str]) -> UsageError:
    hint = did_you_mean(name, known)
    return UsageError(f"no {what} {name!r}" + (f"; {hint}" if hint else ""))


def _print_layout(components: list[Component], world: World) -> None:
    from ecsgen.kernels.usage import remarks
    from ecsgen.layout import chunk_table, layout, table
    from ecsgen.layout.chunks import chunk_plan, chunk_plan_table, chunk_title

    texts = []
    for component in components:
        lines = "".join(f"{remark}\n" for remark in remarks(component, world))
        shown = f"{chunk_table(component)}\n" if component.chunk else table(layout(component))
        texts.append(f"{component.name}\n{shown}{lines}")
    if chunked := [component for component in components if component.chunk]:
        texts.append(f"{chunk_title(chunked)}\n{chunk_plan_table(chunk_plan(chunked))}")
    click.echo("\n".join(texts), nl=False)


def _draw_layout(components: list[Component], file: Path) -> None:
    from ecsgen.pictures.picture import picture

    _write(file, picture(components))


def _show_schedule(project: Project, name: str, svg: Path | None) -> None:
    from ecsgen.layout.schedules import schedule_table
    from ecsgen.model.schedules import called
    from ecsgen.pictures.schedule_picture import schedule_picture

    known = dict(project.world.schedules)
    if name not in known:
        raise _unknown("schedule", name, known)
    components = {component.name: component for component in project.components}
    calls = called(known[name], components, project.world)
    if svg is None:
        click.echo(schedule_table(name, calls, project.world), nl=False)
    else:
        _write(svg, schedule_picture(name, calls, project.world))


@ecsgen.command()
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write it into this file.")
def schema(output: Path | None) -> None:
    """Print the JSON Schema of the schema language, for editors."""
    from ecsgen.schema import json_schema

    text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        _write(output, text)


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}") from error


def _load(options: Options, diagnostics: Diagnostics) -> Project | None:
    from ecsgen.schema import load

    return load(options.schemas, diagnostics, options.defaults)
