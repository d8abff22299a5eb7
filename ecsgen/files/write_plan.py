"""What to do with each file: a pure comparison of what is wanted, what is ours and what is there.

A file is ecsgen's if its bytes are those that a manifest lists for it. Everything else is the work
of somebody, and is neither overwritten nor deleted unasked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ecsgen.files.output_paths import DiskEntry, Kind


class State(Enum):
    """How a file compares with what a build would leave behind."""

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
    """What a build does with a file, without and with `--force`."""

    state: State
    action: Action
    forced: Action
    found: Kind

    def action_with(self, force: bool) -> Action:
        return self.forced if force else self.action


def plan(
    wanted: Mapping[str, str], owned: Iterable[Mapping[str, str]], found: Mapping[str, DiskEntry]
) -> dict[str, Verdict]:
    """The verdict on every path that is wanted or owned, sorted by path.

    `wanted` and each of `owned` give digests by path; `owned` has the manifest, and that of a build
    that was interrupted. `found` has every one of these paths. O(files).
    """
    ours: dict[str, set[str]] = {}
    for manifest in owned:
        for path, digest in manifest.items():
            ours.setdefault(path, set()).add(digest)
    paths = sorted(wanted.keys() | ours.keys())
    return {path: _judge(wanted.get(path), ours.get(path, set()), found[path]) for path in paths}


def _judge(wanted: str | None, ours: set[str], found: DiskEntry) -> Verdict:
    if wanted is None:
        return _judge_orphan(ours, found)
    match found.kind:
        case Kind.NOTHING:
            state, action, forced = State.MISSING, Action.WRITE, Action.WRITE
        case Kind.FILE if found.digest == wanted:  # whoever wrote it
            state, action, forced = State.IN_STEP, Action.KEEP, Action.KEEP
        case Kind.FILE if found.digest in ours:
            state, action, forced = State.CHANGED, Action.WRITE, Action.WRITE
        case Kind.FILE if ours:
            state, action, forced = State.HAND_EDITED, Action.REFUSE, Action.WRITE
        case Kind.FILE | Kind.LINK:  # writing replaces a link, never what it leads to
            state, action, forced = State.FOREIGN, Action.REFUSE, Action.WRITE
        case _:
            state, action, forced = State.FOREIGN, Action.REFUSE, Action.REFUSE
    return Verdict(state, action, forced, found.kind)


def _judge_orphan(ours: set[str], found: DiskEntry) -> Verdict:
    """A file that no schema makes any more."""
    if found.kind is not Kind.FILE:
        return Verdict(State.IN_STEP, Action.KEEP, Action.KEEP, found.kind)
    if found.digest in ours:
        return Verdict(State.EXTRA, Action.DELETE, Action.DELETE, found.kind)
    return Verdict(State.HAND_EDITED, Action.REFUSE, Action.DELETE, found.kind)
