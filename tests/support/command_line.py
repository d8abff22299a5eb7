"""Runs `ecsgen` in this process: to start another one takes longer than most commands."""

from __future__ import annotations

from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest

from ecsgen.cli import main


class Ended(NamedTuple):
    """A command's exit status, and what it has written."""

    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, cwd: Path) -> Ended:
    """Run a command in a folder."""
    out, err = StringIO(), StringIO()
    with chdir(cwd), redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return Ended(ended.value.code, out.getvalue(), err.getvalue())
