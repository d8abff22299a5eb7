"""The action for each file, from digests of wanted, owned and existing files.

A file is ecsgen's if its bytes are those that a manifest lists for it. All other files are user's
work, and are neither overwritten nor deleted without `--force`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ecsgen.files.output_paths import DiskEntry, Kind


class State(Enum):
    """State of a file compared with the result of a build."""

    IN_STEP = "IN STEP"
    CHANGED = "CHANGED"
    MISSING = "MISSING"
    EXTRA = "EXTRA"
    HAND_EDITED = "HAND-EDITED"
    FOREIGN = "FOREIGN"


class Action(Enum):
    KEEP = "keep"
    WRITE = "write"
    DELETE = "delete"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The action of a build on a file, without and with `--force`."""

    state: State
    action: Action
    forced: Action
    found: Kind

    def action_with(self, force: bool) -> Action:
        return self.forced if force else self.action


def plan(
    wanted: Mapping[str, str], owned: Iterable[Mapping[str, str]], entries: Mapping[str, DiskEntry]
) -> dict[str, Verdict]:
    """Return the verdict on every wanted or owned path, sorted by path.

    `wanted` and each of `owned` map paths to digests; `owned` has the manifest and those of
    interrupted builds. `entries` has all of these paths. O(files).
    """
    ours: dict[str, set[str]] = {}
    for manifest in owned:
        for path, digest in manifest.items():
            ours.setdefault(path, set()).add(digest)
    paths = sorted(wanted.keys() | ours.keys())
    return {path: _judge(wanted.get(path), ours.get(path, set()), entries[path]) for path in paths}


def _judge(wanted: str | None, ours: set[str], entry: DiskEntry) -> Verdict:
    """Return the verdict on a file; `wanted` is None if no schema makes it any more."""
    match wanted, entry.kind:
        case None, Kind.FILE if entry.digest in ours:
            state, action, forced = State.EXTRA, Action.DELETE, Action.DELETE
        case None, Kind.FILE:
            state, action, forced = State.HAND_EDITED, Action.REFUSE, Action.DELETE
        case None, _:
            state, action, forced = State.IN_STEP, Action.KEEP, Action.KEEP
        case _, Kind.NOTHING:
            state, action, forced = State.MISSING, Action.WRITE, Action.WRITE
        case _, Kind.FILE if entry.digest == wanted:  # no matter what wrote it
            state, action, forced = State.IN_STEP, Action.KEEP, Action.KEEP
        case _, Kind.FILE if entry.digest in ours:
            state, action, forced = State.CHANGED, Action.WRITE, Action.WRITE
        case _, Kind.FILE if ours:
            state, action, forced = State.HAND_EDITED, Action.REFUSE, Action.WRITE
        case _, Kind.FILE | Kind.LINK:  # writing replaces a link, never what it leads to
            state, action, forced = State.FOREIGN, Action.REFUSE, Action.WRITE
        case _:
            state, action, forced = State.FOREIGN, Action.REFUSE, Action.REFUSE
    return Verdict(state, action, forced, entry.kind)
