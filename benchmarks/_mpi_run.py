"""Runs a script on several ranks of this machine and reads what rank 0 prints.

Imports nothing that another Python may not have.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from typing import Any

QUIET = {
    "HYDRA_IFACE": "lo",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "10",
    "OMP_NUM_THREADS": "1",
}
"""Ranks talk over loopback, and leave the processor to others while they wait."""


def said(mpiexec: str, ranks: int, script: Sequence[str]) -> Any:
    """Return what a script prints as JSON, or exit with what it says instead."""
    command = [mpiexec, "-n", str(ranks), *script]
    environment = {**os.environ, **QUIET}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)
