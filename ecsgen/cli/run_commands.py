"""`ecsgen check-run` and `ecsgen time`: a program whose worlds are checked, or measured."""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import math
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import click

from ecsgen.cli import report
from ecsgen.cli.commands import USAGE, ecsgen, example, format_option
from ecsgen.cli.programs import find_target, program_errors
from ecsgen.cli.report import Format
from ecsgen.config import UsageError, load_options, shown
from ecsgen.diagnostics import Diagnostics, format_github
from ecsgen.marks import Mark

if TYPE_CHECKING:
    from ecsgen.checked import Finding
    from ecsgen.checked.schema_texts import SchemaTexts

FINDINGS: Final = 1
"""Exit status: something was found."""
_UNSHOWN: Final = ("detail", "source", "length")

Open = Callable[[Any], AbstractContextManager[object]]
"""Begins to check or to measure a world."""


_PROGRAM: Final = """\
# schemas/person.yaml
component: Person
fields: {pay: f64, hours: i64}
kernels:
  earn: {steps: [pay = pay / hours]}

# town.py
from generated import World

def run():
    world = World()
    world.spawn(2, person={"pay": 6, "hours": [1, 0]})
    for _ in range(100):
        world.person.earn()

$ ecsgen build
"""
"""The schema and the program of an example."""
_FOUND: Final = """\
$ ecsgen check-run town:run
schemas/person.yaml:4:24: zero: 6.0 / 0
  earn: {steps: [pay = pay / hours]}
                       ^^^^^^^^^^^
in Person.earn, Person 1v1 (row 1): pay = 6.0, hours = 0
"""
_MEASURED: Final = """\
$ ecsgen time town:run
name         within     calls    seconds   share    longest     ns/row
Person.earn               100     0.0005    0.2%   0.000134     2407.6
"""


@ecsgen.command("check-run", epilog=example(*(_PROGRAM + _FOUND).splitlines()))
@click.argument("target", metavar="MODULE:FUNCTION")
@click.option("--find", metavar="KINDS", help="Kinds of findings: 'nan,zero'; all but 'lost'.")
@click.option("--keep-going", is_flag=True, help="Go on after the first finding.")
@format_option
@click.pass_context
def check_run(
    context: click.Context, target: str, find: str | None, keep_going: bool, format: Format
) -> None:
    """Call a function, and report what goes wrong silently in the kernels of its worlds.

    NaN, infinities, wrapped integers, division by zero, indices outside of a shape, and reads
    through references that lead nowhere. A generator is run to its end.

    Ends with 0 if nothing was found, 1 for findings, 2 for what is no program to check.
    docs/debugging.md says what to do with a finding, and has tools for other doubts.
    """
    from ecsgen.checked.check import checking
    from ecsgen.checked.findings import USUAL, CheckError, check_kinds
    from ecsgen.checked.recorder import Recorder

    kinds = USUAL if find is None else tuple(find.replace(",", " ").split())
    try:
        check_kinds(kinds, "--find")
    except ValueError as error:
        raise UsageError(str(error)) from None
    texts, recorder = _texts(), Recorder(kinds, stop=not keep_going, limit=100)
    try:
        _run(target, texts, lambda world: checking(world, texts, recorder), CheckError)
    except (UsageError, KeyboardInterrupt):
        if recorder.findings:
            _print_findings(recorder.findings, format)
        raise
    _print_findings(recorder.findings, format)
    if recorder.findings:
        context.exit(FINDINGS)
    if not recorder.n_calls:
        raise UsageError(_nothing_ran(target))
    report.say(f"{recorder.n_calls} calls, nothing found", format)


@ecsgen.command("time", epilog=example(*(_PROGRAM + _MEASURED).splitlines()))
@click.argument("target", metavar="MODULE:FUNCTION")
@click.pass_context
def time_(context: click.Context, target: str) -> None:
    """Call a function, and print how long kernels, tables, reductions and schedules took.

    A generator is run to its end.
    """
    from ecsgen.checked.times import Times, timing

    texts, times = _texts(), Times()
    _run(target, texts, lambda world: timing(world, texts, times))
    click.echo(repr(times))
    if not times.table():
        click.echo(_nothing_ran(target), err=True)
        context.exit(USAGE)


def _nothing_ran(target: str) -> str:
    return (
        f"{target} ran no kernel of the package in {shown(load_options().output)}; "
        "other processes, as those of a sweep, are not looked at"
    )


def _texts() -> SchemaTexts:
    """Return the schemas of the package that `ecsgen build` makes here."""
    from ecsgen.checked.methods import schemas_in

    try:
        return schemas_in(load_options().output)
    except (ValueError, FileNotFoundError) as error:
        raise UsageError(str(error)) from None


def _run(target: str, texts: SchemaTexts, open_: Open, *ends: type[Exception]) -> None:
    """Call a program with all worlds of the package open; exceptions of `ends` end it quietly."""
    function = find_target(target, "a function")
    if not callable(function):
        raise UsageError(f"{target} is no function: {type(function).__name__}")
    kind: Any = getattr(_package(), texts.project.world.name)
    with ExitStack() as blocks:

        def opening(begin: Callable[..., None]) -> Callable[..., None]:
            def begin_and_open(self: Any, *args: Any, **kwargs: Any) -> None:
                begin(self, *args, **kwargs)
                blocks.enter_context(open_(self))

            return begin_and_open

        for world in [each for each in gc.get_objects() if isinstance(each, kind)]:
            blocks.enter_context(open_(world))
        for name in ("__init__", "__setstate__"):  # the latter of copies and pickles
            begin, defined = getattr(kind, name), vars(kind).get(name)
            setattr(kind, name, opening(begin))
            undo = [delattr, kind, name] if defined is None else [setattr, kind, name, defined]
            blocks.callback(*undo)
        with program_errors(target):
            try:
                _call_to_end(function)
            except* ends:  # also within those of callbacks
                pass


def _call_to_end(function: Callable[[], object]) -> None:
    """Call a function, and run a generator to its end; `sys.exit()` is an end too."""
    try:
        result = function()
        for _ in result if inspect.isgenerator(result) else ():
            pass
    except SystemExit as exit:
        if exit.code:
            raise


def _package() -> ModuleType:
    """Return the package that a program has imported, or import it."""
    folder = load_options().output
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if file is not None and Path(file) == folder / "__init__.py":
            return module
    sys.path.insert(0, str(folder.parent))
    try:
        return importlib.import_module(folder.name)
    except ImportError as error:
        raise UsageError(f"can't import the package in {shown(folder)}: {error}") from None


def _print_findings(findings: Iterable[Finding], format: Format) -> None:
    if format == "text":
        for finding in findings:
            click.echo(f"{finding}\n", err=True)
    elif format == "json":
        entries = [
            {k: _finite(v) for k, v in asdict(finding).items() if k not in _UNSHOWN}
            for finding in findings
        ]
        lines = ",\n".join(json.dumps(each, default=str) for each in entries)
        click.echo(f"[\n{lines}\n]" if entries else "[]")
    else:
        diagnostics = Diagnostics()
        for finding in findings:
            mark = Mark(finding.file, finding.line, finding.column, finding.length)
            first, *_, last = str(finding).split("\n")
            diagnostics.add(f"Error: {finding.kind}", f"{first.partition(': ')[2]} {last}", mark)
        click.echo(format_github(diagnostics), nl=False)


def _finite(value: Any) -> Any:
    """Return a value whose numbers JSON has: NaN and infinities as text."""
    match value:
        case dict():
            return {name: _finite(each) for name, each in value.items()}
        case list():
            return [_finite(each) for each in value]
        case float() if not math.isfinite(value):
            return json.dumps(value)
    return value
