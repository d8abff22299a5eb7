"""Each folder below golden/diagnostics: schemas in, the exact text of all diagnostics out.

`pytest --update` rewrites the expected texts; read the difference before committing it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ecsgen.diagnostics import Diagnostics
from ecsgen.diagnostics.explaining import codes
from ecsgen.diagnostics.printing import format_text
from ecsgen.schema import load

GOLDEN = Path(__file__).parents[1] / "golden" / "diagnostics"
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
    found = format_text(diagnose(case, monkeypatch))
    expected = GOLDEN / case / "expected.txt"
    if update:
        expected.write_text(found, encoding="utf-8", newline="\n")
    assert found == expected.read_bytes().decode("utf-8")


def test_every_code_is_shown_by_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {found.code for case in CASES for found in diagnose(case, monkeypatch)}
    assert seen | ELSEWHERE == set(codes())
    assert not seen & ELSEWHERE
