"""A generator for tests of what comes after it: each `NAME.yaml` becomes `NAME.py` and a test.

Its schemas are Python source, and `!error` in one of them is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ecsgen.diagnostics import Diagnostics
from ecsgen.files.project_status import Status
from ecsgen.fingerprint import digest
from ecsgen.model import Mark
from ecsgen.render.output_file import Output

made: list[str] = []
"""Paths of what was rendered in this process."""


def make(path: str, source: str) -> str:
    made.append(path)
    return source


def outputs(before: Status, diagnostics: Diagnostics) -> Sequence[Output] | None:
    outputs_made = [_output("__init__.py", "")]
    for file in sorted(before.options.schemas[0].path.glob("*.yaml")):
        source = file.read_text(encoding="utf-8")
        if "!error" in source:
            diagnostics.add("E104", "unknown type", Mark(f"schemas/{file.name}", 1, 1))
            continue
        outputs_made.append(_output(f"{file.stem}.py", source))
        if before.options.tests:
            outputs_made.append(_output(f"tests/test_{file.stem}.py", f"import {file.stem}\n"))
    return None if diagnostics else outputs_made


def _output(path: str, source: str) -> Output:
    return Output(path, digest(f"{path} {source}".encode()), partial(make, path, source))
