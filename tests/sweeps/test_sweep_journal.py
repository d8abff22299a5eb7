"""The file of a sweep: what is in it, what is taken up from it, and what breaks in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.sweep_models import Lines, columns, line, logged, raises, same, swept

ROOT = Path(__file__).resolve().parents[2]
DEADLINE = 120


def entries(path: Path) -> list[dict[str, Any]]:
    """The lines of a file behind its first one, which any reader of JSON would understand."""
    text = path.read_text("ascii")
    assert text.endswith("\n")
    head, *runs = (json.loads(line, parse_constant=pytest.fail) for line in text.splitlines())
    assert head.keys() == {"sweep"}
    return [run for run in runs if "sweep" not in run]


def test_a_line_for_each_run(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    rows = Lines(tick=np.arange(2), mean=np.array([1.5, np.inf]))
    results: list[Any] = [{"y": 2, "z": "é"}, {"y": np.nan}, rows, None]
    s = swept(lambda seed, i: results[i], {"i": range(4)}, path=path)
    first, second, third, last = entries(path)
    assert first == {
        "parameters": {"i": 0},
        "replicate": 0,
        "seed": int(s.columns["seed"][0]),
        "types": {"y": "i64", "z": "text"},
        "result": {"y": 2, "z": "é"},
    }
    assert second["result"] == {"y": None}
    assert third["result"] == {"tick": [0, 1], "mean": [1.5, 1e999]}
    assert last["error"] == s.errors[0].traceback


def test_infinite_parameters(tmp_path: Path) -> None:
    """They are strict JSON and not run again; NaN is no parameter, for it equals nothing."""
    path = tmp_path / "runs.jsonl"
    parameters = {"x": [np.inf, 1.5, -np.inf], "y": ["Infinity", [np.inf, '"Infinity']]}
    fresh = swept(line, parameters, path=path)
    assert entries(path)[3]["parameters"] == {"x": 1.5, "y": [np.inf, '"Infinity']}
    assert same(swept(pytest.fail, parameters, path=path, stale="keep"), fresh)
    assert len(entries(path)) == len(fresh) == 6
    assert fresh.columns["x"].tolist() == [np.inf, np.inf, 1.5, 1.5, -np.inf, -np.inf]
    with pytest.raises(
        ValueError, match=r"parameter 'x': .*nan is no number of JSON; None may stand"
    ):
        swept(line, {"x": [[1, np.nan]]}, path=path)


def test_runs_that_ended_are_not_repeated(tmp_path: Path) -> None:
    path, folder = tmp_path / "runs.jsonl", tmp_path / "logs"
    folder.mkdir()
    parameters = {"folder": [str(folder)], "x": range(5)}
    first = swept(logged, parameters, path=path, replicates=2)
    content = path.read_bytes()
    again = swept(logged, parameters, path=path, replicates=2)
    assert path.read_bytes() == content
    assert same(first, again)
    more = swept(logged, {"folder": [str(folder)], "x": range(4, 7)}, path=path, replicates=3)
    assert len(more) == 9
    assert [file.read_text() for file in folder.iterdir()] == ["x"] * (10 + 7)


def test_runs_that_raised_are_repeated(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    first = swept(raises, {"number": range(4)}, path=path)
    again = swept(raises, {"number": range(4)}, path=path)
    assert [len(s.errors) for s in (first, again)] == [1, 1]
    assert [("error" in entry) for entry in entries(path)] == [False, True, False, False, True]
    mended = swept(
        lambda seed, number: {"twice": 2 * number}, {"number": range(4)}, path=path, stale="keep"
    )
    assert not mended.errors
    assert mended.columns["twice"].tolist() == [0, 2, 4, 6]
    assert len(entries(path)) == 6


def test_half_a_line_is_dropped_wherever_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    fresh = swept(line, {"x": [1, 2]}, path=path)
    content = path.read_bytes()
    begin = content.index(b"\n") + 1
    early, later = range(begin + 1, begin + 30), range(begin + 30, len(content), 37)
    for end in (*early, *later, len(content) - 1):
        path.write_bytes(content[:end])
        assert same(swept(line, {"x": [1, 2]}, path=path), fresh)
        assert path.read_bytes() == content


def test_a_file_has_one_sweep_at_a_time(tmp_path: Path) -> None:
    path, other = tmp_path / "runs.jsonl", tmp_path / "link.jsonl"
    other.symlink_to(path)

    def model(seed: int, x: int) -> dict[str, bool]:
        for name in (path, other):
            with pytest.raises(BlockingIOError, match=rf"process {os.getpid()} writes.*{name}"):
                swept(line, {"x": [1]}, path=name)
        return {"y": True}

    s = swept(model, {"x": [1, 2]}, path=path)
    assert not s.errors, s.errors[0].traceback
    assert same(swept(model, {"x": [1, 2]}, path=other), s)
    assert {file.name for file in tmp_path.iterdir()} == {"runs.jsonl", "link.jsonl"}


def test_a_file_of_another_process_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    process = begun(tmp_path)
    wait_for_lines(process, path, 2)
    with pytest.raises(BlockingIOError, match=rf"process {process.pid} writes this"):
        swept(line, {"x": [1]}, path=path)
    process.kill()
    process.communicate(timeout=DEADLINE)
    with pytest.raises(ValueError, match="another seed"):  # nobody has it any more
        swept(line, {"x": [1]}, path=path, seed=6)


@pytest.mark.parametrize("options", [{"seed": 4}, {"common_seeds": True}])
def test_the_file_of_another_sweep(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "runs.jsonl"
    swept(line, {"x": [1]}, path=path, seed=3)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"runs.jsonl, line 2 is of a sweep with another seed"):
        swept(line, {"x": [1, 2]}, path=path, **{"seed": 3, **options})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text",
    [
        *("a precious letter", "a precious letter\n", "[1]\n", "{}\n", "3\n"),
        *('{"parameters": 3}\n', '{"sweep": 3}\n'),
        '{"parameters": {}, "replicate": 0, "seed": 11497936127018977689, "result": {}}\n',
        '{"parameters": {}, "replicate": "0", "seed": 1, "result": {"y": 1}, "types": {}}\n',
    ],
)
def test_other_files_stay_as_they_are(tmp_path: Path, text: str) -> None:
    path = tmp_path / "letter.txt"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"letter.txt, line 1 is (no line|of a sweep)"):
        swept(line, {}, path=path)
    assert path.read_text() == text


def test_results_whose_names_are_taken_by_now(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    swept(lambda seed, x: {"y": 1}, {"x": [1]}, path=path)
    s = swept(lambda seed, x, y=0: {"y": 1}, [{"x": 1}, {"x": 1, "y": 2}], path=path, stale="keep")
    assert len(s.errors) == 2
    assert "'y' is the name of a parameter" in s.errors[0].traceback


def test_nothing_is_left_out_because_of_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        swept(pytest.fail, {}, path=tmp_path / "nowhere" / "runs.jsonl")


# A file cannot become longer than it is said here, as if the disk were full.
FULL = """
import resource, signal, sys
from tests.support.sweep_models import columns, swept
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
swept(columns, {"lines": range(1, 60)}, path=sys.argv[1])
"""


def test_a_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", FULL, path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("OSError: [Errno 27] File too large; the runs before are in the file")
    assert str(path) in last
    ended = len(entries(path))
    assert 3 < ended < 59
    s = swept(columns, {"lines": range(1, 60)}, path=path)
    assert len(entries(path)) == 59
    assert same(s, swept(columns, {"lines": range(1, 60)}))


def test_a_device_that_is_always_full() -> None:
    with pytest.raises(OSError, match=r"\[Errno 28\] No space left on device; .*: '/dev/full'"):
        swept(line, {"x": [1]}, path=Path("/dev/full"))


RATE = 0.5


def grows(seed: int, x: int, rate: float = 0.1) -> dict[str, float]:
    return {"y": grown(x, rate)}


def grown(x: int, rate: float) -> float:
    return sum(RATE * number + rate for number in [x])


class Growth:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, seed: int, x: int) -> dict[str, float]:
        return {"y": self.rate}

    def grow(self, seed: int, x: int) -> dict[str, float]:
        return {"y": self.rate}


def text_of(rate: float) -> Any:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(f"def model(seed, x):\n    return {{'y': {rate}}}\n", names)
    return names["model"]


MAKE = {
    "partial": lambda rate: partial(grows, rate=rate),
    "object": Growth,
    "method": lambda rate: Growth(rate).grow,
    "nested": lambda rate: lambda seed, x: {"y": rate},
    "typed_in": text_of,
}
"""Ways to make a model with some rate of growth."""


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_another_model_is_refused_unless_it_is_said(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "runs.jsonl"
    first = swept(make(0.1), {"x": [1]}, path=path)
    content = path.read_bytes()
    assert same(swept(make(0.1), {"x": [1]}, path=path), first)
    with pytest.raises(ValueError, match=r'runs of another model: .* is another.*"keep".*"again"'):
        swept(make(0.2), {"x": [1]}, path=path)
    assert same(swept(make(0.2), {"x": [1]}, path=path, stale="keep"), first)
    assert path.read_bytes() == content
    both = swept(make(0.2), {"x": [1, 2]}, path=path, stale="keep")
    assert both.columns["y"].tolist() == [
        *first.columns["y"],
        *swept(make(0.2), {"x": [2]}).columns["y"],
    ]
    for rate in (0.1, 0.2):  # some of the runs are the other's
        with pytest.raises(ValueError, match="runs of another model"):
            swept(make(rate), {"x": [1]}, path=path)
    mixed = path.read_bytes()
    again = swept(make(0.2), {"x": [1]}, path=path, stale="again")
    assert not same(again, first)
    assert (tmp_path / "runs.jsonl.1").read_bytes() == mixed
    assert same(swept(make(0.2), {"x": [1]}, path=path, stale="again"), again)
    swept(make(0.3), {"x": [1]}, path=path, stale="again")
    assert {file.name for file in tmp_path.iterdir()} == {
        *("runs.jsonl", "runs.jsonl.1", "runs.jsonl.2")
    }


def test_what_a_model_uses_of_its_module_is_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, module = tmp_path / "runs.jsonl", sys.modules[__name__]
    swept(grows, {"x": [1]}, path=path)
    for target, name, value, message in (
        (module, "RATE", 0.6, "another model: RATE is another one"),
        (grown, "__code__", (lambda x, rate: 3.0).__code__, "grown is another one"),
        (np, "__version__", "1.0", r"numpy .* then, 1\.0 now"),
    ):
        with monkeypatch.context() as changed:
            changed.setattr(target, name, value)
            with pytest.raises(ValueError, match=message):
                swept(grows, {"x": [1]}, path=path)
    swept(grows, {"x": [1]}, path=path)


def test_what_a_model_imports_inside_is_part_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before anybody has imported it."""

    def model(seed: int, x: int) -> dict[str, float]:
        from inner_rates import RATES  # type: ignore[import-not-found]  # is written below

        return {"y": float(RATES[x])}

    (tmp_path / "inner_rates.py").write_text("RATES = [0.1, 0.2]\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "runs.jsonl"
    first = swept(model, {"x": [1]}, path=path)
    assert same(swept(model, {"x": [1]}, path=path), first)
    monkeypatch.setattr(sys.modules["inner_rates"], "RATES", [0.1, 0.3])
    with pytest.raises(ValueError, match="another model: RATES is another one"):
        swept(model, {"x": [1]}, path=path)


def test_what_a_model_notes_down_around_it_is_no_part_of_it(tmp_path: Path) -> None:
    calls: list[int] = []

    def model(seed: int, x: int) -> dict[str, int]:
        calls.append(x)
        return {"y": 1}

    for _ in range(2):
        swept(model, {"x": [1, 2]}, path=tmp_path / "runs.jsonl")
    assert calls == [1, 2]


def test_files_that_do_not_say_their_model(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    fresh = swept(line, {"x": [1, 2]}, path=path)
    old = b"".join(path.read_bytes().splitlines(keepends=True)[1:])
    path.write_bytes(old)
    with pytest.raises(ValueError, match="it does not say of what model"):
        swept(line, {"x": [1, 2]}, path=path)
    assert same(swept(line, {"x": [1, 2]}, path=path, stale="keep"), fresh)
    assert same(swept(line, {"x": [1, 2]}, path=path, stale="again"), fresh)
    assert (tmp_path / "runs.jsonl.1").read_bytes() == old
    path.write_bytes(path.read_bytes() * 2)  # as `cat` puts files together
    assert same(swept(line, {"x": [1, 2]}, path=path), fresh)


SCRIPT = """
import sys
from ecsgen_runtime import sweep
from tests.support.sweep_models import slow
if __name__ == "__main__":
    folder, path = sys.argv[1:]
    parameters = {"folder": [folder], "seconds": [0.04], "x": range(30)}
    s = sweep(slow, parameters, replicates=2, workers=2, path=path, seed=5)
    print(len(s), len(s.errors))
"""


def begun(tmp_path: Path) -> subprocess.Popen[str]:
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "logs").mkdir(exist_ok=True)
    command = [sys.executable, "script.py", str(tmp_path / "logs"), str(tmp_path / "runs.jsonl")]
    return subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_stopped_in_the_middle(tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C is heard by the whole group of processes, a kill by one."""
    path = tmp_path / "runs.jsonl"
    for goal in (15, 35):
        process = begun(tmp_path)
        wait_for_lines(process, path, goal)
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, err = process.communicate(timeout=DEADLINE)
        assert process.returncode
        if number == signal.SIGINT:
            assert err.rstrip().endswith("KeyboardInterrupt")
            assert " of 60 runs, " in err
            assert "Process Spawn" not in err
            entries(path)
    process = begun(tmp_path)
    out, err = process.communicate(timeout=DEADLINE)
    assert out.split() == ["60", "0"], err
    ended = entries(path)
    assert len(ended) == 60
    assert len({(entry["parameters"]["x"], entry["replicate"]) for entry in ended}) == 60
    done = {file.name: len(file.read_text()) for file in (tmp_path / "logs").iterdir()}
    assert done.keys() == {str(entry["seed"]) for entry in ended}
    # Only what had not come back when it was stopped was done once more.
    assert sum(done.values()) <= 60 + 2 * 2 * 4


def wait_for_lines(process: subprocess.Popen[str], path: Path, number: int) -> None:
    limit = time.monotonic() + DEADLINE
    while not path.exists() or path.read_bytes().count(b"\n") < number:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.005)


def test_workers_end_with_whoever_began_them(tmp_path: Path) -> None:
    process = begun(tmp_path)
    wait_for_lines(process, tmp_path / "runs.jsonl", 1)
    process.kill()
    process.communicate(timeout=DEADLINE)
    limit = time.monotonic() + DEADLINE
    while group_has_members(process.pid):
        assert time.monotonic() < limit
        time.sleep(0.02)


def group_has_members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
