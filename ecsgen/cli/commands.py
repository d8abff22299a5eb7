"""The commands: thin, each a few calls and one exit status."""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click
from click.shell_completion import CompletionItem, get_completion_class, shell_complete

from ecsgen import __version__
from ecsgen.breaking import BreakKind
from ecsgen.cli import report, runtime_dependency
from ecsgen.cli.report import Format
from ecsgen.config import BACKENDS, OPTIONS_FILE, Options, Runtime, UsageError, load_options, shown
from ecsgen.diagnostics import Diagnostics, did_you_mean
from ecsgen.files.output_paths import CACHE
from ecsgen.files.project_status import Status, read_status, refresh_status
from ecsgen.files.transaction import lock_output
from ecsgen.files.write_plan import State

if TYPE_CHECKING:
    from ecsgen.build import Result
    from ecsgen.model import Component, Project, World

USAGE = 2
"""Exit status: a schema or usage error, or a file in the way."""
OUT_OF_STEP = BREAKS = 1
USES = (
    *("ecsgen-runtime", "ecsgen-testing"),
    *("black", "click", "jinja2", "numpy", "pydantic", "pyyaml"),
    *("numba", "pyarrow", "starlette", "uvicorn", "watchfiles"),
)
"""Distributions whose versions `--version` prints; the second line has extras."""

_BUILD_OPTIONS = ("schemas", "output", "backend", "runtime", "parallel", "jobs")
_RUNTIMES: Mapping[bool, Runtime] = {True: "vendored", False: "installed"}
COMPILED_NOTE = (
    "compiled does nothing any more: ecsgen-runtime has the methods in C, if it was installed"
    " where there is a C compiler"
)

schemas_argument = click.argument("schemas", required=False, type=click.Path(path_type=Path))
format_option = click.option(
    "--format",
    type=click.Choice(get_args(Format)),
    default="text",
    show_default=True,
    help="How errors are printed: text on standard error, the others on standard output.",
)


def example(*lines: str) -> str:
    """Return the end of a command's help: an example, line by line; "" is an empty line."""
    return "\n".join(("\b", "Example:", *(f"  {line}" if line else "\n\b" for line in lines)))


def _print_compiled_note(context: click.Context, compiled: bool | None) -> None:
    """Print once per run that the option `compiled` of older projects does nothing."""
    if compiled is not None and COMPILED_NOTE not in context.meta:
        context.meta[COMPILED_NOTE] = True
        click.echo(COMPILED_NOTE, err=True)


def build_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of build, check and diff; `options()` merges them with pyproject.toml."""

    @wraps(command)
    def with_options(context: click.Context, /, **arguments: Any) -> Any:
        wanted = {name: arguments.pop(name) for name in _BUILD_OPTIONS}

        def options() -> Options:
            loaded = load_options(**wanted)
            _print_compiled_note(context, loaded.compiled)
            return loaded

        return command(options=options, **arguments)

    decorated = click.pass_context(with_options)
    decorators = [
        click.option(
            "-o", "--output", type=click.Path(path_type=Path), help="Folder of the package."
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
            callback=lambda context, _, compiled: _print_compiled_note(context, compiled),
        ),
        click.option(
            "--parallel/--no-parallel",
            default=None,
            help="Whether kernels use all cores, with numba, where schemas do not say it.",
        ),
        click.option("--jobs", type=click.IntRange(min=1), help="Processes for a large build."),
        schemas_argument,
    ]
    for decorator in decorators:
        decorated = decorator(decorated)
    return decorated


def write(file: Path | None, text: str) -> None:
    """Write a text into a file, or without one to standard output."""
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"can't write {file}: {error.strerror}") from error


def load(options: Options, diagnostics: Diagnostics) -> Project | None:
    from ecsgen.schema import load

    return load(options.schemas, diagnostics, options.defaults, options.is_parallel)


def _load_valid(context: click.Context, schemas: Path | None, format: Format) -> Project:
    """Return the project and print its diagnostics; exit if it has errors."""
    diagnostics = Diagnostics()
    project = load(load_options(schemas=schemas), diagnostics)
    report.print_diagnostics(diagnostics, format)
    if project is None:
        context.exit(USAGE)
    return project


def _print_versions(context: click.Context) -> None:
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
    callback=lambda context, _, wanted: _print_versions(context) if wanted else None,
    help="Show the versions of ecsgen and of what it uses, and exit.",
)
def ecsgen() -> None:
    """Turns YAML component schemas into specialised, typed, numpy-backed component managers.

    SCHEMAS is the folder of the schemas. It and the other options can be set in [tool.ecsgen] of
    pyproject.toml.
    """


@ecsgen.command(epilog=example("$ ecsgen build --backend numba", "$ ecsgen build --watch"))
@build_options
@format_option
@click.option("--force", is_flag=True, help="Overwrite files that were edited or are not ecsgen's.")
@click.option("--watch", is_flag=True, help="Build again after each change, until Ctrl-C.")
@click.pass_context
def build(
    context: click.Context, options: Callable[[], Options], format: Format, force: bool, watch: bool
) -> None:
    """Make the package: all of it or nothing, and only what changed."""
    if not watch:
        context.exit(_build(options(), format, force))
    from ecsgen.cli import watch as watching

    watching.watch(lambda: _build(options(), format, force), options)


def _build(options: Options, format: Format, force: bool) -> int:
    before = read_status(options)
    if before.is_up_to_date:
        return _print_in_step(before, format)
    waiting = "waiting for another build of the same folder to finish"
    with lock_output(options.output, lambda: click.echo(waiting, err=True)):
        return _build_after(refresh_status(before), format, force)


def _build_after(before: Status, format: Format, force: bool) -> int:
    from ecsgen.build import build
    from ecsgen.files import manifest
    from ecsgen.files.transaction import apply, keep_cache

    diagnostics = Diagnostics()
    _print_notes(*before.notes, *report.changed_options(before))
    result = build(before, diagnostics, report.Progress())
    refused = result.refused_paths(force) if result else []
    if result and refused:
        report.add_refusals(result, refused, diagnostics)
    report.print_diagnostics(diagnostics, format)
    if result is None or refused:
        return USAGE
    changes = result.changes(force)
    if changes:
        apply(changes)
    if result.cache != before.cache:
        keep_cache(before.places.output / CACHE, manifest.text(result.cache).encode())
    report.say(report.summary(result, changes), format)
    _print_notes(*result.notes_on(changes), *runtime_dependency.missing_dependency(before))
    return 0


def _print_notes(*notes: str) -> None:
    for note in notes:
        click.echo(note, err=True)


@ecsgen.command(epilog=example("$ ecsgen check"))
@build_options
@format_option
@click.pass_context
def check(context: click.Context, options: Callable[[], Options], format: Format) -> None:
    """Check that the package is what a build would make; write nothing.

    One line per file that is not: CHANGED, MISSING, EXTRA, HAND-EDITED, or FOREIGN where something
    that ecsgen did not write is in the way.
    """
    before = read_status(options())
    done = before.is_up_to_date
    context.exit(_print_in_step(before, format) if done else _check(before, format))


def _print_in_step(before: Status, format: Format) -> int:
    report.print_diagnostics(Diagnostics(), format)
    report.say(report.in_step(before), format)
    return 0


def _dry_run(before: Status, format: Format) -> Result | None:
    """Return what a build would make, and print diagnostics and notes."""
    from ecsgen.build import build

    diagnostics = Diagnostics()
    result = build(before, diagnostics, report.Progress())
    if result and format != "text":
        report.add_states(result, diagnostics)
    report.print_diagnostics(diagnostics, format)
    in_step = result is not None and result.states == {State.IN_STEP}
    versions = [] if in_step else before.version_notes
    _print_notes(*before.notes, *versions, *report.changed_options(before))
    return result


def _check(before: Status, format: Format) -> int:
    result = _dry_run(before, format)
    if result is None:
        return USAGE
    if result.states == {State.IN_STEP}:
        report.say(report.in_step(before), format)
        return 0
    if format == "text":
        report.print_states(result)
    for line in report.suggest_commands(result):
        report.say(line, format)
    return USAGE if result.with_state(State.FOREIGN) else OUT_OF_STEP


@ecsgen.command(epilog=example("$ ecsgen diff --backend numba"))
@build_options
@click.pass_context
def diff(context: click.Context, options: Callable[[], Options]) -> None:
    """Print what a build would change, as a unified diff; write nothing."""
    before = read_status(options())
    if before.is_up_to_date:
        return
    result = _dry_run(before, "text")
    if result is not None:
        report.print_diff(result)
    if result is None or result.with_state(State.FOREIGN):
        context.exit(USAGE)
    context.exit(0 if result.states == {State.IN_STEP} else OUT_OF_STEP)


@ecsgen.command(epilog=example("$ ecsgen validate schemas"))
@schemas_argument
@format_option
@click.pass_context
def validate(context: click.Context, schemas: Path | None, format: Format) -> None:
    """Check the schemas alone; quick, and nothing is generated."""
    project = _load_valid(context, schemas, format)
    parts = ((len(project.components), "component"), (len(project.enums), "enum"))
    listed = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in parts)
    report.say(f"{listed}: valid", format)


@ecsgen.command(epilog=example("$ ecsgen breaking --against git:HEAD~3 --only data"))
@schemas_argument
@click.option(
    "--against",
    metavar="DIR|git:REV|SNAPSHOT",
    help="The older schemas: a folder, the same folder at a git revision (by default git:HEAD), or"
    " those of a snapshot.",
)
@click.option("--only", type=click.Choice(get_args(BreakKind)), help="Look for one kind alone.")
@format_option
@click.pass_context
def breaking(
    context: click.Context,
    schemas: Path | None,
    against: str | None,
    only: BreakKind | None,
    format: Format,
) -> None:
    """Report changes of the schemas that break saved data, or code that uses the package.

    Compares SCHEMAS with older ones, by default those of the last commit: every change is reported
    that would lose or refuse data saved with those (E901 to E906), or break code that was written
    for them (E951 to E953).
    """
    from ecsgen.breaking.checks import compare
    from ecsgen.breaking.comparison import Comparison
    from ecsgen.breaking.older_schemas import default_source, older_side

    options = load_options(schemas=schemas)
    against = default_source(options) if against is None else against
    diagnostics = Diagnostics()
    project = load(options, diagnostics)
    older = older_side(against, options, diagnostics)
    if project is None or older is None:
        report.print_diagnostics(diagnostics, format)
        context.exit(USAGE)
    breaks = diagnostics.without_entries()
    compare(Comparison(older, project, options.schemas[0].path, breaks, only))
    report.print_diagnostics(breaks, format)
    report.say(report.breaks(breaks, against), format)
    context.exit(BREAKS if breaks else 0)


def _complete_component(context: click.Context, parameter: click.Parameter, word: str) -> list[str]:
    """Return the components that begin with a word; none if the schemas cannot be read."""
    try:
        project = load(load_options(schemas=context.params.get("schemas")), Diagnostics())
    except UsageError:
        project = None
    return [c.name for c in project.components if c.name.startswith(word)] if project else []


@ecsgen.command(
    epilog=example("$ ecsgen layout Sheep", "$ ecsgen layout --schedule day --svg day.svg")
)
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
    project = _load_valid(context, schemas, "text")
    if schedule is not None:
        if components:
            raise UsageError("--schedule shows no components: leave out their names")
        _show_schedule(project, schedule, svg)
        return
    chosen = _select_components(project, components)
    if svg is None:
        _print_layout(chosen, project.world)
    else:
        from ecsgen.pictures.layout_picture import picture

        write(svg, picture(chosen))


def _select_components(project: Project, names: tuple[str, ...]) -> list[Component]:
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
    from ecsgen.layout.layout_tables import chunk_plan_table, chunk_table, format_layout, remarks
    from ecsgen.layout.memory_layout import chunk_title, lay_out_chunk, lay_out_component

    texts = []
    for component in components:
        lines = "".join(f"{remark}\n" for remark in remarks(component, world))
        shown = (
            f"{chunk_table(component)}\n"
            if component.chunk
            else format_layout(lay_out_component(component))
        )
        texts.append(f"{component.name}\n{shown}{lines}")
    if chunked := [component for component in components if component.chunk]:
        texts.append(f"{chunk_title(chunked)}\n{chunk_plan_table(lay_out_chunk(chunked))}")
    click.echo("\n".join(texts), nl=False)


def _show_schedule(project: Project, name: str, svg: Path | None) -> None:
    from ecsgen.layout.layout_tables import schedule_table
    from ecsgen.model.schedules import resolve_calls
    from ecsgen.pictures.schedule_picture import schedule_picture

    known = dict(project.world.schedules)
    if name not in known:
        raise _unknown("schedule", name, known)
    calls = resolve_calls(known[name], project.by_name, project.world)
    shown = schedule_table if svg is None else schedule_picture
    write(svg, shown(name, calls, project.world))


@ecsgen.command(epilog=example("$ ecsgen schema -o ecsgen.schema.json"))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write it into this file.")
def schema(output: Path | None) -> None:
    """Print the JSON Schema of the schema language, for editors."""
    from ecsgen.cli.starter import editors_schema

    write(output, editors_schema())


def _complete(
    context: click.Context, parameter: click.Parameter, word: str
) -> list[CompletionItem]:
    from ecsgen.diagnostics.explanations import codes

    known = codes().items()
    wanted = word.upper()
    return [CompletionItem(c, help=about.title) for c, about in known if c.startswith(wanted)]


@ecsgen.command(epilog=example("$ ecsgen explain E104"))
@click.argument("codes", nargs=-1, metavar="[CODE]...", shell_complete=_complete)
@click.option("--format", type=click.Choice(("text", "json")), default="text", show_default=True)
def explain(codes: tuple[str, ...], format: str) -> None:
    """Explain diagnostics, with an example; without a CODE, list them all."""
    from ecsgen.diagnostics import explanations

    known = explanations.codes()
    wanted = [code.upper() for code in codes]
    for code, word in zip(wanted, codes, strict=True):
        if code not in known:
            raise UsageError(explanations.unknown_code(word))
    if format == "json":
        click.echo(explanations.as_json(wanted or known), nl=False)
    elif wanted:
        click.echo("\n".join(explanations.as_text(known[code]) for code in wanted), nl=False)
    else:
        click.echo(explanations.as_list(), nl=False)


@ecsgen.command(
    epilog=example("$ ecsgen init meadow", "$ cd meadow && ecsgen build && python main.py")
)
@click.argument("folder", metavar="[DIR]", default=Path(), type=click.Path(path_type=Path))
@click.option("--bare", is_flag=True, help="Only the options and the schemas.")
def init(folder: Path, bare: bool) -> None:
    """Begin a project: schemas, options, a program, and what editors and CI need.

    No file that is there changes, but for a table at the end of pyproject.toml.
    """
    from ecsgen.cli.starter import IGNORED, KEPT, backend, begin, missing_ignores

    home = Path.cwd() / folder
    acts = begin(home, bare=bare)
    for path, act in acts.items():
        click.echo(f"{act:<8}  {path}")
    lacking = missing_ignores(home) if acts.get(IGNORED) == KEPT else []
    if lacking:
        click.echo(f"to add to {IGNORED}: {' '.join(lacking)}")
    if set(acts.values()) == {KEPT}:
        click.echo("nothing to do: all of it is there")
        return
    if acts[OPTIONS_FILE] != KEPT:
        click.echo(STARTED[backend(home)])
    go = "" if home == Path.cwd() else f"cd {shlex.quote(shown(home))} && "
    run = "" if bare else " && python main.py"
    click.echo(f"next: {go}ecsgen build{run}")


STARTED: Final[Mapping[object, str]] = {
    "numba": 'backend = "numba", for it is installed here: kernels are compiled',
    "numpy": 'backend = "numpy", for numba is not installed here; with it kernels can be compiled',
}
"""Message about the backend that a project begins with."""
SHELLS: Final = ("bash", "zsh", "fish")
VARIABLE: Final = "_ECSGEN_COMPLETE"
"""Set by the script when the shell asks what comes next."""


@ecsgen.command(epilog=example('$ eval "$(ecsgen completion bash)"'))
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes a shell complete commands, components and codes.

    bash: eval "$(ecsgen completion bash)" in ~/.bashrc; zsh the same in ~/.zshrc; fish: ecsgen
    completion fish > ~/.config/fish/completions/ecsgen.fish
    """
    completion_class = get_completion_class(shell)
    if completion_class is None:
        raise UsageError(f"no completion for {shell}")
    script = completion_class(ecsgen, {}, "ecsgen", VARIABLE)
    click.echo(script.source_template % script.source_vars())


def complete_for_shell() -> int | None:
    """Print completions and return the exit status; None if no shell asked."""
    instruction = os.environ.get(VARIABLE)
    return shell_complete(ecsgen, {}, "ecsgen", VARIABLE, instruction) if instruction else None
