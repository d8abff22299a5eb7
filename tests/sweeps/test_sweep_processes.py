"""Runs in processes of this machine: those that die, what they cannot have, memory, the bar."""

from __future__ import annotations

import os
import pty
import re
import resource
import subprocess
import sys
import termios
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from ecsgen_runtime import sweep

from tests.support import sweep_models
from tests.support.sweep_models import AtOnce, same, swept

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def test_the_same_as_in_this_process() -> None:
    """Also of partials, which go there, too."""
    model, parameters = partial(sweep_models.line, extra=1), {"x": range(20)}
    table = sweep(model, parameters, replicates=2, workers=2, progress=False)
    assert same(table, swept(model, parameters, replicates=2))


def test_processes_that_die_lose_one_run_each(tmp_path: Path) -> None:
    """Those that waited in it are done by another one."""
    path, folder = tmp_path / "runs.jsonl", tmp_path / "logs"
    folder.mkdir()
    parameters = {"folder": [str(folder)], "every": [200], "number": range(400)}
    s = sweep(sweep_models.dies, parameters, workers=2, path=path, progress=False)
    assert [error.parameters["number"] for error in s.errors] == [2, 202]
    assert len(s) == 398
    text = s.errors[0].traceback
    assert "RuntimeError: the process of this run died, with exit status -9" in text
    assert f"number=2, replicate=0, seed={s.errors[0].seed}" in text
    again = sweep(sweep_models.dies, parameters, workers=2, path=path, progress=False)
    assert len(again) == 400
    logs = [file for file in folder.iterdir() if file.name.isdigit()]
    assert [file.read_text() for file in logs] == ["x"] * 400


def test_runs_that_end_their_process_whatever_is_done() -> None:
    s = sweep(sweep_models.ends, {"how": ["die", "exit"]}, workers=1, progress=False)
    died, left = (error.traceback for error in s.errors)
    assert "with exit status 3" in died
    assert left.splitlines()[-2] == "SystemExit: had enough"


def test_both_ends_of_a_pipe_may_be_full() -> None:
    """With runs and results that are larger than any pipe holds, and others between."""
    quick = [{"weight": str(number), "lines": 1} for number in range(600)]
    heavy = [{"weight": letter * 300_000, "lines": 20_000} for letter in "abcd"]
    s = sweep(sweep_models.heavy, [*quick, *heavy], workers=2, progress=False)
    assert len(s) == 600 + 4 * 20_000
    assert not s.errors


@pytest.mark.parametrize("lines", [100_000, 1_000_000])
def test_many_lines(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "runs.jsonl"
    parameters = {"weight": ["abc"], "lines": [lines]}
    s = sweep(sweep_models.heavy, parameters, workers=1, path=path, progress=False)
    assert len(s) == lines
    assert (s.columns["share"] == np.linspace(0, 1, lines)).all()
    assert same(s, sweep(sweep_models.raises, parameters, path=path, progress=False, stale="keep"))


def test_thousands_of_runs_take_no_memory() -> None:
    """Neither there, where later runs find what earlier ones left, nor here, but for the table."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    s = sweep(sweep_models.memory, {"number": range(10_000)}, workers=2, progress=False)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not s.errors
    assert after - before < 40_000
    for pid in set(s.columns["pid"].tolist()):
        memory = np.sort(s.columns["memory"][s.columns["pid"] == pid])
        assert memory[-1] - memory[len(memory) // 10] < 1_000


def test_models_of_functions() -> None:
    with pytest.raises(
        TypeError, match=r"other processes cannot have this model .*top of a module"
    ):
        sweep(lambda seed: {}, {}, progress=False)


def program(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        input=text,
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


TYPED = """
from ecsgen_runtime import sweep
def model(seed): return {"y": 1}
print(len(sweep(model, {}, workers=1)))
"""


def test_models_that_were_typed_in() -> None:
    done = program("", "-c", TYPED)
    assert "TypeError: other processes cannot have a model that was typed in" in done.stderr
    done = program(TYPED)
    assert "RuntimeError: other processes cannot read the program '<stdin>'" in done.stderr


@pytest.mark.parametrize("is_guarded", [True, False])
def test_scripts(tmp_path: Path, is_guarded: bool) -> None:
    text = TYPED.replace("print", 'if __name__ == "__main__": print') if is_guarded else TYPED
    (tmp_path / "script.py").write_text(text)
    done = program("", str(tmp_path / "script.py"))
    if is_guarded:
        assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    else:
        assert done.returncode == 1
        assert 'A script calls sweep below `if __name__ == "__main__":`' in done.stderr


def test_models_that_are_not_there_any_more(tmp_path: Path) -> None:
    (tmp_path / "passing.py").write_text("def model(seed): return {}\n")
    text = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import passing
sys.path.remove({str(tmp_path)!r})
from ecsgen_runtime import sweep
sweep(passing.model, {{}})
"""
    done = program("", "-c", text)
    assert "TypeError: the model could not be loaded in another process" in done.stderr
    assert "No module named 'passing'" in done.stderr


def test_one_line_where_there_is_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.jsonl"
    for numbers in (range(3), range(6)):
        sweep(sweep_models.raises, {"number": numbers}, path=path, executor=AtOnce())
    sweep(sweep_models.raises, {"number": [1]}, executor=AtOnce(), progress=False)
    out, err = capsys.readouterr()
    first, second = (line.rpartition(", ")[0] for line in err.splitlines())
    assert not out
    assert first == "3 of 3 runs, 1 error"
    assert second == "6 of 6 runs, 2 of them before, 2 errors"


BAR = """
import sys
from tests.support.sweep_models import AtOnce, raises
from ecsgen_runtime import sweep
{before}
for _ in range(2):
    sweep(raises, {{"number": range(6)}}, path=sys.argv[1], executor=AtOnce())
"""


@pytest.mark.parametrize("is_there", [True, False])
def test_a_bar_on_a_terminal(is_there: bool, tmp_path: Path) -> None:
    if is_there and find_spec("tqdm") is None:
        assert not os.environ.get("CI")
        pytest.skip("tqdm is not installed")
    before = "" if is_there else "sys.modules['tqdm'] = None"
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    text = BAR.format(before=before)
    command = [sys.executable, "-c", text, str(tmp_path / "runs")]
    done = subprocess.run(command, cwd=ROOT, stderr=theirs, check=False)
    os.close(theirs)
    shown = ""
    with suppress(OSError):  # how the other end says that it is closed
        while part := os.read(ours, 1000):
            shown += part.decode()
    os.close(ours)
    assert done.returncode == 0, shown
    bars = re.findall(r"6/6 \[.* runs/s\]\r?\n", shown)
    assert len(bars) == 2 * is_there
    assert shown.count("6 of 6 runs, ") == 2 * (not is_there)
