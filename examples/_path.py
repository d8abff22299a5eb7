"""Importing this puts the repository's root on `sys.path`, where the generated package lies."""

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if importlib.util.find_spec("generated") is None:
    sys.exit("There is no package `generated` yet. Make it with: ecsgen build schemas/")
