"""Diagnostics: how they are collected, sorted and printed.

Each folder below golden/diagnostics has schemas and the exact text of all diagnostics. `pytest
--update` rewrites the expected texts; read the difference before committing it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecsgen.diagnostics import (
    Diagnostics,
    closest,
    did_you_mean,
    format_github,
    format_json,
    format_text,
    quote,
)
from ecsgen.diagnostics.explanations import codes
from ecsgen.fingerprint import PACKAGE
from ecsgen.model import Mark
from ecsgen.schema import load

ROOT = Path(__file__).parents[2]


def one(source: str, mark: Mark, message: str = "wrong", hint: str = "") -> Diagnostics:
    diagnostics = Diagnostics()
    diagnostics.add_source(mark.path, source)
    diagnostics.add("E104", message, mark, hint=hint)
    return diagnostics


def test_errors_and_hints_in_order_of_place() -> None:
    diagnostics = Diagnostics()
    assert not diagnostics
    diagnostics.add("H101", "a hint", Mark("b.yaml", 1, 1))
    assert not diagnostics
    assert diagnostics.errors == []
    for path, line, column in [("b.yaml", 2, 1), ("a.yaml", 10, 1), ("a.yaml", 9, 5)]:
        diagnostics.add("E104", "an error", Mark(path, line, column))
    diagnostics.add("E104", "an error", Mark("a.yaml", 9, 5))  # told once
    assert diagnostics
    assert len(diagnostics) == 4
    places = [(diagnostic.mark.path, diagnostic.mark.line) for diagnostic in diagnostics]
    assert places == [("a.yaml", 9), ("a.yaml", 10), ("b.yaml", 1), ("b.yaml", 2)]
    severities = [diagnostic.severity for diagnostic in diagnostics]
    assert severities == ["error", "error", "hint", "error"]
    assert len(diagnostics.errors) == 3


def test_a_file_as_a_whole_has_no_line() -> None:
    diagnostics = Diagnostics()
    diagnostics.add("E202", "too large", Mark("a.yaml", 0, 0, 0))
    assert format_text(diagnostics) == "a.yaml: error[E202]: too large\n"
    assert format_github(diagnostics) == "::error file=a.yaml,title=E202::too large\n"
    assert json.loads(format_json(diagnostics))[0]["line"] == 0


@pytest.mark.parametrize(
    ("line", "start", "length", "caret"),
    [
        ("\ta: bad", 4, 3, "\t   ^~~"),
        ("😀: bad", 3, 3, "    ^~~"),
        ("日本: bad", 4, 3, "      ^~~"),
        ("a: 日本", 3, 2, "   ^~~~"),
        ("e\u0301: bad", 4, 3, "   ^~~"),
        ("a: bad", 3, 99, "   ^~~"),
        ("a: ", 3, 1, "   ^"),
    ],
)
def test_caret_stands_under_the_text(line: str, start: int, length: int, caret: str) -> None:
    text = format_text(one(line, Mark("a.yaml", 1, start + 1, length)))
    assert text.splitlines()[-1] == caret


@given(before=st.integers(0, 500), length=st.integers(1, 200), after=st.integers(0, 500))
def test_long_lines_are_shown_around_the_place(before: int, length: int, after: int) -> None:
    line = "a" * before + "B" * length + "c" * after
    text = format_text(one(line, Mark("a.yaml", 1, before + 1, length)))
    _, shown, caret = text.splitlines()
    assert len(shown) <= 120
    under = shown[caret.index("^") : len(caret)]
    assert set(under) <= {"B", "…"}
    assert under[0] == "B"
    assert len(line) > 120 or (shown == line and len(under) == length)


def test_nothing_that_a_terminal_would_obey_is_printed() -> None:
    diagnostics = one("a: \x1b[31mred\u202e", Mark("a\x1b.yaml", 1, 4, 3), "bad \x1b[2J\nword")
    assert "\x1b" not in format_text(diagnostics)
    assert "\u202e" not in format_text(diagnostics)
    assert len(format_text(diagnostics).splitlines()) == 3


def test_github_commands_are_escaped() -> None:
    mark = Mark("a,b:c%.yaml", 1, 2, 3)
    diagnostics = one("", mark, "100% of\r\n::error::lines", "hint")
    assert format_github(diagnostics) == (
        "::error file=a%2Cb%3Ac%25.yaml,line=1,col=2,endColumn=5,title=E104::"
        "100%25 of%0D%0A::error::lines; hint\n"
    )
    others = Diagnostics()
    others.add("H101", "a hint", Mark("a.yaml", 1, 1))
    others.add("E104", "x\u202ey", Mark("a\u2066b.yaml", 1, 1))
    assert format_github(others) == (
        "::notice file=a.yaml,line=1,col=1,endColumn=2,title=H101::a hint\n"
        "::error file=a�b.yaml,line=1,col=1,endColumn=2,title=E104::x�y\n"
    )


def test_json() -> None:
    assert json.loads(format_json(Diagnostics())) == []
    diagnostics = one("", Mark("a.yaml", 1, 2, 3), 'a "quoted"\nmessage', "é")
    assert json.loads(format_json(diagnostics)) == [
        {
            "path": "a.yaml",
            "line": 1,
            "column": 2,
            "length": 3,
            "severity": "error",
            "code": "E104",
            "message": 'a "quoted"\nmessage',
            "hint": "é",
        }
    ]


def test_words() -> None:
    assert quote("a'b\n") == '"a\'b\\n"'
    assert len(quote("x" * 1000)) <= 62
    assert closest("Cold", ["hot", "cold"]) == "cold"
    assert closest("zzz", ["hot", "cold"]) == ""
    assert did_you_mean("lokup", ["lookup", "fields"]) == "did you mean 'lookup'?"
    assert did_you_mean("x" * 10_000, ["x" * 9_999]) == ""


def test_codes_are_well_formed() -> None:
    for code, about in codes().items():
        assert re.fullmatch(r"[EH][1-9]\d\d", code)
        assert about.title[0].islower() or about.title.startswith("not ")
        assert about.reason.endswith(".")


def test_all_codes_that_are_reported_are_listed() -> None:
    texts = (file.read_text("utf-8") for file in PACKAGE.rglob("*.py"))
    reported = {code for text in texts for code in re.findall(r'"([EH][1-9]\d\d)"', text)}
    assert reported - {"E950"} == set(codes())  # where the second kind of breaks begins


LOADED_EARLY = f"""
import sys
from pathlib import Path
from ecsgen.diagnostics import Diagnostics
heavy = {{"pydantic", "numpy", "black", "jinja2", "yaml"}} & set(sys.modules)
assert not heavy, heavy
from ecsgen.schema import load
assert load(Path({str(ROOT / "schemas")!r}), Diagnostics()) is not None
heavy = {{"numpy", "black", "jinja2", "numba"}} & set(sys.modules)
assert not heavy, heavy
"""


def test_diagnostics_and_schemas_import_nothing_heavy() -> None:
    subprocess.run([sys.executable, "-c", LOADED_EARLY], check=True)


GOLDEN = ROOT / "tests" / "golden" / "diagnostics"
CASES = sorted(folder.name for folder in GOLDEN.iterdir())

# Reported by later steps, or by files too large for the repository.
ELSEWHERE = {"E202", "E207", "E701", "E702", "E703"}
ELSEWHERE |= {code for code in codes() if code.startswith("E9")}


def diagnose(case: str, monkeypatch: pytest.MonkeyPatch) -> Diagnostics:
    monkeypatch.chdir(GOLDEN / case)
    diagnostics = Diagnostics()
    project = load(Path("schemas"), diagnostics)
    assert (project is None) == bool(diagnostics.errors)
    return diagnostics


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    text = format_text(diagnose(case, monkeypatch))
    expected = GOLDEN / case / "expected.txt"
    if update:
        expected.write_text(text, encoding="utf-8", newline="\n")
    assert text == expected.read_bytes().decode("utf-8")


def test_advice_that_is_taken_leaves_nothing_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    hints = " ".join(diagnostic.hint for diagnostic in diagnose("advice", monkeypatch))
    taken = (GOLDEN / "advice_taken/schemas/a.yaml").read_text("utf-8")
    advised = set(re.findall("`([^`]+)`", hints))
    arguments = {text for text in advised if text.startswith("args:")}
    assert not [text for text in advised - arguments if text not in taken]
    assert {"args: {dt: f32}", "args: {weight: f32}"} <= arguments
    assert not diagnose("advice_taken", monkeypatch)


def test_every_code_is_shown_by_a_case() -> None:
    texts = ((GOLDEN / case / "expected.txt").read_text("utf-8") for case in CASES)
    seen = {code for text in texts for code in re.findall(r": \w+\[([EH]\d+)\]: ", text)}
    assert seen | ELSEWHERE == set(codes())
    assert not seen & ELSEWHERE
