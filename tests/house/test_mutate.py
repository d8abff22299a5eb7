"""The tool that breaks generated managers: it must not fall silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import mutate
from tests.mutants import Mutant
from tests.support.mutant_jobs import PROJECT_TESTS, TESTS, Job, build_all, idle, jobs, senseless


def test_every_mutant_breaks_something(tmp_path: Path) -> None:
    todo = list(jobs(build_all(tmp_path), tmp_path))
    assert idle(todo) == []
    assert [flaw for job in todo if (flaw := senseless(job))] == []
    lacking = [job.title for job in todo for test in job.tests if not has_test(tmp_path, job, test)]
    lacking += [test for files in PROJECT_TESTS.values() for test in files if not is_test(test)]
    assert lacking == []
    least = {
        "_runtime": 200,
        "_runtime/entities/entity_pool.py": 10,
        "_runtime/kernels": 10,
        "world.py": 10,
    }
    least["archetypes.py"] = 3  # a thin layer over the runtime's archetypes
    for file, count in least.items():
        assert sum(f"{job.file}/".startswith(f"{file}/") for job in todo) >= count, file
    without = [job for job in todo if job.mutant.says != "the dead stay alive"]
    assert [line.split(":")[:2] for line in idle(without)] == [
        ["_runtime/entities/entity_manager.py", " the dead stay alive"]
    ]


def has_test(folder: Path, job: Job, test: str) -> bool:
    """Return True if a job's package has tests of this name: a file, or a class in one."""
    name, _, of = test.partition("::")
    file = folder / job.package / "tests" / name
    is_there = re.compile(rf"^(class {of}|{of} = )" if of else "", re.MULTILINE)
    return file.is_file() and bool(is_there.search(file.read_text(encoding="utf-8")))


def is_test(file: str) -> bool:
    """Return whether the project has such a file of tests."""
    return (TESTS / file).is_file()


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("def f(x):\n    return [y for y in x if len(y) > A]\nA = 1\n", ""),
        ("def f(x):\n    return [y for y in x if y > A]\n", "A is not defined"),
        ("class C:\n    a = 1\n    def f(self): return a", "a is not defined"),
        ("def f(:\n", "invalid syntax"),
    ],
)
def test_mutants_are_programs(text: str, flaw: str) -> None:
    """A mutant that fails without its tests, too, is senseless."""
    flaws = senseless(Job("generated", "a.py", "a.py", 0, Mutant("it breaks", "a", "b"), text, ()))
    assert flaw in flaws
    assert bool(flaws) == bool(flaw)


def test_no_mutant_at_all_is_an_error() -> None:
    with pytest.raises(SystemExit, match="no mutant"):
        mutate.mutate(0, "no such title", workers=1)


@pytest.mark.parametrize(("killed_by", "status"), [("test_a.py", 0), ("", 1), (mutate.BY_TIME, 0)])
def test_only_kills_are_a_success(
    killed_by: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job("generated", "a.py", "a.py", 0, Mutant("it breaks", "whole", "broken"), "broken", ())
    assert mutate.report([mutate.Outcome(job, killed_by, 1.0)]) == status
    assert ("SURVIVED" in capsys.readouterr().out) == bool(status)
