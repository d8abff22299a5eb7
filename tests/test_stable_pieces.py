"""The list of known shapes: right, complete for the shipped schemas, used only where it applies."""

from __future__ import annotations

from pathlib import Path

import pytest
from black import format_str
from black.mode import Mode, TargetVersion

from ecsgen import fingerprint, render, schema, stable_pieces
from ecsgen.config import load_options
from ecsgen.diagnostics import Diagnostics
from ecsgen.format import format_text
from ecsgen.pieces import PieceFormatter, cut
from ecsgen.shapes import digest

MODE = Mode(line_length=88, target_versions={TargetVersion.PY311})


@pytest.fixture(scope="module")
def modules() -> dict[str, str]:
    outputs = stable_pieces.outputs(stable_pieces.SCHEMAS)
    return {output.path: output.make() for output in outputs if output.path.endswith(".py")}


def applies() -> bool:
    return bool(stable_pieces.known(88))


@pytest.mark.skipif(not applies(), reason="the list is of another version of black")
def test_the_list_is_up_to_date(modules: dict[str, str]) -> None:
    known = stable_pieces.known(88)
    new = {piece.alone for text in modules.values() for piece in cut(text)}
    new = {text for text in new if digest(text, 88) not in known}
    stable = [text for text in new if format_str(text, mode=MODE) == text]
    assert not stable, "run `python -m ecsgen.stable_pieces`"


def test_shipped_modules_are_as_black_writes_them(modules: dict[str, str]) -> None:
    """Whatever the list says: the whole modules, by black alone."""
    made = {path: format_text(text, 88) for path, text in modules.items()}
    assert made == {path: format_str(text, mode=MODE) for path, text in modules.items()}


@pytest.mark.skipif(not applies(), reason="the list is of another version of black")
def test_black_is_seldom_asked(tmp_path: Path) -> None:
    """Schemas that nobody saw before, of ordinary policies."""
    text = "component: Wheel\ndoc: It turns.\nfields: {angle: f32, rim: 'f32[3]'}\n"
    (tmp_path / "wheel.yaml").write_text(text, encoding="utf-8")
    project = schema.load(tmp_path, Diagnostics())
    assert project is not None
    asked = []

    def ask(piece: str) -> str:
        asked.append(piece)
        return format_str(piece, mode=MODE)

    formatter = PieceFormatter(ask, 88, stable_pieces.known(88))
    pieces = 0
    for output in render.outputs(project, load_options(schemas=tmp_path)):
        if output.path.endswith(".py"):
            made = output.make()
            pieces += len(list(cut(made)))
            assert formatter(made) == format_str(made, mode=MODE)
    assert len(asked) < pieces / 20


def test_it_says_nothing_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stable_pieces.known(100) == frozenset()
    monkeypatch.setattr(fingerprint, "black_version", lambda: "1.2")
    assert stable_pieces.known(88) == frozenset()


def test_a_missing_list_is_an_empty_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(stable_pieces, "FILE", tmp_path / "none.txt")
    assert stable_pieces.known(88) == frozenset()


def test_the_file_is_sorted_and_short_of_doubles() -> None:
    head, *digests = stable_pieces.FILE.read_text(encoding="ascii").splitlines()
    assert head.startswith("black ")
    assert head.endswith(", line length 88")
    assert digests == sorted(set(digests))
    assert {len(digest) for digest in digests} == {16}
