"""The plan against a slow, obvious statement of the rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ecsgen.files.disk import Kind, Standing
from ecsgen.files.plan import Action, State, plan

DIGESTS = st.sampled_from(["one", "two", "three"])
STANDINGS = st.one_of(
    DIGESTS.map(lambda digest: Standing(Kind.FILE, digest)),
    st.sampled_from([kind for kind in Kind if kind is not Kind.FILE]).map(Standing),
)
PATHS = st.sampled_from(["a.py", "b.py", "tests/test_a.py"])
FILES = st.dictionaries(PATHS, DIGESTS)


@given(wanted=FILES, last=FILES, interrupted=FILES, data=st.data())
def test_promises(
    wanted: dict[str, str], last: dict[str, str], interrupted: dict[str, str], data: st.DataObject
) -> None:
    paths = wanted.keys() | last.keys() | interrupted.keys()
    found = {path: data.draw(STANDINGS) for path in sorted(paths)}
    verdicts = plan(wanted, [last, interrupted], found)
    assert list(verdicts) == sorted(paths)
    for path, verdict in verdicts.items():
        there, ours = found[path], {last.get(path), interrupted.get(path)} - {None}
        is_ours = there.kind is Kind.FILE and there.digest in ours
        for action in (verdict.action, verdict.forced):
            if action is Action.WRITE:
                assert there.digest != wanted[path]
            if action is Action.DELETE:
                assert path not in wanted
                assert there.kind is Kind.FILE
        # Unasked, only what is ours or nothing is touched.
        if verdict.action in (Action.WRITE, Action.DELETE):
            assert is_ours or there.kind is Kind.NOTHING
        # With --force plain files and links are, but nothing is deleted that never was ours.
        if verdict.forced is Action.DELETE:
            assert ours
        if verdict.forced is Action.WRITE:
            assert there.kind in (Kind.NOTHING, Kind.FILE, Kind.LINK)
        # Whoever is not refused ends in step.
        if verdict.action is Action.KEEP and path in wanted:
            assert there == Standing(Kind.FILE, wanted[path])
            assert verdict.state is State.IN_STEP
        if verdict.action is Action.KEEP and path not in wanted:
            assert there.kind is not Kind.FILE
        assert (verdict.state is State.IN_STEP) == (verdict.action is Action.KEEP)
        assert verdict.under(False) is verdict.action
        assert verdict.under(True) is verdict.forced


def test_each_state() -> None:
    wanted = dict.fromkeys(
        ["kept", "changed", "missing", "edited", "foreign", "linked", "half"], "new"
    )
    last = dict.fromkeys(
        ["kept", "changed", "edited", "extra", "extra_edited", "gone", "half"], "old"
    )
    found = {
        "kept": Standing(Kind.FILE, "new"),
        "changed": Standing(Kind.FILE, "old"),
        "missing": Standing(Kind.NOTHING),
        "edited": Standing(Kind.FILE, "mine"),
        "foreign": Standing(Kind.FILE, "mine"),
        "linked": Standing(Kind.LINK),
        "half": Standing(Kind.FILE, "between"),
        "extra": Standing(Kind.FILE, "old"),
        "extra_edited": Standing(Kind.FILE, "mine"),
        "gone": Standing(Kind.NOTHING),
    }
    verdicts = plan(wanted, [last, {"half": "between"}], found)
    seen = {path: (v.state.value, v.action.value, v.forced.value) for path, v in verdicts.items()}
    assert seen == {
        "kept": ("IN STEP", "keep", "keep"),
        "changed": ("CHANGED", "write", "write"),
        "missing": ("MISSING", "write", "write"),
        "edited": ("HAND-EDITED", "refuse", "write"),
        "foreign": ("FOREIGN", "refuse", "write"),
        "linked": ("FOREIGN", "refuse", "write"),
        "half": ("CHANGED", "write", "write"),
        "extra": ("EXTRA", "delete", "delete"),
        "extra_edited": ("HAND-EDITED", "refuse", "delete"),
        "gone": ("IN STEP", "keep", "keep"),
    }
