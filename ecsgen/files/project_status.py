"""The state of the disk before a build: enough to see that there is nothing to do.

Nothing here imports pydantic, jinja2, black, yaml or numpy: in a project that is in step, reading
and digesting its files is all the work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import ecsgen
from ecsgen import fingerprint
from ecsgen.config import Options, UsageError, shown
from ecsgen.files import manifest
from ecsgen.files.manifest import BrokenManifestError, Entry, Manifest
from ecsgen.files.output_paths import CACHE, MANIFEST, TESTS, DiskEntry, OutputPaths, schema_digests
from ecsgen.files.transaction import STAGING, journals


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a project on the disk."""

    options: Options
    places: OutputPaths
    expected: Manifest  # what a manifest written now would say, files aside
    manifest: Manifest | None  # of the last build, perhaps on another machine
    cache: Manifest | None  # of the last build here, perhaps of other schemas
    interrupted: Sequence[Manifest]  # of builds that were killed since then
    entries: Mapping[str, DiskEntry]  # at every path that ecsgen may have written
    notes: Sequence[str]

    @property
    def is_up_to_date(self) -> bool:
        """True if a build has nothing to do. O(files) comparisons."""
        last, cache = self.manifest, self.cache
        if last is None or cache is None or self.interrupted or not last.schemas:
            return False
        # Another black may have made the same files elsewhere.
        is_same = replace(last, black=cache.black) == cache.committed
        is_known = is_same and replace(cache, files={}) == self.expected
        files = last.files.items()
        return is_known and all(self.entries[path].digest == e.output for path, e in files)

    @property
    def owned(self) -> list[dict[str, Entry]]:
        """The files of each manifest, by their present paths."""
        manifests = [self.manifest] if self.manifest else []
        return [_owned(m, self.expected.tests) for m in (*manifests, *self.interrupted)]

    @property
    def version_notes(self) -> list[str]:
        """Sentences about versions of ecsgen and black that made the output, if they differ."""
        last, now = self.manifest, self.expected
        if last is None:
            return []
        versions = {"ecsgen": (last.ecsgen, now.ecsgen), "black": (last.black, now.black)}
        return [
            f"the output came from {name} {old}; this is {name} {new}; {name}=={old} makes it so"
            for name, (old, new) in versions.items()
            if old != new
        ]


def read_status(options: Options) -> Status:
    """Read the manifest and digest every schema and every file that it lists."""
    places = OutputPaths.of(options)
    # Before anything is loaded: a schema that changes meanwhile then counts as changed.
    identity = _identity(options)
    last, notes = _last(options.output)
    cache, interrupted = _readable(options.output / CACHE), _interrupted(options.output)
    notes += _abandoned_tests(last, identity)
    before = Status(options, places, identity, last, cache, interrupted, {}, notes)
    paths = {path for entries in before.owned for path in entries}
    return replace(before, entries=places.survey(paths))


def refresh_status(before: Status) -> Status:
    """Return the present status: `before` unless a build has finished or died since."""
    output = before.options.output
    now = _last(output)[0], _readable(output / CACHE), _interrupted(output)
    if now == (before.manifest, before.cache, before.interrupted):
        return before
    return read_status(before.options)


def _identity(options: Options) -> Manifest:
    return Manifest(
        ecsgen=ecsgen.__version__,
        black=fingerprint.black_version(),
        generator=fingerprint.generator(),
        backend=options.backend,
        runtime=options.runtime,
        line_length=options.line_length,
        tests=options.tests_location,
        header=options.header,
        defaults=options.defaults,
        parallel=options.parallel,
        schemas=schema_digests(options.schemas),
    )


def _last(output: Path) -> tuple[Manifest | None, list[str]]:
    path = output / MANIFEST
    try:
        return manifest.read(path), []
    except BrokenManifestError as error:
        note = (
            f"{shown(path)} can't be used ({error}); files that are not as a build makes them"
            " now count as not ecsgen's, and --force overwrites them"
        )
        return None, [note]


def _readable(path: Path) -> Manifest | None:
    try:
        return manifest.read(path)
    except BrokenManifestError:
        return None


def _interrupted(output: Path) -> list[Manifest]:
    if (output / STAGING).is_symlink():
        raise UsageError(f"{shown(output / STAGING)} is in the way")
    # A build without a journal had not written anything else yet.
    return list(filter(None, map(_readable, journals(output))))


def _owned(last: Manifest, tests: str | None) -> dict[str, Entry]:
    """Return the files of a manifest by their present paths.

    Tests that moved out of the output folder get `./` in front, so that the path still means the
    old file; no manifest and no output can have such a path.
    """
    if last.tests == tests or (tests is None and last.tests == "tests"):
        return dict(last.files)
    modules = {p: entry for p, entry in last.files.items() if not p.startswith(TESTS)}
    if last.tests != "tests":
        return modules
    return modules | {f"./{p}": entry for p, entry in last.files.items() if p.startswith(TESTS)}


def _abandoned_tests(last: Manifest | None, identity: Manifest) -> list[str]:
    """Return a note on tests outside the output folder that no option names any more.

    They are not deleted: a manifest alone is no reason to delete files elsewhere.
    """
    if last is None or last.tests in (None, "tests", identity.tests):
        return []
    return [f"the tests in {os.fspath(last.tests)} (from the output folder) are no longer ecsgen's"]
