"""The hooks of `make hooks`: what they let through."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HOOKS = Path(__file__).parents[2] / ".githooks"


@pytest.mark.parametrize(
    ("subject", "is_accepted"),
    [
        ("kernels: add the reduction product", True),
        ("render/text: quote names", True),
        ('Revert "kernels: add the reduction product"', True),
        ("kernels: " + "ä" * 63, True),
        ("kernels: " + "x" * 64, False),
        ("Kernels: add the reduction product", False),
        ("add the reduction product", False),
        ("kernels:", False),
        ("", False),
    ],
)
def test_subjects(subject: str, is_accepted: bool, tmp_path: Path) -> None:
    message = tmp_path / "message"
    message.write_text(f"{subject}\n\nA body of any form.\n# git's\n", encoding="utf-8")
    done = subprocess.run([HOOKS / "commit-msg", message], capture_output=True, text=True)
    assert (done.returncode == 0) == is_accepted
    assert bool(done.stderr) != is_accepted
