"""Command lines of benchmarks: an option for each default."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

BACKENDS = ("numpy", "numba")


def parsed(doc: str | None, **defaults: Any) -> Namespace:
    """Read options, each of its default's type: a tuple takes several, `Path` alone may be absent.

    `doc` is the script's docstring, whose head says what the options are.
    """
    parser = ArgumentParser(description=(doc or "").partition("\n")[0])
    for name, default in defaults.items():
        option = f"--{name.replace('_', '-')}"
        if default is Path:
            parser.add_argument(option, type=Path)
        elif default is False:
            parser.add_argument(option, action="store_true")
        elif isinstance(default, tuple):
            kind = type(default[0]) if default else str
            parser.add_argument(option, type=kind, nargs="*", default=default)
        else:
            parser.add_argument(option, type=type(default), default=default)
    return parser.parse_args()
