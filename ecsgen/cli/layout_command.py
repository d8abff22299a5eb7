"""The command `ecsgen layout`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from ecsgen.cli import report
from ecsgen.cli.commands import ecsgen
from ecsgen.cli.common import USAGE, load, write
from ecsgen.config import UsageError, load_options
from ecsgen.diagnostics import Diagnostics, did_you_mean
from ecsgen.model import Component, Project, World


def _complete_component(context: click.Context, parameter: click.Parameter, word: str) -> list[str]:
    """The components that begin with a word; none if the schemas cannot be read."""
    try:
        project = load(load_options(schemas=context.params.get("schemas")), Diagnostics())
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
    project = load(load_options(schemas=schemas), diagnostics)
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
    from ecsgen.layout import chunk_plan, chunk_title, layout
    from ecsgen.layout_text import chunk_plan_table, chunk_table, remarks, table

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

    write(file, picture(components))


def _show_schedule(project: Project, name: str, svg: Path | None) -> None:
    from ecsgen.layout_text import schedule_table
    from ecsgen.model.schedules import called
    from ecsgen.pictures.schedule_picture import schedule_picture

    known = dict(project.world.schedules)
    if name not in known:
        raise _unknown("schedule", name, known)
    calls = called(known[name], project.by_name, project.world)
    if svg is None:
        click.echo(schedule_table(name, calls, project.world), nl=False)
    else:
        write(svg, schedule_picture(name, calls, project.world))
