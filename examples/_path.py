"""Importing this puts the repository's root on `sys.path`, where the generated package lies."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if not (ROOT / "generated" / "__init__.py").is_file():
    sys.exit("There is no package `generated` yet. Make it with: ecsgen build schemas/")
