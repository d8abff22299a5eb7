"""docs/policies.md: pictures are current, one for each policy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_pictures_are_as_their_script_draws_them(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = str(DOCS / "policy_pictures.py")
    subprocess.run([sys.executable, script, str(tmp_path)], check=True, env=environment)
    made = {file.name: file.read_text(encoding="utf-8") for file in tmp_path.iterdir()}
    shown = {name: (DOCS / "pictures" / name).read_text(encoding="utf-8") for name in made}
    assert made == shown, "run: python docs/policy_pictures.py"


def test_every_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for file in (DOCS / "pictures").glob("*.svg"):
        assert f"pictures/{file.name})" in text
