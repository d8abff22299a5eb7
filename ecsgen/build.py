"""Options to the result of a build, in memory: the start of `build`, `check` and `diff`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from keyword import iskeyword
from pathlib import Path

from ecsgen import fingerprint
from ecsgen.config import shown
from ecsgen.diagnostics import Diagnostics, quote
from ecsgen.files import manifest
from ecsgen.files.manifest import Entry, Manifest
from ecsgen.files.output_paths import MANIFEST, Kind, is_safe
from ecsgen.files.project_status import Status
from ecsgen.files.transaction import Changes
from ecsgen.files.write_plan import Action, State, Verdict, plan
from ecsgen.model import Mark
from ecsgen.render.output_file import Output
from ecsgen.render.render_files import Progress, render_files, with_header
from ecsgen.render.text.black_style import Style


@dataclass(frozen=True, slots=True)
class Result:
    """The files that a build would leave behind, and how they differ from the disk."""

    before: Status
    manifest: Manifest
    cache: Manifest  # lets a later build skip files
    verdicts: Mapping[str, Verdict]
    contents: Mapping[str, bytes]  # of every file that may have to be written
    notes: Mapping[str, str]  # printed for files that are written

    def file(self, path: str) -> Path:
        return self.before.places.file(path)

    def with_state(self, *states: State) -> list[str]:
        return [path for path, verdict in self.verdicts.items() if verdict.state in states]

    def refused_paths(self, force: bool) -> list[str]:
        return [
            p for p, verdict in self.verdicts.items() if verdict.action_with(force) is Action.REFUSE
        ]

    @property
    def states(self) -> set[State]:
        """All states that occur: only MISSING if there is no package at all."""
        return {verdict.state for verdict in self.verdicts.values()}

    def changes(self, force: bool) -> Changes | None:
        """Return the files to write and delete, None without any; requires that none is refused."""
        acts = {path: verdict.action_with(force) for path, verdict in self.verdicts.items()}
        writes = {path: self.contents[path] for path, act in acts.items() if act is Action.WRITE}
        writes.pop(MANIFEST, None)
        deletes = [path for path, act in acts.items() if act is Action.DELETE]
        finished = self.before.manifest == self.manifest and not self.before.interrupted
        if finished and not writes and not deletes:
            return None
        return Changes(self.before.places, writes, deletes, self.contents[MANIFEST])

    def notes_on(self, changes: Changes | None) -> list[str]:
        """Return the lines of the notes on written files, each once."""
        written = changes.writes if changes else ()
        notes = (note.splitlines() for path, note in self.notes.items() if path in written)
        return list(dict.fromkeys(chain.from_iterable(notes)))


def build(before: Status, diagnostics: Diagnostics, progress: Progress) -> Result | None:
    """Render each file that the cache does not know; None if the schemas have errors."""
    outputs = _outputs(before, diagnostics)
    if outputs is None:
        return None
    _check_paths(output.path for output in outputs)
    known = _known(before, outputs)
    style = Style(before.expected.black, before.expected.line_length)
    todo = [output for output in outputs if output.path not in known]
    contents = render_files(todo, style, before.options.jobs, progress)
    copies = _copies(before, outputs, contents)
    header = before.options.header
    contents = {p: with_header(p, text, header) for p, text in (contents | copies).items()}
    digests = known | {path: fingerprint.digest(content) for path, content in contents.items()}
    files = {output.path: Entry(digests[output.path], output.input_digest) for output in outputs}
    files |= {path: Entry(digests[path]) for path in copies}
    cache = replace(before.expected, files=files)
    new = cache.committed
    if before.manifest and before.manifest.committed.files == new.files:
        new = replace(new, black=before.manifest.black)  # which made the same files
    contents[MANIFEST] = manifest.text(new).encode()
    notes = {output.path: output.note for output in outputs if output.note}
    return Result(before, new, cache, _verdicts(before, new), contents, notes)


def _outputs(before: Status, diagnostics: Diagnostics) -> Sequence[Output] | None:
    from ecsgen import render, schema  # pydantic, yaml and jinja2 come with them

    options = before.options
    _check_name(options.output, diagnostics)
    project = schema.load(options.schemas, diagnostics, options.defaults, options.is_parallel)
    return None if project is None or diagnostics.errors else render.outputs(project, options)


def _check_name(output: Path, diagnostics: Diagnostics) -> None:
    """Report E101 and E102: names that Python cannot import."""
    name, mark = output.name, Mark(shown(output), 0, 0, 0)
    if not name.isidentifier():
        plain = re.sub(r"^(?=[0-9])|[^A-Za-z0-9_]", "_", name)
        message = f"no package can be called {quote(name)}, so it could not be imported"
        diagnostics.add("E101", message, mark, hint=f"did you mean {plain!r}?")
    elif iskeyword(name):
        message = f"{quote(name)} is a keyword of Python, so the package could not be imported"
        diagnostics.add("E102", message, mark, hint=f"did you mean {name + '_'!r}?")


def _check_paths(paths: Iterable[str]) -> None:
    seen = set()
    for path in paths:
        if not is_safe(path) or path.casefold() in seen:
            raise RuntimeError(f"{path!r} is not a path for an output")
        seen.add(path.casefold())


def _known(before: Status, outputs: Sequence[Output]) -> dict[str, str]:
    """Return digests of outputs to skip: their inputs and the file on disk match the cache."""
    cache = before.cache
    if cache is None or replace(cache, schemas={}, files={}) != replace(
        before.expected, schemas={}
    ):
        return {}
    return {
        output.path: entry.output
        for output in outputs
        if (entry := cache.files.get(output.path)) is not None
        and entry.inputs == output.input_digest
        and (there := before.entries.get(output.path)) is not None
        and there.digest == entry.output
    }


def _copies(
    before: Status, outputs: Sequence[Output], contents: Mapping[str, bytes]
) -> dict[str, bytes]:
    """Return copies of the library modules that outputs import; skipped ones are read from disk."""
    from ecsgen import render

    paths = [output.path for output in outputs if output.path.endswith(".py")]
    file = before.places.file
    texts = (contents[path] if path in contents else file(path).read_bytes() for path in paths)
    copies = render.copies((text.decode("utf-8") for text in texts), before.options)
    return {path: text.encode("utf-8") for path, text in copies.items()}


def _verdicts(before: Status, new: Manifest) -> dict[str, Verdict]:
    wanted = {path: entry.output for path, entry in new.files.items()}
    owned = [{path: entry.output for path, entry in entries.items()} for entries in before.owned]
    unseen = wanted.keys() - before.entries.keys()
    entries_on_disk = {**before.entries, **before.places.survey(unseen)}
    return {**plan(wanted, owned, entries_on_disk), MANIFEST: _judge_manifest(before, new)}


def _judge_manifest(before: Status, new: Manifest) -> Verdict:
    """Return the verdict on the manifest, which is always ecsgen's own."""
    last = before.manifest
    if last is not None and replace(last.committed, schemas={}) == replace(new, schemas={}):
        return Verdict(State.IN_STEP, Action.KEEP, Action.KEEP, Kind.FILE)
    if before.places.file(MANIFEST).exists():
        return Verdict(State.CHANGED, Action.WRITE, Action.WRITE, Kind.FILE)
    return Verdict(State.MISSING, Action.WRITE, Action.WRITE, Kind.NOTHING)
