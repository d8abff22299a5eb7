"""Forgets what tests have imported."""

from __future__ import annotations

import sys
from pathlib import Path


def forget(folder: Path) -> None:
    """Forget all modules below a folder."""
    for name, module in [*sys.modules.items()]:
        if (getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
