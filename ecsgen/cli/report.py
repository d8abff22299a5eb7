"""Output of commands, for people or for machines."""

from __future__ import annotations

import difflib
import json
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import click

from ecsgen.config import OPTIONS_FILE, REMEMBERED, explicit_keys, load_options, shown
from ecsgen.diagnostics import Diagnostics, format_github, format_json, format_text
from ecsgen.files.output_paths import Kind
from ecsgen.files.write_plan import Action, State
from ecsgen.marks import Mark

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from ecsgen.build import Result
    from ecsgen.files.project_status import Status
    from ecsgen.files.transaction import Changes

Format = Literal["text", "json", "github"]


def print_diagnostics(diagnostics: Diagnostics, format: Format) -> None:
    """Print text to standard error, other formats to standard output."""
    if format == "text":
        click.echo(format_text(diagnostics), nl=False, err=True)
        first = next(iter(diagnostics), None)
        if first is not None and _is_terminal():
            click.echo(f"ecsgen explain {first.code} says more", err=True)
    else:
        click.echo((format_json if format == "json" else format_github)(diagnostics), nl=False)


def _is_terminal() -> bool:
    """Return whether standard error is a terminal; it may have been closed."""
    return sys.stderr is not None and sys.stderr.isatty()


def say(text: str, format: Format) -> None:
    """Print a line for people: on standard error if standard output is for machines."""
    click.echo(text, err=format != "text")


def print_states(result: Result) -> None:
    """Print a line per file that is out of step, or one for a package that is missing."""
    if result.states == {State.MISSING}:
        click.echo(f"{State.MISSING.value} {_output(result)}: {_missing_text(result)}")
        return
    for path, verdict in result.verdicts.items():
        if verdict.state is not State.IN_STEP:
            click.echo(f"{verdict.state.value} {shown(result.file(path))}")


def add_states(result: Result, diagnostics: Diagnostics) -> None:
    """Add a diagnostic per file that is out of step."""
    if result.states == {State.MISSING}:
        message = f"{State.MISSING.value}: {_missing_text(result)}"
        hint = f"run {mend(result, State.MISSING)}"
        diagnostics.add("E701", message, Mark(_output(result), 0, 0), hint=hint)
        return
    for path, verdict in result.verdicts.items():
        if verdict.state is State.IN_STEP:
            continue
        code = {State.HAND_EDITED: "E702", State.FOREIGN: "E703"}.get(verdict.state, "E701")
        mark = Mark(shown(result.file(path)), 0, 0)
        hint = f"run {mend(result, verdict.state)}"
        if verdict.forced is Action.REFUSE:
            build = mend(result, State.MISSING)
            hint = f"it is {verdict.found.value}: move that away, then run {build}"
        diagnostics.add(code, verdict.state.value, mark, hint=hint)


def _missing_text(result: Result) -> str:
    return f"none of the package's {len(result.manifest.files)} files is there"


def _output(result: Result) -> str:
    return shown(result.before.options.output)


def add_refusals(result: Result, refused: list[str], diagnostics: Diagnostics) -> None:
    """Add a diagnostic per file that keeps a build from writing."""
    for path in refused:
        verdict = result.verdicts[path]
        code, message = "E703", "in the way: ecsgen did not write it"
        hint = f"to overwrite it: {mend(result, verdict.state)}"
        if verdict.forced is Action.REFUSE:
            message, hint = f"in the way: it is {verdict.found.value}", ""
        elif verdict.state is State.HAND_EDITED:
            code, message = "E702", "edited by hand"
            hint = f"to drop what was edited: {mend(result, verdict.state)}"
        diagnostics.add(code, message, Mark(shown(result.file(path)), 0, 0), hint=hint)


def summary(result: Result, changes: Changes | None) -> str:
    """Return a line with the counts of a build."""
    files = len(result.manifest.files)
    written, deleted = (len(changes.writes), len(changes.deletes)) if changes else (0, 0)
    counts = [f"{written} written", f"{deleted} deleted", f"{files - written} unchanged"]
    return f"{_output(result)}: {', '.join(counts)}"


def in_step(before: Status) -> str:
    """Return the line for a package that is in step."""
    count = len(before.manifest.files) if before.manifest else 0
    options = before.options
    return f"{shown(options.output)}: {count} files in step, made for {options.backend}"


def breaks(diagnostics: Diagnostics, against: str) -> str:
    """Return a line with the counts of breaking changes."""
    from ecsgen.breaking.comparison import kind

    kinds = [kind(diagnostic.code) for diagnostic in diagnostics]
    counts = [(kinds.count("data"), "saved data"), (kinds.count("code"), "code")]
    listed = [f"{n} break{'s' if n == 1 else ''} {what}" for n, what in counts if n]
    return f"against {against}: {', '.join(listed) or 'nothing breaks'}"


def changed_options(before: Status) -> Iterator[str]:
    """Yield a sentence per option with which the last build differs from this one."""
    options, last = before.options, before.manifest
    if last is None:
        return
    plain = load_options(schemas=options.schemas[0].path, output=options.output)
    for key in REMEMBERED:
        was, now = getattr(last, key), getattr(options, key)
        if was != now:
            stays = was if now == getattr(plain, key) else now
            then, this, line = (f"{key} = {json.dumps(value)}" for value in (was, now, stays))
            yield (
                f"{shown(options.output)} was built with {then}, and this is {this};"
                f" {line} in [tool.ecsgen] of {OPTIONS_FILE} makes it stay"
            )


def suggest_commands(result: Result) -> Iterator[str]:
    """Yield the backend of a package that is out of step, if known, and commands that mend it."""
    if result.before.manifest is not None:
        yield f"{_output(result)}: out of step, made for {result.before.manifest.backend}"
    if result.with_state(State.CHANGED, State.MISSING, State.EXTRA):
        yield f"to mend: {mend(result, State.CHANGED)}"
    if result.with_state(State.HAND_EDITED):
        yield f"to mend, dropping what was edited: {mend(result, State.HAND_EDITED)}"
    foreign = result.with_state(State.FOREIGN)
    unmoved = result.refused_paths(force=True)
    if len(foreign) > len(unmoved):
        yield f"to mend, dropping files that are not ecsgen's: {mend(result, State.FOREIGN)}"
    if unmoved:
        yield f"to mend, after moving away what is not a file: {mend(result, State.MISSING)}"


def mend(result: Result, state: State) -> str:
    """Return the command that mends files of a state."""
    force = ["--force"] if state in (State.HAND_EDITED, State.FOREIGN) else []
    options, last = result.before.options, result.before.manifest
    if last is not None:
        unset = {*REMEMBERED} - explicit_keys(options)
        options = replace(options, **{key: getattr(last, key) for key in unset})
    default, typed = load_options(), list[str]()
    for key, arguments in (
        ("schemas", [shown(options.schemas[0].path)]),  # a command takes one
        ("output", ["-o", shown(options.output)]),
        ("backend", ["--backend", options.backend]),
        ("runtime", ["--vendor" if options.runtime == "vendored" else "--no-vendor"]),
        ("parallel", ["--parallel" if options.parallel else "--no-parallel"]),
    ):
        if getattr(options, key) != getattr(default, key):
            typed += arguments
    return shlex.join(["ecsgen", "build", *typed, *force])


def print_diff(result: Result) -> None:
    """Print a unified diff of every file that a build would change."""
    for path, verdict in result.verdicts.items():
        if verdict.state is State.IN_STEP:
            continue
        file = result.file(path)
        old = _lines(file.read_bytes()) if verdict.found is Kind.FILE else []
        new = _lines(result.contents[path]) if path in result.contents else []
        name = shown(file)
        from_name = f"a/{name}" if verdict.found is Kind.FILE else "/dev/null"
        to_name = f"b/{name}" if path in result.contents else "/dev/null"
        lines = list(difflib.unified_diff(old, new, from_name, to_name))
        for line in lines or [f"--- {from_name}\n", f"+++ {to_name}\n"]:  # an empty file has none
            ending = "" if line.endswith("\n") else "\n\\ No newline at end of file\n"
            click.echo(line + ending, nl=False)


def _lines(content: bytes) -> list[str]:
    return content.decode("utf-8", "backslashreplace").splitlines(keepends=True)


class Progress:
    """A bar on standard error, once a build has taken a second; none without a terminal."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._bar: ProgressBar[int] | None = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            if time.monotonic() - self._start < 1 or not _is_terminal():
                return
            self._bar = click.progressbar(length=total, label="building", file=sys.stderr)
            self._bar.render_progress()
        self._bar.update(done - self._bar.pos)
        if done == total:
            self._bar.render_finish()
