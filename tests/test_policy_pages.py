"""docs/policies.md: pictures are current, one for each policy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def test_pictures_are_as_their_script_draws_them(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = str(DOCS / "policy_pictures.py")
    subprocess.run([sys.executable, script, str(tmp_path)], check=True, env=environment)
    made = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    shown = {file.name: file.read_text(encoding="utf-8") for file in (DOCS / "pictures").iterdir()}
    assert made == shown, "run: python docs/policy_pictures.py"


def test_the_page_shows_every_picture() -> None:
    page = (DOCS / "policies.md").read_text(encoding="utf-8")
    for file in (DOCS / "pictures").iterdir():
        assert f"(pictures/{file.name})" in page
