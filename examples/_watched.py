"""Packages of the programs that are watched, and what these do when run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from ecsgen.inspector import View, serve

BUILD = Path(__file__).resolve().parents[1] / "build"


def package(name: str) -> Any:
    """Return the package of a program's schema, which `make view` builds: build/fire_world …"""
    if not (BUILD / f"{name}_world" / "__init__.py").is_file():
        command = f"ecsgen build examples/watch_{name} --output build/{name}_world"
        sys.exit(f"There is no package of this model yet. Make it with: {command}")
    sys.path.insert(0, str(BUILD))
    return import_module(f"{name}_world")


def watch(
    doc: str | None, make: Callable[..., Any], view: View, arguments: Sequence[str] | None = None
) -> None:
    """Serve the page of a model until Stop; or, with `--film FILE`, write a film and end."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--port", type=int, default=0, help="by default any free one")
    parser.add_argument("--film", metavar="FILE", help="run.html, run.gif, run.mp4 or a folder")
    parser.add_argument("--picture", metavar="FILE", help="a PNG of the last step of the film")
    parser.add_argument("--steps", type=int, default=200, help="of the film")
    options = parser.parse_args(arguments)
    world, step = make()
    with serve(world, step=step, make=make, view=view, port=options.port) as inspector:
        if options.film is None and options.picture is None:
            print(inspector.url, flush=True)
            print("steps:", inspector.run())
            return
        film = inspector.record(options.steps)
        if options.film is not None:
            film.save(options.film, width=480, height=400, rate=15)
        if options.picture is not None:
            Path(options.picture).write_bytes(inspector.picture(480, 360))
