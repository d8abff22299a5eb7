"""A page to look into a running world with: `serve(world)`, and `tick()` once a frame.

The world is read and written in `tick()` only, on the thread that calls it. Requests wait in a
queue; long work (sorting, histograms, joins) is done on the server's threads, from copies that
ticks made in parts.
"""

from __future__ import annotations

try:
    from ecsgen.inspector.film import Film
    from ecsgen.inspector.inspector import Inspector, serve
    from ecsgen.inspector.view import View
except ModuleNotFoundError as error:
    if error.name not in ("starlette", "uvicorn"):
        raise
    raise ImportError(
        f"the inspector needs {error.name}: pip install 'ecsgen[inspect]'", name=error.name
    ) from None

__all__ = ["Film", "Inspector", "View", "serve"]
