"""Locals say what they hold, docstrings begin with a verb or a noun, modules are not glued."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.words import modules, offences

ROOT = Path(__file__).parents[2]
TREES = {
    "ecsgen": 100,
    "runtime/ecsgen_runtime": 100,
    "testing/ecsgen_testing": 20,
    "tests": 100,
    "benchmarks": 30,
}
"""How many modules each has at least."""
ELSEWHERE = ROOT / "tests" / "reference"
"""The interpreter, which takes its words from the language's contract."""


@pytest.mark.parametrize("tree", TREES)
def test_words_of_the_source(tree: str) -> None:
    paths = [path for path in modules(str(ROOT / tree)) if ELSEWHERE not in path.parents]
    assert len(paths) > TREES[tree]
    assert [line for path in paths for line in offences(path)] == []


def test_each_kind_of_offence_is_found(tmp_path: Path) -> None:
    text = '"""What it is."""\ndef f(given):\n    for one in given:\n        found = one\n'
    text += "# --- a ---\n"
    (tmp_path / "m.py").write_text(text, encoding="utf-8")
    lines = [line.partition("m.py:")[2] for line in offences(tmp_path / "m.py")]
    assert lines == [
        "2: local 'given'",
        "3: local 'one'",
        "4: local 'found'",
        "1: docstring begins 'What it is.'",
        "5: section rule",
    ]
