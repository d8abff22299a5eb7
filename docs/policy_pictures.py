"""Draws the layout of each storage policy: python docs/policy_pictures.py [FOLDER]

The components are those of docs/policies/policies.yaml; `ecsgen layout --svg` draws the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ecsgen import schema
from ecsgen.diagnostics import Diagnostics
from ecsgen.pictures.layout_picture import picture

HERE = Path(__file__).resolve().parent


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "pictures"
    project = schema.load(HERE / "policies", Diagnostics())
    assert project is not None
    folder.mkdir(exist_ok=True)
    for component in project.components:
        file = folder / f"{component.module}.svg"
        file.write_text(picture([component]), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
